// SPDX-License-Identifier: Apache-2.0
#include "fabric/negotiated_link.h"

#include <utility>

#include "mgmt/mad_packet.h"

namespace weft::fabric {
namespace {

constexpr Lid kAnyLid{0xFFFF};  // permissive

// What a subnet manager lets the port be.
phy::SpeedMode mode_of(const NodePort& port) {
  constexpr std::uint8_t kSdrBit = 1;
  constexpr std::uint8_t kDdrBit = 2;
  const std::uint8_t enabled = port.training().speeds;
  if ((enabled & kDdrBit) == 0) return phy::SpeedMode::kSdrOnly;
  return (enabled & kSdrBit) == 0 ? phy::SpeedMode::kDdrOnly : phy::SpeedMode::kAuto;
}

}  // namespace

NegotiatedLink::NegotiatedLink(std::unique_ptr<phy::DdrLink> link, std::array<NodePort*, 2> ports,
                               link::PacketPool& pool)
    : link_(std::move(link)), ports_(ports), pool_(pool) {
  link_->set_tap(this);
}

void NegotiatedLink::start(Time now) {
  link_->stop(now);
  for (unsigned side = 0; side < ports_.size(); ++side) {
    link_->set_mode(side, mode_of(*ports_[side]));
    link_->set_widths(side, ports_[side]->training().widths);
  }
  link_->start(now);
  tell_ports();
}

void NegotiatedLink::stop(Time now) {
  link_->stop(now);
  tell_ports();
}

// Each time that a port of the link runs: mostly nothing is due, and nothing new.
void NegotiatedLink::run(Time now) {
  const auto due = link_->deadline();
  if (!due || *due > now) return;
  link_->run(now);
  tell_ports();
}

void NegotiatedLink::tell_ports() {
  for (unsigned side = 0; side < ports_.size(); ++side)
    ports_[side]->set_trains(link_->physical_state(side) == wire::PortPhysicalState::kTraining);
  const auto speed = link_->up();
  if (!speed) return;
  // Codes of PortInfo, both of them.
  const auto width = static_cast<std::uint8_t>(*link_->width());
  for (NodePort* const port : ports_) {
    port->set_negotiated(*speed == phy::LinkSpeed::kDdr ? LinkSpeed::kDdr : LinkSpeed::kSdr,
                         widest(width));
  }
}

void NegotiatedLink::sent(unsigned from, wire::MadBytes mad, Time now) {
  if (tap_ == nullptr) return;
  std::array<std::byte, mgmt::kMaxMadPacket> bytes;
  const mgmt::MadEnvelope envelope{.slid = kAnyLid, .dlid = kAnyLid};
  const std::size_t size = mgmt::write_mad_packet(envelope, mad, psn_, bytes);
  ++psn_;
  const link::PacketPtr packet = pool_.copy(Bytes(bytes).first(size));
  if (packet != nullptr) tap_->sent(from, *packet, now);
}

}  // namespace weft::fabric
