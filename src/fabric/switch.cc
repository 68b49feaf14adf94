// SPDX-License-Identifier: Apache-2.0
#include "fabric/switch.h"

#include <utility>

#include "fabric/packet_view.h"
#include "wire/sm/smp.h"

namespace weft::fabric {

Vl Switch::lane(std::uint8_t in, std::uint8_t out, Sl sl) const {
  if (!lanes_.empty()) {
    const Lanes& lanes = lanes_[lanes_index(in, out)];
    if (lanes.set) return lanes.map.vls[sl.value()];
  }
  return port(out).default_lane(sl);
}

std::optional<std::uint8_t> Switch::port_for(Lid dlid) const {
  if (dlid > info_.linear_top || dlid.value() >= linear_.size()) return std::nullopt;
  const std::uint8_t port = linear_[dlid.value()];
  return port > port_count() ? std::nullopt : std::optional(port);
}

Switch::PortSet Switch::ports_for(Lid multicast) const {
  PortSet ports;
  const std::size_t first = std::size_t{multicast.value()} - wire::MulticastBlock::kFirstLid;
  for (std::size_t position = 0; position < positions(); ++position) {
    const std::size_t at = first * positions() + position;
    if (at >= multicast_.size()) break;
    ports |= PortSet(multicast_[at]) << (position * wire::MulticastBlock::kPortsPerPosition);
  }
  return ports;
}

// Partitions and raw packets at the way in and the way out, IBA 18.2.4.2.1 and 18.2.4.4.
bool Switch::let_in(NodePort& in, const link::Packet& packet, const wire::Lrh& lrh, Time now) {
  if (is_raw(lrh)) {
    if (!in.filters_raw_inbound()) return true;
    in.counters().add_in_turn(NodeCounter::kInboundRaw);
    return false;
  }
  if (!in.enforces_inbound()) return true;
  const auto bth = bth_of(packet, lrh);
  if (bth && in.carries(bth->pkey)) return true;
  in.counters().add_in_turn(NodeCounter::kInboundPKey);
  violated(in, mgmt::KeyViolation::Kind::kPKey, bth ? bth->pkey.value() : 0, packet, now);
  return false;
}

bool Switch::let_out(NodePort& out, const link::Packet& packet, const wire::Lrh& lrh, Time now) {
  if (is_raw(lrh)) {
    if (!out.filters_raw_outbound()) return true;
    out.counters().add_in_turn(NodeCounter::kOutboundRaw);
    return false;
  }
  if (!out.enforces_outbound()) return true;
  const auto bth = bth_of(packet, lrh);
  if (bth && out.carries(bth->pkey)) return true;
  out.counters().add_in_turn(NodeCounter::kOutboundPKey);
  violated(out, mgmt::KeyViolation::Kind::kPKey, bth ? bth->pkey.value() : 0, packet, now);
  return false;
}

void Switch::take(NodePort& in, link::PacketPtr packet, Time now) {
  const wire::Lrh lrh = packet->lrh();
  const bool on_vl15 = lrh.vl == kManagementVl;
  if (on_vl15 ? lrh.dlid == wire::kPermissiveLid || port(0).owns(lrh.dlid)
              : port(0).owns(lrh.dlid)) {
    if (on_vl15 || let_in(in, *packet, lrh, now)) to_management(in, port(0), *packet, now);
    return;
  }
  // Partitions are no matter of subnet management.
  if (!on_vl15 && !let_in(in, *packet, lrh, now)) return;
  if (is_multicast(lrh.dlid) && !on_vl15) {
    forward_multicast(in, std::move(packet), lrh, now);
  } else {
    forward(in, std::move(packet), lrh, now);
  }
}

void Switch::forward(NodePort& in, link::PacketPtr packet, const wire::Lrh& lrh, Time now) {
  const auto out = port_for(lrh.dlid);
  // Port 0 has been dealt with: by such an entry a packet would come to nobody.
  if (!out || *out == 0) return in.counters().add_in_turn(NodeCounter::kNoRoute);
  if (*out == in.number()) return in.counters().add_in_turn(NodeCounter::kLoop);
  pass(in, *out, std::move(packet), lrh, now);
}

// IBA 18.2.4.3.3. What is in no table goes to the default port, or on from there to the other one.
void Switch::forward_multicast(NodePort& in, link::PacketPtr packet, const wire::Lrh& lrh,
                               Time now) {
  const unsigned entry = lrh.dlid.value() - wire::MulticastBlock::kFirstLid;
  const bool beyond_top = info_.multicast_top != Lid{} && lrh.dlid > info_.multicast_top;
  PortSet ports = ports_for(lrh.dlid);
  if (entry >= info_.multicast_cap || beyond_top || ports.none()) {
    const std::uint8_t primary = info_.default_multicast_primary_port;
    const std::uint8_t out =
        in.number() == primary ? info_.default_multicast_not_primary_port : primary;
    ports.reset();
    if (out <= port_count() && out != 0) ports.set(out);
  }
  ports.reset(in.number());
  if (ports.test(0)) {
    to_management(in, port(0), *packet, now);
    ports.reset(0);
  } else if (ports.none()) {
    return in.counters().add_in_turn(NodeCounter::kNoRoute);
  }
  std::size_t left = ports.count();
  for (unsigned number = 1; left > 0 && number <= port_count(); ++number) {
    if (!ports.test(number)) continue;
    const auto out = static_cast<std::uint8_t>(number);
    if (--left == 0) return pass(in, out, std::move(packet), lrh, now);
    link::PacketPtr copy = pool().replicate(*packet);
    if (copy == nullptr) {
      in.counters().add_in_turn(NodeCounter::kNoPacket);
      continue;
    }
    in.counters().add_in_turn(NodeCounter::kReplicated);
    pass(in, out, std::move(copy), lrh, now);
  }
}

void Switch::pass(NodePort& in, std::uint8_t out, link::PacketPtr packet, const wire::Lrh& lrh,
                  Time now) {
  NodePort& to = port(out);
  if (lrh.vl != kManagementVl && !let_out(to, *packet, lrh, now)) return;
  const Vl vl = lrh.vl == kManagementVl ? kManagementVl : lane(in.number(), out, lrh.sl);
  if (vl == kManagementVl && lrh.vl != kManagementVl) {
    return in.counters().add_in_turn(NodeCounter::kNoVl);
  }
  in.counters().add_in_turn(NodeCounter::kForwarded);
  transmit(to, std::move(packet), vl, now);
}

// What this switch itself sends: by the port that is named, or by its own tables.
void Switch::send_out(Outgoing outgoing, Time now) {
  std::optional<std::uint8_t> out = outgoing.port;
  if (outgoing.port == 0) out = port_for(outgoing.dlid);
  if (!out || *out < 1 || *out > port_count()) {
    return port(0).counters().add_in_turn(NodeCounter::kNoRoute);
  }
  const Vl vl = outgoing.on_vl15 ? kManagementVl : lane(0, *out, outgoing.sl);
  if (vl == kManagementVl && !outgoing.on_vl15) {
    return port(0).counters().add_in_turn(NodeCounter::kNoVl);
  }
  transmit(port(*out), std::move(outgoing.packet), vl, now);
}

void Switch::link_changed(NodePort&, Time now) {
  info_.port_state_change = true;
  management().link_state_changed(now);
}

}  // namespace weft::fabric
