// SPDX-License-Identifier: Apache-2.0
#include "wan/tunnel_end.h"

#include <algorithm>
#include <array>
#include <utility>

#include "link/channel.h"

namespace weft::wan {
namespace {

SessionOptions session_options(const TunnelOptions& options, const BulkBuffer::Share& share) {
  SessionOptions out{.mode = options.mode,
                     .recovery = options.recovery,
                     .data_vls = options.port.data_vls,
                     .fec = options.fec,
                     .block = share.block(),
                     .capacity = {},
                     .silence = options.silence};
  for (std::uint8_t vl = 0; vl < out.data_vls; ++vl)
    out.capacity[vl] = share.fifo(Vl{vl}).capacity();
  return out;
}

}  // namespace

TunnelEnd::TunnelEnd(const TunnelOptions& options, BulkBuffer::Share& share, link::PacketPool& pool,
                     Entropy& entropy, Path& path, TunnelUser& user)
    : options_(options),
      pool_(pool),
      path_(path),
      user_(user),
      session_(session_options(options, share), entropy),
      sender_(options.sender, counters_),
      receiver_(options.receiver, share, pool, counters_),
      port_(options.port, *this),
      mirror_(port_) {
}

void TunnelEnd::start(Time now) {
  started_ = true;
  mirror_.unplug(now);
  wake();
}

void TunnelEnd::stop(Time now) {
  started_ = false;
  if (session_.up()) send_end(now);
  handle(session_.close(), now);
  wake();
}

void TunnelEnd::path_changed() {
  wake();
}

void TunnelEnd::received(link::Port&, link::PacketPtr packet, Time) {
  // The port goes down with the session, so there is one; a packet may come while that happens.
  if (!session_.up()) return counters_.add_in_turn(TunnelCounter::kTxSessionLost);
  if (!packet->sealed) packet = sealed(std::move(packet));
  if (packet == nullptr) return counters_.add_in_turn(TunnelCounter::kTxNoMemory);
  sender_.accept(std::move(packet));
}

// A packet of a program on this machine has no CRCs yet, and lies in memory that the program needs
// for its next ones long before the other end says that this one has come.
link::PacketPtr TunnelEnd::sealed(link::PacketPtr packet) {
  std::array<std::byte, link::kLongestPacket> bytes;
  const MutableBytes whole = MutableBytes(bytes).first(packet->size());
  packet->copy_to(whole);
  link::PacketPtr copy = pool_.copy(whole);
  if (copy == nullptr) return nullptr;
  copy->intact = packet->intact;
  copy->hold = std::move(packet->hold);
  copy->arrived_at = packet->arrived_at;
  return copy;
}

void TunnelEnd::state_changed(link::Port&, link::PortState before, Time now) {
  mirror_.state_changed(before, now);
  if (port_.state() == link::PortState::kDown) receiver_.drop_delivered();
}

void TunnelEnd::wake(link::Port&) {
  wake();
}

void TunnelEnd::wake() {
  if (!std::exchange(woken_, true)) user_.wake(*this);
}

void TunnelEnd::begin(Time now) {
  counters_.add_in_turn(TunnelCounter::kSessions);
  sender_.begin(session_.agreement(), path_.pace());
  receiver_.begin(session_.agreement().recovery);
  encoder_.begin(session_.agreement().fec);
  decoder_.begin(session_.agreement().fec);
  arrivals_ = {};
  newest_ = 0;
  unacknowledged_ = 0;
  unacknowledged_bytes_ = 0;
  credit_due_ = 0;
  state_due_ = true;
  gather_until_ = now;
  next_period_ = now + period();
  mirror_.plug(now);
}

void TunnelEnd::end(Time now) {
  mirror_.unplug(now);
  sender_.end();
  receiver_.end();
  encoder_.begin({});
  decoder_.begin({});
}

void TunnelEnd::handle(Session::Event event, Time now) {
  switch (event) {
    case Session::Event::kNone:
      return;
    case Session::Event::kRefused:
      return counters_.add_in_turn(TunnelCounter::kRefusals);
    case Session::Event::kUp:
      return begin(now);
    case Session::Event::kSilent:
      counters_.add_in_turn(TunnelCounter::kSessionsSilent);
      return end(now);
    case Session::Event::kEnded:
      counters_.add_in_turn(TunnelCounter::kSessionsEnded);
      return end(now);
    case Session::Event::kRestarted:
      counters_.add_in_turn(TunnelCounter::kPeerRestarts);
      end(now);
      return begin(now);
  }
}

// What happens in here wakes this again only if it is more than this run deals with.
void TunnelEnd::run(Time now) {
  woken_ = true;
  if (started_) handle(path_.established() ? session_.open(now) : session_.close(), now);
  handle(session_.expire(now), now);
  port_.run(now);
  if (session_.up()) {
    const auto told = std::pair(mirror_.state(), mirror_.downs());
    mirror_.run(now);
    state_due_ |= told != std::pair(mirror_.state(), mirror_.downs());
    receiver_.expire(now);
    deliver(now);
    sender_.expire(path_.spread() + repair_delay(), now);
  }
  woken_ = false;
  port_.run(now);
  send(now);
}

std::optional<Time> TunnelEnd::deadline() const {
  std::optional<Time> first = port_.deadline();
  const auto earlier = [&](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  earlier(session_.deadline());
  if (!session_.up()) return first;
  earlier(mirror_.deadline());
  earlier(receiver_.deadline());
  if (!path_.ready()) return first;  // it tells when it is
  earlier(sender_.deadline());
  earlier(next_period_);
  if (!sender_.may_leave()) return first;  // it hears when it may
  if (unacknowledged_ != 0) earlier(acknowledge_at_);
  earlier(encoder_.deadline());
  if (sender_.has_work()) earlier(gather_until_);
  return first;
}

}  // namespace weft::wan
