// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "link/iba_values.h"
#include "link/port.h"

namespace weft::link {

std::optional<PortCounter> Port::obstacle(const Packet& packet, Vl vl, Time now) {
  if (state_ == PortState::kDown) return PortCounter::kTxInactive;
  if (vl == kVl15) {
    const bool fits = packet.size() <= longest_packet(kManagementMtu);
    return fits ? std::nullopt : std::optional(PortCounter::kTxMtu);
  }
  if (vl.value() >= operational_vls_) return PortCounter::kTxNoVl;
  if (state_ != PortState::kActive) return PortCounter::kTxInactive;
  if (packet.size() > longest_packet(neighbor_mtu_)) return PortCounter::kTxMtu;
  Lane& lane = lanes_[vl.value()];
  if (lane.stalled && now >= lane.stalled_until) lane.stalled = false;
  if (lane.stalled) return PortCounter::kTxVlStalled;
  return std::nullopt;
}

void Port::transmit(PacketPtr packet, Vl vl, Time now) {
  const bool is_free = state_ == PortState::kActive && vl.value() < operational_vls_ &&
                       packet->size() <= longest_packet(neighbor_mtu_) &&
                       !lanes_[vl.value()].stalled;
  const auto reason = is_free ? std::nullopt : obstacle(*packet, vl, now);
  if (reason) return counters_.add_in_turn(*reason);
  if (packet->vl() != vl) packet->rewrite_vl(vl);
  if (packet->arrived_at == Time{}) packet->arrived_at = now;
  Lane& lane = lanes_[vl.value()];
  // Most packets find that nothing waits, and need not wait either. No limit of time is so short
  // that one could have met it that has just come.
  const bool passes = waiting_ == 0 && vl != kVl15 && packet->arrived_at == now &&
                      lane.send.allows(send_format_.blocks(packet->size())) && carrier_->ready();
  if (passes && arbitration_.choose(bit(vl))) return send_now(std::move(packet), vl, now);
  const bool first = lane.queue.empty();
  if (first) lane.head_since = now;
  lane.queue.push(std::move(packet));
  waiting_ |= bit(vl);
  // Behind others that wait it cannot leave before they do, which something else brings about.
  if (!first) return;
  if (carrier_->ready()) send_waiting(now);
  if (!lane.queue.empty()) wake();  // it has a deadline now
}

// IBA 7.6.9: VL15 before everything else, then as the tables say.
void Port::send_waiting(Time now) {
  while (waiting_ != 0 && carrier_->ready()) {
    if ((waiting_ & bit(kVl15)) != 0) {
      send_head(kVl15, now);
      continue;
    }
    const std::uint16_t candidates = sendable(now);
    const auto vl = candidates != 0 ? arbitration_.choose(candidates) : std::nullopt;
    if (!vl) break;
    send_head(*vl, now);
  }
  // A line that is busy is no reason to keep what is too old.
  if (waiting_ != 0 && !carrier_->ready()) (void)sendable(now);
  note_waiting(now);
}

// Which lanes have a packet, not too old, and credit for it.
std::uint16_t Port::sendable(Time now) {
  const bool limits = life(hoq_life_) || life(switch_life_);
  std::uint16_t lanes = 0;
  for (std::uint16_t rest = waiting_ & kDataLanes; rest != 0; rest &= rest - 1) {
    const Vl vl{static_cast<std::uint8_t>(lowest_lane(rest))};
    if (limits) drop_expired(vl, now);
    const Lane& lane = lanes_[vl.value()];
    if (!lane.queue.empty() && may_send(lane)) lanes |= bit(vl);
  }
  return lanes;
}

void Port::send_head(Vl vl, Time now) {
  send_now(take_head(vl, now), vl, now);
}

void Port::send_now(PacketPtr packet, Vl vl, Time now) {
  Lane& lane = lanes_[vl.value()];
  const std::size_t size = packet->size();
  if (vl == kVl15) {
    counters_.add_in_turn(PortCounter::kTxVl15);
  } else {
    lane.send.sent(send_format_.blocks(size));
    lane.drops_in_row = 0;
    arbitration_.sent(size);
  }
  counters_.add_in_turn(PortCounter::kTxPackets);
  counters_.add_in_turn(PortCounter::kTxWords, size / 4);
  counters_.add_in_turn(is_multicast(packet->dlid()) ? PortCounter::kTxMulticast
                                                     : PortCounter::kTxUnicast);
  if (wait_since_) end_wait(now);
  packet->hold.release();  // it leaves the element
  carrier_->send(std::move(packet), now);
}

PacketPtr Port::take_head(Vl vl, Time now) {
  Lane& lane = lanes_[vl.value()];
  PacketPtr packet = lane.queue.pop();
  lane.head_since = now;
  if (lane.queue.empty()) waiting_ &= static_cast<std::uint16_t>(~bit(vl));
  return packet;
}

void Port::drop_lane(Vl vl, PortCounter reason, Time now) {
  while (!lanes_[vl.value()].queue.empty()) {
    take_head(vl, now).reset();
    counters_.add_in_turn(reason);
  }
}

std::optional<Time> Port::head_limit(const Lane& lane) const {
  std::optional<Time> limit;
  if (const auto hoq = life(hoq_life_)) limit = lane.head_since + *hoq;
  if (const auto in_switch = life(switch_life_)) {
    const Time end = lane.queue.front()->arrived_at + *in_switch;
    if (!limit || end < *limit) limit = end;
  }
  return limit;
}

// IBA 18.2.5.4.
void Port::drop_expired(Vl vl, Time now) {
  Lane& lane = lanes_[vl.value()];
  const auto hoq = life(hoq_life_);
  const auto in_switch = life(switch_life_);
  while (!lane.queue.empty()) {
    const bool at_head = hoq && now >= lane.head_since + *hoq;
    if (!at_head && !(in_switch && now >= lane.queue.front()->arrived_at + *in_switch)) return;
    take_head(vl, now).reset();
    counters_.add_in_turn(at_head ? PortCounter::kTxHoqLife : PortCounter::kTxSwitchLife);
    ask_for_credit(vl, now);
    if (!at_head || vl_stall_count_ == 0 || ++lane.drops_in_row < vl_stall_count_) continue;
    lane.drops_in_row = 0;
    lane.stalled = true;
    lane.stalled_until = now + 8 * *hoq;
    counters_.add_in_turn(PortCounter::kVlStalls);
    drop_lane(vl, PortCounter::kTxVlStalled, now);
  }
}

// IBA 16.1.3.5, PortXmitWait: there was something to send, and nothing was sent, for lack of credit
// or because arbitration knows no such lane.
void Port::note_waiting(Time now) {
  const bool waits = (waiting_ & kDataLanes) != 0 && carrier_ != nullptr && carrier_->ready();
  if (!waits) return end_wait(now);
  if (!wait_since_) wait_since_ = now;
}

void Port::end_wait(Time now) {
  if (!wait_since_) return;
  counters_.add_in_turn(PortCounter::kTxWaitNs,
                        static_cast<std::uint64_t>((now - *wait_since_).count()));
  wait_since_.reset();
}

Duration Port::transmit_wait(Time now) const {
  const Duration over(static_cast<std::int64_t>(counters_.get(PortCounter::kTxWaitNs)));
  return wait_since_ ? over + (now - *wait_since_) : over;
}

}  // namespace weft::link
