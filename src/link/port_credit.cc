// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "link/iba_values.h"
#include "link/port.h"

namespace weft::link {
namespace {

constexpr unsigned kHalfBits = CreditFormat::kWideBits / 2;  // of a wide count

}  // namespace

// What each end has said of itself holds as long as the link is physically up.
void Port::agree_on_credit() {
  const auto far = options_.credit_format ? carrier_->far_format() : std::nullopt;
  send_format_ = far.value_or(CreditFormat{});
  receive_format_ = far ? *options_.credit_format : CreditFormat{};
  longest_cost_ = receive_format_.blocks(longest_packet(options_.mtu_code));
  grants_all_ = options_.vl_buffer >> receive_format_.scale <= receive_format_.most();
}

// Both ends count from zero, IBA 7.9.4.4.
void Port::begin_credit(Time now) {
  for (Lane& lane : lanes_) {
    lane.send = SendCredit(send_format_);
    lane.receive = ReceiveCredit(receive_format_);
    lane.credit_told_at = lane.credit_heard_at = now;
    lane.drops_in_row = 0;
    lane.stalled = false;
  }
  owed_ = 0;
  upper_.reset();
}

void Port::space_freed(Vl vl) {
  if (vl == kVl15 || state_ == PortState::kDown) return;
  note_owed(vl);
  if (owed_ != 0) wake();
}

// The other end is told when it has gained a quarter of the buffer, or anything at all if it may be
// waiting: if what it was told last is less than a packet can be long. Where the buffer is for a
// long link, what the other end is not told of yet is missing there, so it is told sooner.
void Port::note_owed(Vl vl) {
  if (vl.value() >= operational_vls_ || (owed_ & bit(vl)) != 0) return;
  const ReceiveCredit& credit = lanes_[vl.value()].receive;
  const std::uint32_t gained = credit.gained(free_blocks(vl));
  if (gained == 0) return;
  const std::uint32_t most =
      std::min(buffer_->capacity(vl) >> receive_format_.scale, receive_format_.most());
  const std::uint32_t much = most >> (options_.credit_format ? 5 : 2);
  const bool may_wait = credit.left() < longest_cost_;
  if (may_wait || gained >= much) owed_ |= bit(vl);
}

void Port::tell_credit(Vl vl, Time now) {
  Lane& lane = lanes_[vl.value()];
  const std::uint32_t fccl = lane.receive.fccl(free_blocks(vl));
  lane.receive.told(fccl);
  lane.credit_told_at = now;
  owed_ &= static_cast<std::uint16_t>(~bit(vl));
  counters_.add_in_turn(PortCounter::kTxFlowControl);
  const auto op = state_ == PortState::kInitialize ? wire::FlowControl::Op::kInitialize
                                                   : wire::FlowControl::Op::kNormal;
  const auto send = [&](wire::FlowControl::Op what, std::uint32_t fctbs, std::uint32_t limit) {
    constexpr std::uint32_t kMask = wire::FlowControl::kCountMask;
    carrier_->send(wire::FlowControl{what, vl, static_cast<std::uint16_t>(fctbs & kMask),
                                     static_cast<std::uint16_t>(limit & kMask)},
                   now);
  };
  if (counts_wide()) {
    send(wire::FlowControl::Op::kUpper, lane.send.fctbs() >> kHalfBits, fccl >> kHalfBits);
  }
  send(op, lane.send.fctbs(), fccl);
}

void Port::tell_all_credit(Time now) {
  for (std::uint8_t vl = 0; vl < operational_vls_; ++vl)
    tell_credit(Vl{vl}, now);
  next_period_ = now + period();
}

void Port::tell_owed_credit(Time now) {
  if (state_ == PortState::kDown) owed_ = 0;
  while (owed_ != 0)
    tell_credit(Vl{static_cast<std::uint8_t>(lowest_lane(owed_))}, now);
}

void Port::hear_upper(const wire::FlowControl& packet) {
  if (!counts_wide()) return counters_.add_in_turn(PortCounter::kRxBadLinkPacket);
  upper_ = packet;
}

void Port::hear_credit(const wire::FlowControl& packet, Time now) {
  Lane& lane = lanes_[packet.vl.value()];
  std::uint32_t fccl = packet.fccl;
  std::uint32_t fctbs = packet.fctbs;
  if (counts_wide()) {
    const auto upper = std::exchange(upper_, std::nullopt);
    // Half of a count says nothing: the other half is lost.
    if (!upper || upper->vl != packet.vl) {
      return counters_.add_in_turn(PortCounter::kRxBadLinkPacket);
    }
    fccl |= std::uint32_t{upper->fccl} << kHalfBits;
    fctbs |= std::uint32_t{upper->fctbs} << kHalfBits;
  }
  const bool news = !lane.send.known() || lane.send.limit() != fccl || lane.receive.abr() != fctbs;
  lane.send.granted(fccl);
  lane.receive.peer_sent(fctbs);
  lane.credit_heard_at = now;
  note_owed(packet.vl);
  // Nothing new: the other end asks, because what it was told is lost. But an answer looks like a
  // question: who has spoken within two round trips takes it for one, else they would go on
  // forever.
  const bool asks = !news && options_.credit_updates == CreditUpdates::kOnChange;
  if (asks && now >= lane.credit_told_at + asking_period() / 2) owed_ |= bit(packet.vl);
  if (owed_ != 0 || waiting_ != 0) wake();
}

// As with every word that is said again when no answer comes, not before one can have come.
Duration Port::asking_period() const {
  return std::max(options_.credit_period, 4 * carrier_->round_trip());
}

// kOnChange. If the last word of the other end is lost, or blocks are that it counts as under way,
// then our word makes it speak again.
void Port::ask_for_credit(Vl vl, Time now) {
  if (options_.credit_updates != CreditUpdates::kOnChange) return;
  if (now < lanes_[vl.value()].credit_told_at + asking_period()) return;
  counters_.add_in_turn(PortCounter::kTxCreditProbes);
  tell_credit(vl, now);
}

void Port::keep_credit_alive(Time now) {
  if (state_ == PortState::kDown || recovers()) return;
  if (options_.credit_updates == CreditUpdates::kPeriodic) {
    // Whoever is late itself, as a process may be that has not run, cannot blame the other end.
    if (now >= next_period_ + period()) watch_from(now);
    if (now >= next_period_) tell_all_credit(now);
    return watch_credit(now);
  }
  for (std::uint16_t rest = waiting_ & kDataLanes; rest != 0; rest &= rest - 1) {
    const Vl vl{static_cast<std::uint8_t>(lowest_lane(rest))};
    const Lane& lane = lanes_[vl.value()];
    if (short_of_credit(lane) && now >= lane.head_since + asking_period()) {
      ask_for_credit(vl, now);
    }
  }
  if (active_wanted_) ask_for_credit(Vl{0}, now);
}

bool Port::short_of_credit(const Lane& lane) const {
  return !lane.queue.empty() && !may_send(lane);
}

// IBA 7.9.4.3: where credit has not come for so long, the link is trained anew. In Initialize the
// ends may have other numbers of lanes; lane 0 they both have.
std::size_t Port::watched_lanes() const {
  return state_ == PortState::kInitialize ? 1 : operational_vls_;
}

// kPeriodic. A symbol of a slow line takes longer: else flow control would be all that it carries.
Duration Port::period() const {
  return std::max(options_.credit_period, carrier_->time_on_line(kPeriodSymbols));
}

Duration Port::watchdog() const {
  return std::max(options_.credit_watchdog, carrier_->time_on_line(kWatchdogSymbols));
}

void Port::watch_from(Time now) {
  for (Lane& lane : lanes_)
    lane.credit_heard_at = now;
}

void Port::line_changed(Time now, Time old_until) {
  if (carrier_ == nullptr) return;
  watch_from(std::max(now, old_until));
  next_period_ = std::min(next_period_, now + period());
  wake();
}

void Port::watch_credit(Time now) {
  for (std::size_t vl = 0; vl < watched_lanes(); ++vl) {
    if (now < lanes_[vl].credit_heard_at + watchdog()) continue;
    counters_.add_in_turn(PortCounter::kCreditWatchdog);
    return train_anew(PortPhysicalState::kPolling, now);
  }
}

std::optional<Time> Port::credit_deadline() const {
  if (state_ == PortState::kDown || recovers()) return std::nullopt;
  std::optional<Time> first;
  const auto earlier = [&](Time when) {
    if (!first || when < *first) first = when;
  };
  if (options_.credit_updates == CreditUpdates::kPeriodic) {
    earlier(next_period_);
    for (std::size_t vl = 0; vl < watched_lanes(); ++vl)
      earlier(lanes_[vl].credit_heard_at + watchdog());
    return first;
  }
  for (std::uint16_t rest = waiting_ & kDataLanes; rest != 0; rest &= rest - 1) {
    const Lane& lane = lanes_[lowest_lane(rest)];
    if (!short_of_credit(lane)) continue;
    earlier(std::max(lane.head_since, lane.credit_told_at) + asking_period());
  }
  if (active_wanted_) earlier(lanes_[0].credit_told_at + asking_period());
  return first;
}

}  // namespace weft::link
