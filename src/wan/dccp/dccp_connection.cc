// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/dccp_connection.h"

#include <algorithm>
#include <cassert>

#include "wire/endian.h"

namespace weft::wan::dccp {
namespace {

constexpr Duration kFirstRequestAgain = 1s;    // 8.1.1
constexpr Duration kMostRetryPause = 4s;       // at most 64 s
constexpr Duration kFirstAckAgain = 200ms;     // 8.1.5
constexpr Duration kHandshakePatience = 480s;  // four times the lifetime of a packet
constexpr Duration kClosePatience = 64s;       // 8.3
constexpr Duration kAckDelay = 20ms;           // RFC 4341, 6.1: up to half a second

bool ends_connection(PacketType type) {
  return type == PacketType::kCloseReq || type == PacketType::kClose || type == PacketType::kReset;
}

bool is_sync(PacketType type) {
  return type == PacketType::kSync || type == PacketType::kSyncAck;
}

bool carries_data(PacketType type) {
  return type == PacketType::kData || type == PacketType::kDataAck;
}

}  // namespace

Connection::Connection(const ConnectionSettings& settings, Entropy& entropy, PacketSink& sink,
                       DccpCounters& counters)
    : settings_(settings),
      sink_(sink),
      counters_(counters),
      state_(settings.server ? State::kListen : State::kClosed),
      first_sent_(entropy.draw()),
      newest_sent_(first_sent_ - 1),
      newest_acknowledged_(first_sent_),
      features_(settings.server, settings.partial_coverage),
      congestion_(settings.longest_packet) {
  features_.want_window(kSequenceWindow);
  features_.want_of_peer();
}

void Connection::connect(Time now) {
  assert(!settings_.server && state_ == State::kClosed);
  state_ = State::kRequest;
  send_packet(PacketType::kRequest, now);
  begin_retries(kFirstRequestAgain, kHandshakePatience, now);
}

// Steps 3 to 16.
Bytes Connection::receive(const Packet& packet, bool marked, Time now) {
  const Header& header = packet.header;
  if (!header.extended) {
    counters_.add_in_turn(DccpCounter::kRxHeader);
    return {};
  }
  bool begun = true;
  if (state_ == State::kListen) begun = begin_as_server(header, now);
  if (state_ == State::kRequest) begun = begin_as_client(header, now);
  if (!begun || state_ == State::kClosed) {
    counters_.add_in_turn(DccpCounter::kRxUnexpected);
    return {};
  }
  const std::int64_t ahead = header.sequence.after(newest_received_);
  if (!check_numbers(header, now)) return {};
  if (is_unexpected(header)) {
    counters_.add_in_turn(DccpCounter::kRxUnexpected);
    record_.pass(header.sequence);
    send_sync(header.sequence, now);
    return {};
  }
  const bool fresh = record_.receive(header.sequence, marked);
  if (!read_options(packet, ahead > 1 ? static_cast<std::uint64_t>(ahead - 1) : 0, now)) return {};
  if (header.type == PacketType::kReset) {
    counters_.add_in_turn(DccpCounter::kResets);
    end(header.reset_code);
    return {};
  }
  change_state(header, now);
  const Bytes data = take_data(packet, fresh, now);
  if (state_ != State::kClosed) answer(header, now);
  return data;
}

// Step 3: only a Request begins anything.
bool Connection::begin_as_server(const Header& header, Time now) {
  if (header.type != PacketType::kRequest) return false;
  note_first(header);
  state_ = State::kRespond;
  begin_retries(kHandshakePatience, kHandshakePatience, now);
  if (header.service_code == settings_.service_code) return true;
  abort(ResetCode::kBadServiceCode, now);
  return false;
}

// Step 4. What is neither a Response nor a Reset is not answered here, lest somebody who does not
// see what is sent makes this end say something.
bool Connection::begin_as_client(const Header& header, Time now) {
  const bool may_be = header.type == PacketType::kResponse || header.type == PacketType::kReset;
  if (!may_be || !acknowledges_sent(header, lowest_acknowledged())) return false;
  note_first(header);
  newest_acknowledged_ = *header.acknowledged;
  if (header.type == PacketType::kReset || header.service_code == settings_.service_code) {
    return true;
  }
  abort(ResetCode::kBadServiceCode, now);
  return false;
}

void Connection::note_first(const Header& header) {
  first_received_ = header.sequence;
  newest_received_ = header.sequence;
  record_.begin(header.sequence);
}

Sequence Connection::lowest_sequence() const {
  const Sequence low = newest_received_ + 1 - features_.peer().sequence_window / 4;
  return low.after(first_received_) < 0 ? first_received_ : low;
}

Sequence Connection::lowest_acknowledged() const {
  const Sequence low = newest_sent_ + 1 - features_.own().sequence_window;
  return low.after(first_sent_) < 0 ? first_sent_ : low;
}

bool Connection::acknowledges_sent(const Header& header, Sequence lowest) const {
  return header.acknowledged->after(lowest) >= 0 && header.acknowledged->after(newest_sent_) <= 0;
}

// Step 6, and for Sync and SyncAck step 5: these may be ahead of the window, for they are there to
// bring both ends together again.
bool Connection::in_window(const Header& header) const {
  const std::uint64_t window = features_.peer().sequence_window;
  const Sequence high = newest_received_ + (3 * window + 3) / 4;
  const bool ends = ends_connection(header.type);
  const Sequence low = ends && state_ != State::kRequest ? newest_received_ + 1 : lowest_sequence();
  if (header.sequence.after(low) < 0) return false;
  if (!is_sync(header.type) && header.sequence.after(high) > 0) return false;
  if (!header.acknowledged) return true;
  return acknowledges_sent(header, ends ? newest_acknowledged_ : lowest_acknowledged());
}

bool Connection::check_numbers(const Header& header, Time now) {
  if (in_window(header)) {
    note_numbers(header);
    return true;
  }
  counters_.add_in_turn(DccpCounter::kRxSequence);
  if (is_sync(header.type)) return false;
  send_sync(header.type == PacketType::kReset ? newest_received_ : header.sequence, now);
  return false;
}

void Connection::note_numbers(const Header& header) {
  if (header.sequence.after(newest_received_) > 0) newest_received_ = header.sequence;
  if (!header.acknowledged || header.type == PacketType::kSync) return;
  if (header.acknowledged->after(newest_acknowledged_) > 0) {
    newest_acknowledged_ = *header.acknowledged;
  }
}

// Step 7.
bool Connection::is_unexpected(const Header& header) const {
  const bool is_late = state_ >= State::kOpen && header.sequence.after(opened_at_) >= 0;
  switch (header.type) {
    case PacketType::kRequest:
      return !settings_.server || is_late;
    case PacketType::kResponse:
      return settings_.server || is_late;
    case PacketType::kCloseReq:
      return settings_.server;
    case PacketType::kData:
      return state_ == State::kRespond;
    default:
      return false;
  }
}

// Steps 10 to 12.
void Connection::change_state(const Header& header, Time now) {
  const PacketType type = header.type;
  if (state_ == State::kRequest) {
    state_ = State::kPartOpen;
    begin_retries(kFirstAckAgain, kHandshakePatience, now);
  } else if (state_ == State::kRespond && type != PacketType::kRequest) {
    // This tells the client that its acknowledgement has come.
    ack_due_ = true;
  } else if (state_ != State::kPartOpen || type == PacketType::kResponse ||
             type == PacketType::kSync) {
    return;
  }
  if (state_ == State::kPartOpen && type == PacketType::kResponse) return;
  opened_at_ = header.sequence;
  state_ = State::kOpen;
  retry_at_.reset();
  cookie_.clear();
  counters_.add_in_turn(DccpCounter::kConnections);
}

Bytes Connection::take_data(const Packet& packet, bool fresh, Time now) {
  if (!carries_data(packet.header.type)) return {};
  ++data_unanswered_;
  if (data_unanswered_ >= features_.peer().ack_ratio) ack_due_ = true;
  if (!ack_at_) ack_at_ = now + kAckDelay;
  if (packet.header.coverage != 0 && !features_.own().partial_coverage) {
    counters_.add_in_turn(DccpCounter::kRxCoverage);
    return {};
  }
  if (fresh) return packet.data;
  counters_.add_in_turn(DccpCounter::kRxDuplicate);
  return {};
}

// Steps 11 to 15: what the packet is answered with.
void Connection::answer(const Header& header, Time now) {
  ++all_unanswered_;
  switch (header.type) {
    case PacketType::kRequest:
      if (state_ == State::kRespond) send_packet(PacketType::kResponse, now);
      return;
    case PacketType::kResponse:
      if (state_ == State::kPartOpen) send_ack(now);
      return;
    case PacketType::kCloseReq:
      if (state_ < State::kCloseReq) close(now);
      return;
    case PacketType::kClose:
      abort(ResetCode::kClosed, now);
      return;
    case PacketType::kSync:
      send_packet(PacketType::kSyncAck, nullptr, header.sequence, now);
      return;
    default:
      if (ack_due_ || features_.owes_answer()) send_ack(now);
  }
}

std::size_t Connection::room() const {
  if (!carries()) return 0;
  // A quarter of the window, so that what comes late is within it still (7.5.2).
  const std::uint64_t most = features_.own().sequence_window / 4;
  if (congestion_.pipe() >= most) return 0;
  return std::min<std::size_t>(congestion_.room(), most - congestion_.pipe());
}

void Connection::close(Time now) {
  if (state_ == State::kCloseReq || state_ == State::kClosing || state_ == State::kClosed) return;
  if (state_ < State::kPartOpen) return end(ResetCode::kClosed);
  const bool asks = settings_.server;
  state_ = asks ? State::kCloseReq : State::kClosing;
  send_packet(asks ? PacketType::kCloseReq : PacketType::kClose, now);
  begin_retries(std::max(kFirstAckAgain, 2 * congestion_.round_trip().smoothed()), kClosePatience,
                now);
}

void Connection::abort(ResetCode why, Time now) {
  why_ = why;
  send_packet(PacketType::kReset, now);
  end(why);
}

void Connection::end(ResetCode why) {
  why_ = why;
  state_ = State::kClosed;
  retry_at_.reset();
  ack_at_.reset();
  say_again_at_.reset();
}

void Connection::begin_retries(Duration first, Duration patience, Time now) {
  retry_every_ = first;
  retry_at_ = now + first;
  give_up_at_ = now + patience;
}

void Connection::retry(Time now) {
  if (now >= give_up_at_) {
    if (state_ != State::kRequest && state_ != State::kRespond) {
      send_packet(PacketType::kReset, now);
    }
    return end(ResetCode::kClosed);
  }
  switch (state_) {
    case State::kRequest:
      send_packet(PacketType::kRequest, now);
      break;
    case State::kPartOpen:
      send_ack(now);
      break;
    case State::kCloseReq:
      send_packet(PacketType::kCloseReq, now);
      break;
    default:
      send_packet(PacketType::kClose, now);
  }
  retry_every_ = std::min(2 * retry_every_, kMostRetryPause);
  retry_at_ = now + retry_every_;
}

std::optional<Time> Connection::deadline() const {
  if (state_ == State::kClosed || state_ == State::kListen) return std::nullopt;
  std::optional<Time> first = congestion_.deadline();
  for (const auto& when : {retry_at_, ack_at_, say_again_at_}) {
    if (when && (!first || *when < *first)) first = when;
  }
  return first;
}

void Connection::expire(Time now) {
  const auto due = deadline();
  if (!due || *due > now) return;
  if (const auto change = congestion_.expire(now); change.halved) {
    counters_.add_in_turn(DccpCounter::kTimeouts);
    note(change);
  }
  if (retry_at_ && *retry_at_ <= now) retry(now);
  const auto passed = [now](const std::optional<Time>& when) { return when && *when <= now; };
  if (state_ != State::kClosed && (passed(ack_at_) || passed(say_again_at_))) send_ack(now);
}

void Connection::note(const Ccid2::Change& change) {
  if (change.lost != 0) counters_.add_in_turn(DccpCounter::kLost, change.lost);
  if (change.marked != 0) counters_.add_in_turn(DccpCounter::kMarked, change.marked);
  if (change.halved) counters_.add_in_turn(DccpCounter::kReductions);
}

}  // namespace weft::wan::dccp
