// SPDX-License-Identifier: Apache-2.0
// The control half of a connected queue pair: attributes, states, posting, and whose turn it is to
// send.
#include "hca/connected_queue_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "wire/ip.h"

namespace weft::hca {
namespace {

constexpr std::uint8_t kMaxReads = 128;     // reads and atomics at a time, either way
constexpr std::uint8_t kMaxTimerCode = 31;  // 5 bits
constexpr std::uint8_t kMaxRetries = 7;     // 3 bits
constexpr std::array<std::uint32_t, 5> kMtus{256, 512, 1024, 2048, 4096};

template <class... Args>
tl::unexpected<Error> refuse(fmt::format_string<Args...> text, Args&&... args) {
  return fail(std::errc::invalid_argument,
              "modify: " + fmt::format(text, std::forward<Args>(args)...));
}

Expected<void> check_most(const char* what, std::uint32_t value, std::uint32_t most) {
  if (value <= most) return {};
  return refuse("{} {}: at most {}", what, value, most);
}

}  // namespace

ConnectedQueuePair::ConnectedQueuePair(const ConnectedConfig& config, MemoryTable& memory,
                                       CompletionSink& send_completions,
                                       CompletionSink& receive_completions, ReceiveSource* shared,
                                       XrcQueues* queues)
    : connection_{.config = config},
      extended_unasked_(config.extensions),
      receive_completions_(receive_completions),
      own_receives_(config.max_receives, config.max_receive_pieces),
      source_(shared != nullptr ? *shared : own_receives_),
      requester_(connection_, memory, send_completions),
      responder_(connection_, memory, receive_completions, source_, queues) {
  assert(is_connected(config.type));
  assert((config.type == QpType::kXrcTarget) == (queues != nullptr));
}

Expected<void> ConnectedQueuePair::modify(const QpAttributes& attributes, std::uint32_t mask) {
  const QpState to = (mask & kAttrState) != 0 ? attributes.state : state_;
  if (auto checked = check_transition(type(), state_, to, mask); !checked) return checked;
  if (auto checked = check_values(attributes, mask); !checked) return checked;
  if (auto checked = check_migration(attributes, mask); !checked) return checked;
  take_over(attributes, mask);
  take_over_migration(attributes, mask);
  if (to != state_ || to == QpState::kReset) enter(to);
  settle();
  return {};
}

Expected<void> ConnectedQueuePair::check_values(const QpAttributes& attributes,
                                                std::uint32_t mask) const {
  const auto given = [mask](QpAttr bit) { return (mask & bit) != 0; };
  const QpAttributes& a = attributes;
  if (auto checked = check_current_state(a, mask, state_); !checked) return checked;
  if (given(kAttrPKeyIndex)) {
    if (auto checked = check_pkey_index("P_Key index", a.pkey_index); !checked) return checked;
  }
  if (given(kAttrPort)) {
    if (auto checked = check_port("port", a.port); !checked) return checked;
  }
  if (given(kAttrAccess)) {
    constexpr std::uint32_t kKnown =
        kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kWindowBind;
    if ((a.access & ~kKnown) != 0) return refuse("access flags {:#x}: unknown bits", a.access);
  }
  if (given(kAttrPath)) {
    if (auto checked = check_path(a.path, "path"); !checked) return checked;
  }
  if (given(kAttrPathMtu)) {
    if (std::find(kMtus.begin(), kMtus.end(), a.path_mtu) == kMtus.end()) {
      return refuse("path MTU {}: must be 256, 512, 1024, 2048 or 4096", a.path_mtu);
    }
    const std::uint32_t most = connection_.config.max_mtu;
    if (auto checked = check_most("path MTU", a.path_mtu, most); !checked) return checked;
  }
  struct Limit {
    QpAttr bit;
    const char* what;
    std::uint32_t value, most;
  };
  const std::array limits{
      Limit{kAttrAckTimeout, "local ACK timeout", a.ack_timeout, kMaxTimerCode},
      Limit{kAttrRnrTimer, "minimum RNR NAK timer", a.rnr_timer, kMaxTimerCode},
      Limit{kAttrRetryCount, "retry count", a.retry_count, kMaxRetries},
      Limit{kAttrRnrRetry, "RNR retry count", a.rnr_retry, kMaxRetries},
      Limit{kAttrMaxReadsOut, "reads outstanding", a.max_reads_out, kMaxReads},
      Limit{kAttrMaxReadsIn, "reads outstanding of the peer", a.max_reads_in, kMaxReads},
  };
  for (const Limit& limit : limits) {
    if (!given(limit.bit)) continue;
    if (auto checked = check_most(limit.what, limit.value, limit.most); !checked) return checked;
  }
  return {};
}

Expected<void> ConnectedQueuePair::check_pkey_index(const char* what, std::uint16_t index) const {
  const PKeyTable* const table = connection_.config.pkeys;
  const std::size_t most = table != nullptr ? table->size() - 1 : 0;
  return check_most(what, index, static_cast<std::uint32_t>(most));
}

// Both paths of a connection leave by one port.
Expected<void> ConnectedQueuePair::check_port(const char* what, std::uint8_t port) const {
  const std::uint8_t mine = connection_.config.port;
  return port == mine ? Expected<void>{}
                      : refuse("{} {}: the queue pair is on port {}", what, port, mine);
}

void ConnectedQueuePair::move_to(const HomePort& port) {
  connection_.config.port = port.number;
  connection_.config.pkeys = port.pkeys;
  connection_.config.max_mtu = port.max_mtu;
}

Expected<void> ConnectedQueuePair::check_path(const Path& path, const char* which) const {
  if (const std::uint8_t mine = connection_.config.port; path.port != mine) {
    return refuse("{}: port {}: the queue pair is on port {}", which, path.port, mine);
  }
  if (path.by_lid() && !is_unicast(path.dlid)) {
    return refuse("{}: LID {:#x} is not one of a port", which, path.dlid.value());
  }
  if (!path.global) return {};
  if (path.dgid.is_zero()) return refuse("{}: no destination GID", which);
  if (path.dgid.is_multicast()) {
    return refuse("{}: {} is a multicast GID", which, path.dgid.to_string());
  }
  return {};
}

Expected<void> ConnectedQueuePair::check_migration(const QpAttributes& attributes,
                                                   std::uint32_t mask) const {
  if ((mask & kAttrAlternatePath) != 0) {
    if (auto checked = check_path(attributes.alternate_path, "alternate path"); !checked) {
      return checked;
    }
    if (auto checked = check_pkey_index("alternate P_Key index", attributes.alternate_pkey_index);
        !checked) {
      return checked;
    }
    if (auto checked = check_port("alternate port", attributes.alternate_port); !checked) {
      return checked;
    }
    if (auto checked = check_most("alternate local ACK timeout", attributes.alternate_ack_timeout,
                                  kMaxTimerCode);
        !checked) {
      return checked;
    }
  }
  if ((mask & kAttrPathMigration) != 0 && attributes.migration != PathMigration::kMigrated) {
    if (!connection_.has_alternate && (mask & kAttrAlternatePath) == 0) {
      return refuse("path migration: no alternate path is loaded");
    }
  }
  return {};
}

void ConnectedQueuePair::take_over(const QpAttributes& attributes, std::uint32_t mask) {
  const auto take = [mask](QpAttr bit, const auto& from, auto&... to) {
    if ((mask & bit) != 0) ((to = from), ...);
  };
  const QpAttributes& a = attributes;
  QpAttributes& mine = attributes_;
  Connection& c = connection_;
  take(kAttrPKeyIndex, a.pkey_index, mine.pkey_index, c.pkey_index);
  take(kAttrPort, a.port, mine.port);
  take(kAttrAccess, a.access, mine.access, c.peer_access);
  take(kAttrSqdNotify, a.sqd_notify, sqd_notify_);
  take(kAttrSqPsn, a.sq_psn, mine.sq_psn);
  take(kAttrRqPsn, a.rq_psn, mine.rq_psn);
  take(kAttrPeer, a.peer, mine.peer, c.peer);
  take(kAttrPath, a.path, mine.path, c.path);
  take(kAttrPathMtu, a.path_mtu, mine.path_mtu, c.mtu);
  take(kAttrMaxReadsOut, a.max_reads_out, mine.max_reads_out, c.max_reads_out);
  take(kAttrMaxReadsIn, a.max_reads_in, mine.max_reads_in, c.max_reads_in);
  take(kAttrRnrTimer, a.rnr_timer, mine.rnr_timer, c.rnr_timer);
  take(kAttrAckTimeout, a.ack_timeout, mine.ack_timeout, c.ack_timeout);
  take(kAttrRetryCount, a.retry_count, mine.retry_count, c.retry_count);
  take(kAttrRnrRetry, a.rnr_retry, mine.rnr_retry, c.rnr_retry);
}

// IBA 17.2.8.1. To say `migrated` of an armed connection is to migrate it now.
void ConnectedQueuePair::take_over_migration(const QpAttributes& attributes, std::uint32_t mask) {
  if ((mask & kAttrAlternatePath) != 0) {
    attributes_.alternate_path = attributes.alternate_path;
    attributes_.alternate_pkey_index = attributes.alternate_pkey_index;
    attributes_.alternate_port = attributes.alternate_port;
    attributes_.alternate_ack_timeout = attributes.alternate_ack_timeout;
    connection_.alternate_path = attributes.alternate_path;
    connection_.alternate_pkey_index = attributes.alternate_pkey_index;
    connection_.alternate_ack_timeout = attributes.alternate_ack_timeout;
    connection_.has_alternate = true;
  }
  if ((mask & kAttrPathMigration) == 0) return;
  if (attributes.migration == PathMigration::kMigrated) {
    connection_.migrate();
    connection_.migration = PathMigration::kMigrated;
  } else {
    connection_.migration = attributes.migration;
  }
}

void ConnectedQueuePair::enter(QpState to) {
  const QpState from = std::exchange(state_, to);
  switch (to) {
    case QpState::kReset:
      reset();
      break;
    case QpState::kRtr:
      responder_.start(attributes_.rq_psn);
      break;
    case QpState::kRts:
      if (from == QpState::kRtr) {
        requester_.start(attributes_.sq_psn);
        watch_peer();
      }
      if (from == QpState::kSqd) requester_.hold(false);
      if (from == QpState::kSqe) requester_.resume();
      break;
    case QpState::kSqd:
      requester_.hold(true);
      break;
    case QpState::kSqe:
      requester_.flush();
      break;
    case QpState::kErr:
      requester_.flush();
      responder_.flush();
      flush_receives();
      if (&source_ != &own_receives_) events_ |= kEventLastWqe;  // IBA 11.6.3.2
      break;
    case QpState::kInit:
      break;
  }
}

// Forgets everything but the counters, silently (IBA 10.3.1.1).
void ConnectedQueuePair::reset() {
  requester_.reset();
  responder_.reset();
  while (!own_receives_.queue.empty())
    own_receives_.queue.pop_oldest();
  attributes_ = QpAttributes{};
  Connection& c = connection_;
  const Connection fresh{};
  c.path = fresh.path;
  c.pkey_index = fresh.pkey_index;
  c.peer = fresh.peer;
  c.mtu = fresh.mtu;
  c.peer_access = fresh.peer_access;
  c.max_reads_in = fresh.max_reads_in;
  c.max_reads_out = fresh.max_reads_out;
  c.rnr_timer = fresh.rnr_timer;
  c.ack_timeout = fresh.ack_timeout;
  c.retry_count = fresh.retry_count;
  c.rnr_retry = fresh.rnr_retry;
  c.migration = fresh.migration;
  c.has_alternate = c.has_migrated = c.narrow = false;
  c.alternate_path = fresh.alternate_path;
  c.alternate_pkey_index = fresh.alternate_pkey_index;
  c.alternate_ack_timeout = fresh.alternate_ack_timeout;
  watch_ = PeerWatch{};
  question_due_ = false;
  joiner_.clear();
  c.config.extensions = extended_unasked_;
  established_ = sqd_notify_ = responses_last_ = ack_alone_ = false;
  events_ = 0;
}

void ConnectedQueuePair::agree(const Agreement& agreement) {
  const bool meant = responds() && agreement.local == qpn() &&
                     agreement.remote == connection_.peer &&
                     agreement.remote_address == connection_.path.dgid;
  if (!meant) return;
  connection_.config.extensions = true;
  if (requests()) watch_peer();
}

// A peer that is not Weft may be silent as long as it likes.
void ConnectedQueuePair::watch_peer() {
  const ConnectedConfig& config = connection_.config;
  watch_.set_patience(config.extensions ? config.keep_alive : Duration::zero());
}

void ConnectedQueuePair::settle() {
  if (std::exchange(connection_.has_migrated, false)) {
    attributes_.path = connection_.path;
    attributes_.pkey_index = connection_.pkey_index;
    attributes_.ack_timeout = connection_.ack_timeout;
    events_ |= kEventPathMigrated;
  }
  events_ |= responder_.take_events();
  if (responder_.failed() && responds()) enter(QpState::kErr);
  if (requester_.failed() && requests()) {
    enter(type() == QpType::kUc ? QpState::kSqe : QpState::kErr);  // IBA 10.3.1.7
  }
  if (state_ == QpState::kSqd && sqd_notify_ && requester_.idle()) {
    sqd_notify_ = false;
    events_ |= kEventSqDrained;
  }
}

QpAttributes ConnectedQueuePair::query() const {
  QpAttributes attributes = attributes_;
  attributes.state = attributes.current_state = state_;
  attributes.migration = connection_.migration;
  return attributes;
}

std::errc ConnectedQueuePair::post_send(const SendRequest& request) {
  using enum QpState;
  if (state_ == kReset || state_ == kInit || state_ == kRtr) return std::errc::invalid_argument;
  if (type() == QpType::kXrcTarget) return std::errc::invalid_argument;
  return requester_.post(request);
}

std::errc ConnectedQueuePair::post_receive(const ReceiveRequest& request) {
  const ConnectedConfig& config = connection_.config;
  const bool has_queue =
      (config.type == QpType::kRc || config.type == QpType::kUc) && &source_ == &own_receives_;
  if (state_ == QpState::kReset || !has_queue) return std::errc::invalid_argument;
  if (request.pieces.size() > config.max_receive_pieces) return std::errc::invalid_argument;
  ReceiveQueue& queue = own_receives_.queue;
  if (queue.full()) return std::errc::not_enough_memory;
  const bool first = queue.empty();
  push_receive(queue, request);
  if (state_ == QpState::kErr) {
    flush_receives();
  } else if (first || type() == QpType::kUc) {
    responder_.receive_posted();
  }
  return {};
}

void ConnectedQueuePair::flush_receives() {
  hca::flush_receives(own_receives_.queue, receive_completions_, qpn(), now_);
}

bool ConnectedQueuePair::next_burst(Burst& burst, Time now) {
  see(now);
  if (out_ != Out::kNothing) return false;  // `burst` may be the one that is out
  rate_.ask_again();
  if (is_reliable(type())) look_after_peer();
  if (acks_first_ && responds()) responder_.acknowledge_now();
  const bool filled =
      responder_.speaks() ? fill_in_turn(burst, now) : fill(Half::kRequests, burst, now);
  settle();  // a request may have failed where it was to be sent
  return filled;
}

bool ConnectedQueuePair::fill_in_turn(Burst& burst, Time now) {
  const Half first = whose_turn();
  const Half second = first == Half::kRequests ? Half::kResponses : Half::kRequests;
  return fill(first, burst, now) || fill(second, burst, now) || fill_question(burst);
}

// They take turns; but an acknowledgement lets requests go first, since it may go with them. A call
// to the wire costs about the same for one packet as for two.
ConnectedQueuePair::Half ConnectedQueuePair::whose_turn() const {
  if (acks_first_ && responds() && responder_.only_acks_due()) return Half::kResponses;
  if (responses_last_) return Half::kRequests;
  return responder_.only_acks_due() && !ack_alone_ ? Half::kRequests : Half::kResponses;
}

// Nothing but a reliable service gives way when it is told of congestion, and standard peers need
// not tell.
std::uint8_t ConnectedQueuePair::traffic_class() const {
  const std::uint8_t given = connection_.path.traffic_class;
  const ConnectedConfig& config = connection_.config;
  const bool unsaid = (given & wire::kEcnBits) == 0;
  const bool capable = config.ecn && config.extensions && unsaid && is_reliable(type());
  return capable ? given | wire::kEcnCapable : given;
}

bool ConnectedQueuePair::rate_holds(Half half, Time now) {
  const bool sends = half == Half::kRequests || responder_.has_answers();
  if (!sends || rate_.admits(connection_.path, now)) return false;
  if (half == Half::kRequests) requester_.expire(now);
  return true;
}

bool ConnectedQueuePair::fill(Half half, Burst& burst, Time now) {
  burst.clear();
  if (rate_holds(half, now)) return false;
  if (half == Half::kRequests) {
    if (!requests() || !requester_.fill(burst, now)) return false;
    question_due_ |= requester_.take_question();
    const bool joined =
        responder_.speaks() && (responder_.ride(burst, now) || responder_.join(burst, now));
    out_ = joined ? Out::kBoth : Out::kRequests;
    ack_alone_ = !joined && responder_.speaks() && responder_.only_acks_due();
  } else {
    if (!responds() || !responder_.fill(burst, now)) return false;
    out_ = Out::kResponses;
  }
  responses_last_ = half == Half::kResponses;
  burst.path.traffic_class = traffic_class();
  if (half == Half::kResponses || !requester_.sends_whole()) cut_if_narrow(burst);
  return true;
}

// More than one packet: filled before it was known.
void ConnectedQueuePair::cut_if_narrow(Burst& burst) {
  if (!connection_.narrow || burst.size() != 1 || burst.packets()[0].length() <= kNarrowPacket) {
    return;
  }
  connection_.counters.add_in_turn(ConnectedCounter::kTxInPieces);
  cutter_.cut(burst);
}

void ConnectedQueuePair::sent(const Burst& burst, SendResult result, Time now) {
  see(now);
  assert(out_ != Out::kNothing);
  const Out was = std::exchange(out_, Out::kNothing);
  if (was == Out::kQuestion) return;  // one that was not taken is as good as lost
  if (result.outcome == SendOutcome::kSent) rate_.sent(connection_.path, burst.bytes(), now);
  if (was != Out::kResponses) requester_.sent(burst, result, now);
  if (was != Out::kRequests) responder_.sent(burst, result, now);
  // Whatever was wrong with the requests, it is not to hold the acknowledgement up again.
  if (was == Out::kBoth && result.outcome == SendOutcome::kRefused) ack_alone_ = true;
  settle();
}

bool ConnectedQueuePair::has_work() const {
  if (out_ != Out::kNothing) return false;
  return (requests() && requester_.has_work()) ||
         (responder_.speaks() && responds() && responder_.has_work());
}

bool ConnectedQueuePair::only_acks_due() const {
  if (out_ != Out::kNothing || (requests() && requester_.has_work())) return false;
  return responds() && responder_.only_acks_due();
}

std::optional<Time> ConnectedQueuePair::deadline() const {
  std::optional<Time> first = requests() ? requester_.deadline() : std::nullopt;
  const auto earlier = [&first](const std::optional<Time>& at) {
    if (at && (!first || *at < *first)) first = at;
  };
  earlier(rate_.until());
  if (!responder_.speaks()) return first;
  if (responds()) earlier(responder_.deadline());
  earlier(watch_due());
  return first;
}

std::uint32_t ConnectedQueuePair::take_events() {
  events_ |= responder_.take_events();
  return std::exchange(events_, 0);
}

Expected<void> ConnectedQueuePair::attach(const Gid& group) {
  return fail(std::errc::invalid_argument,
              fmt::format("attach {}: connections have no multicast", group.to_string()));
}

Expected<void> ConnectedQueuePair::detach(const Gid& group) {
  return fail(std::errc::invalid_argument,
              fmt::format("detach {}: the queue pair is not attached", group.to_string()));
}

}  // namespace weft::hca
