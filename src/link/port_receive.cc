// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "link/iba_values.h"
#include "link/port.h"
#include "wire/packet.h"

namespace weft::link {
// IBA 7.3 and 7.10: the checks of the packet receiver and of data packets, except for credit. The
// VCRC first, so that what was damaged counts as that and as nothing else. Whoever let an intact
// packet in has looked at its LRH, of which hops change nothing but the VL.
std::optional<PortCounter> Port::flaw(const Packet& packet) const {
  if (packet.intact && packet.vl() != kVl15) {
    if (packet.size() > longest_packet(options_.mtu_code)) return PortCounter::kRxMalformed;
    return packet.vl().value() < operational_vls_ ? std::nullopt
                                                  : std::optional(PortCounter::kRxBadVl);
  }
  if (!packet.intact && !packet.vcrc_good()) return PortCounter::kRxBadVcrc;
  if (!packet.lrh_good() || packet.size() > longest_packet(options_.mtu_code)) {
    return PortCounter::kRxMalformed;
  }
  const wire::Lrh lrh = packet.lrh();
  if (lrh.vl == kVl15) {
    // IBA 3.5.9.1: subnet management packets only, which have no GRH and 256 bytes of payload.
    const bool fits = packet.size() <= longest_packet(kManagementMtu);
    if (lrh.next_header != wire::Lnh::iba_local || !fits) return PortCounter::kRxMalformed;
    return std::nullopt;
  }
  if (lrh.vl.value() >= operational_vls_) return PortCounter::kRxBadVl;
  return std::nullopt;
}

void Port::count_received(const Packet& packet) {
  counters_.add_in_turn(PortCounter::kRxPackets);
  counters_.add_in_turn(PortCounter::kRxWords, packet.size() / 4);
  counters_.add_in_turn(is_multicast(packet.dlid()) ? PortCounter::kRxMulticast
                                                    : PortCounter::kRxUnicast);
}

// By this link: what an earlier one damaged has not come on.
void Port::drop_damaged(PortCounter reason, Time now) {
  counters_.add_in_turn(reason);
  if (!integrity_.fault()) return;
  counters_.add_in_turn(PortCounter::kLinkIntegrity);
  owner_.integrity_lost(*this, now);
  if (carrier_ != nullptr) carrier_->retrain(now);
}

void Port::receive(PacketPtr packet, Time now) {
  if (state_ == PortState::kDown) return counters_.add_in_turn(PortCounter::kRxWrongState);
  const Vl vl = packet->vl();
  const std::size_t size = packet->size();
  // As most are: without a flaw.
  const bool is_sound =
      packet->intact && vl.value() < operational_vls_ && size <= longest_packet(options_.mtu_code);
  const auto reason = is_sound ? std::nullopt : flaw(*packet);
  if (reason == PortCounter::kRxBadVcrc) return drop_damaged(*reason, now);
  integrity_.sound();
  if (reason) return counters_.add_in_turn(*reason);
  packet->intact = true;  // which hops behind this one need not find out again
  if (vl == kVl15) {
    packet->hold = buffer_->take(vl, 1);
    if (!packet->hold) return counters_.add_in_turn(PortCounter::kRxVl15Dropped);
    counters_.add_in_turn(PortCounter::kRxVl15);
  } else {
    if (state_ == PortState::kInitialize) return counters_.add_in_turn(PortCounter::kRxWrongState);
    const std::uint32_t blocks = receive_format_.blocks(size);
    const auto space = static_cast<std::uint16_t>(blocks << receive_format_.scale);
    // IBA 7.9.4.4: blocks that were dropped for lack of room are not counted as received.
    if (!buffer_->take(vl, space, packet->hold)) {
      return counters_.add_in_turn(PortCounter::kRxOverrun);
    }
    ReceiveCredit& credit = lanes_[vl.value()].receive;
    credit.received(blocks);
    // What came in has taken space and credit alike, unless there is more space than can be
    // granted. So all that can be new is that little is left.
    if (!grants_all_ || credit.left() < longest_cost_) note_owed(vl);
    if (state_ == PortState::kArmed) enter(PortState::kActive, now);  // IBA 7.2.7: ActiveTrigger
  }
  count_received(*packet);
  packet->arrived_at = now;
  const bool waits = drain_bytes_per_s_ != 0 || !draining_.empty();
  if (!waits || vl == kVl15) return owner_.received(*this, std::move(packet), now);
  let_wait(std::move(packet), now);
}

// Until the receiver, which is slow, comes to it.
void Port::let_wait(PacketPtr packet, Time now) {
  if (draining_.empty()) drained_at_ = std::max(drained_at_, now) + time_to_drain(*packet);
  draining_.push(std::move(packet));
}

void Port::set_drain_rate(std::uint64_t bytes_per_s, Time now) {
  if (bytes_per_s == drain_bytes_per_s_) return;
  drain_bytes_per_s_ = bytes_per_s;
  drained_at_ = now;
  wake();
}

Duration Port::time_to_drain(const Packet& packet) const {
  if (drain_bytes_per_s_ == 0) return 0ns;
  return Duration(std::uint64_t{packet.size()} * 1'000'000'000 / drain_bytes_per_s_);
}

void Port::drain(Time now) {
  while (!draining_.empty() && drained_at_ <= now) {
    owner_.received(*this, draining_.pop(), now);
    if (!draining_.empty()) drained_at_ += time_to_drain(*draining_.front());
  }
}

void Port::receive_flow_control(Bytes bytes, Time now) {
  const auto packet = wire::FlowControl::parse(bytes);
  if (packet) return receive(*packet, now);
  if (packet.error() == wire::FlowControlError::kBadLpcrc) {
    return drop_damaged(PortCounter::kRxBadLpcrc, now);
  }
  integrity_.sound();
  counters_.add_in_turn(PortCounter::kRxBadLinkPacket);
}

void Port::receive(const wire::FlowControl& packet, Time now) {
  if (state_ == PortState::kDown) return counters_.add_in_turn(PortCounter::kRxWrongState);
  integrity_.sound();
  if (packet.vl == kVl15) return counters_.add_in_turn(PortCounter::kRxBadLinkPacket);
  if (packet.op == wire::FlowControl::Op::kUpper) return hear_upper(packet);
  counters_.add_in_turn(PortCounter::kRxFlowControl);
  peer_armed_ = packet.op == wire::FlowControl::Op::kNormal;
  if (!peer_armed_ && state_ == PortState::kActive) {
    // IBA 7.2.7: RemoteInit. The other end has begun to count anew, so this one must too.
    counters_.add_in_turn(PortCounter::kRemoteInit);
    enter(PortState::kInitialize, now);
  }
  // The ends have other numbers of lanes until the subnet manager has set both.
  if (packet.vl.value() < operational_vls_) hear_credit(packet, now);
  become_active(now);
}

}  // namespace weft::link
