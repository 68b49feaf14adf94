// SPDX-License-Identifier: Apache-2.0
#include "fabric/channel_adapter.h"

#include <fmt/format.h>

#include <utility>

#include "fabric/packet_view.h"
#include "wire/sm/smp.h"

namespace weft::fabric {

ChannelAdapter::ChannelAdapter(const LabNode& lab, const NodeParts& parts)
    : Node(lab, parts),
      lanes_(lab.ports),
      numbers_(parts.first_qpn),
      programs_(lab.ports),
      raw_ports_(lab.ports) {
}

Error ChannelAdapter::no_port(mgmt::PortNumber port) const {
  return {std::errc::invalid_argument,
          fmt::format("port {}: {} has ports 1 to {}", port, name(), port_count())};
}

Expected<std::unique_ptr<Attachment>> ChannelAdapter::attach(mgmt::PortNumber port,
                                                             Program& program) {
  if (port < 1 || port > port_count()) return tl::unexpected(no_port(port));
  ProgramPort::Adapter& adapter = *this;
  auto& place = programs_[port - 1u];
  if (place == nullptr) {
    place = std::make_unique<ProgramPort>(adapter, this->port(port), worker(), pool(), numbers_);
  }
  return std::make_unique<AttachedProgram>(*place, program);
}

Expected<RawPort*> ChannelAdapter::raw_port(mgmt::PortNumber port) {
  if (port < 1 || port > port_count()) return tl::unexpected(no_port(port));
  auto& place = raw_ports_[port - 1u];
  if (place == nullptr) {
    RawPort::Adapter& adapter = *this;
    place = std::make_unique<RawPort>(adapter, this->port(port), worker(), pool());
  }
  return place.get();
}

Expected<ProgramPort::Adapter::Raw> ChannelAdapter::raw_port_for_programs(const NodePort& port) {
  if (entropy_ == nullptr) {
    return fail(std::errc::operation_not_permitted,
                fmt::format("raw queue pairs are for nodes that carry a data service: the lab file "
                            "has no [service.NAME] with at = \"{}\"",
                            name()));
  }
  return ProgramPort::Adapter::Raw{*raw_port(port.number()), entropy_};
}

bool ChannelAdapter::is_diverted(const NodePort& port, Lid dlid) const {
  const auto& place = raw_ports_[port.number() - 1u];
  return place != nullptr && place->diverts(dlid);
}

void ChannelAdapter::port_changed(NodePort& port, bool reregister) {
  if (auto& raw = raw_ports_[port.number() - 1u]; raw != nullptr) raw->changed();
  if (auto& place = programs_[port.number() - 1u]; place != nullptr) place->changed(reregister);
}

Vl ChannelAdapter::lane(const NodePort& out, Sl sl) const {
  const auto& lanes = lanes_[out.number() - 1u];
  if (lanes) return lanes->vls[sl.value()];
  return out.default_lane(sl);
}

wire::SlToVl ChannelAdapter::sl_to_vl(mgmt::PortNumber, mgmt::PortNumber out) const {
  wire::SlToVl value;
  for (std::size_t sl = 0; sl < value.vls.size(); ++sl)
    value.vls[sl] = lane(port(out), Sl{static_cast<std::uint8_t>(sl)});
  return value;
}

void ChannelAdapter::set_sl_to_vl(mgmt::PortNumber, mgmt::PortNumber out,
                                  const wire::SlToVl& value) {
  lanes_[out - 1u] = value;
}

namespace {

// Whether it names a GID that is none of the port's.
bool leads_beyond(const NodePort& port, const link::Packet& packet, const wire::Lrh& lrh) {
  if (lrh.vl == kManagementVl || lrh.next_header != wire::Lnh::iba_global) return false;
  const auto grh = wire::Grh::parse(packet.header().subspan(wire::Lrh::kSize));
  return grh && !port.has_gid(grh->dgid);
}

}  // namespace

void ChannelAdapter::take(NodePort& in, link::PacketPtr packet, Time now) {
  if (auto& raw = raw_ports_[in.number() - 1u]; raw != nullptr) {
    raw->take(packet, now);
    if (packet == nullptr) return;
  }
  to_engine(in, std::move(packet), now);
}

void ChannelAdapter::to_engine(NodePort& in, link::PacketPtr packet, Time now) {
  const wire::Lrh lrh = packet->lrh();
  const bool permissive = lrh.vl == kManagementVl && lrh.dlid == wire::kPermissiveLid;
  if (!permissive && !in.owns(lrh.dlid) && !is_multicast(lrh.dlid)) {
    return in.counters().add_in_turn(NodeCounter::kNotMine);
  }
  const auto bth = bth_of(*packet, lrh);
  const bool is_router = kind() == NodeKind::kRouter;
  // Management of hosts in other subnets is carried there as everything else is.
  const auto pkey = bth ? std::optional(bth->pkey) : std::nullopt;
  if (is_router && leads_beyond(in, *packet, lrh)) return route(in, std::move(packet), pkey, now);
  if (lrh.vl == kManagementVl || (bth && bth->dest_qp.value() <= kQp1.value())) {
    return to_management(in, in, *packet, now);
  }
  if (is_router) return route(in, std::move(packet), pkey, now);
  if (!bth || programs_[in.number() - 1u] == nullptr) {
    return in.counters().add_in_turn(NodeCounter::kNoQueuePair);
  }
  if (!in.accepts(bth->pkey)) {
    in.counters().add_in_turn(NodeCounter::kBadPKey);
    return violated(in, mgmt::KeyViolation::Kind::kPKey, bth->pkey.value(), *packet, now);
  }
  programs_[in.number() - 1u]->arrive(std::move(packet), lrh, bth->dest_qp, now);
}

void ChannelAdapter::route(NodePort& in, link::PacketPtr packet, std::optional<PKey> pkey,
                           Time now) {
  if (forwarder_ == nullptr) return in.counters().add_in_turn(NodeCounter::kNotRouted);
  if (pkey && !in.carries(*pkey)) {
    in.counters().add_in_turn(NodeCounter::kBadPKey);
    return violated(in, mgmt::KeyViolation::Kind::kPKey, pkey->value(), *packet, now);
  }
  forwarder_->from_subnet(std::move(packet), now);
}

void ChannelAdapter::send_routed(mgmt::PortNumber number, link::PacketPtr packet, Time now) {
  NodePort& out = port(number);
  const wire::Lrh lrh = packet->lrh();
  const auto bth = bth_of(*packet, lrh);
  if (!bth || !out.carries(bth->pkey)) {
    return out.counters().add_in_turn(NodeCounter::kOutboundPKey);
  }
  const Vl vl = lane(out, lrh.sl);
  if (vl == kManagementVl) return out.counters().add_in_turn(NodeCounter::kNoVl);
  transmit(out, std::move(packet), vl, now);
}

void ChannelAdapter::take_back(NodePort& port, link::PacketPtr packet, Time now) {
  take(port, std::move(packet), now);
}

void ChannelAdapter::send_out(Outgoing outgoing, Time now) {
  if (outgoing.port < 1 || outgoing.port > port_count()) {
    return port(1).counters().add_in_turn(NodeCounter::kNoRoute);
  }
  NodePort& out = port(outgoing.port);
  const Vl vl = outgoing.on_vl15 ? kManagementVl : lane(out, outgoing.sl);
  if (vl == kManagementVl && !outgoing.on_vl15) {
    return out.counters().add_in_turn(NodeCounter::kNoVl);
  }
  // As what the node's programs send: a service at the port comes first, and the switch at the
  // other end would send nothing back.
  const bool is_active = out.link().state() == link::PortState::kActive;
  if (!outgoing.on_vl15 && is_active && is_diverted(out, outgoing.dlid)) {
    if (outgoing.packet->vl() != vl) outgoing.packet->rewrite_vl(vl);
    out.counters().add_in_turn(NodeCounter::kLooped);
    return take(out, std::move(outgoing.packet), now);
  }
  transmit(out, std::move(outgoing.packet), vl, now);
}

}  // namespace weft::fabric
