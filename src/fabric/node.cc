// SPDX-License-Identifier: Apache-2.0
#include "fabric/node.h"

#include <array>
#include <utility>

#include "fabric/packet_view.h"
#include "mgmt/mad_packet.h"

namespace weft::fabric {
namespace {

wire::NodeType type_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kSwitch:
      return wire::NodeType::kSwitch;
    case NodeKind::kRouter:
      return wire::NodeType::kRouter;
    case NodeKind::kChannelAdapter:
      break;
  }
  return wire::NodeType::kChannelAdapter;
}

wire::NodeInfo info_of(const LabNode& lab) {
  wire::NodeInfo info;
  info.type = type_of(lab.kind);
  info.ports = lab.ports;
  info.system_image_guid = lab.system_guid;
  info.node_guid = lab.guid;
  info.partition_cap = kPKeyEntries;
  info.device_id = lab.device_id;
  info.revision = lab.revision;
  info.vendor_id = lab.vendor_id;
  return info;
}

}  // namespace

Node::Node(const LabNode& lab, const NodeParts& parts)
    : name_(lab.name),
      kind_(lab.kind),
      description_(lab.description),
      info_(info_of(lab)),
      worker_(parts.worker),
      pool_(parts.pool) {
  const bool of_switch = lab.kind == NodeKind::kSwitch;
  const unsigned first = of_switch ? 0 : 1;
  for (unsigned number = first; number <= lab.ports; ++number) {
    const auto kind = !of_switch    ? NodePort::Kind::kAdapter
                      : number == 0 ? NodePort::Kind::kSwitchManagement
                                    : NodePort::Kind::kSwitchExternal;
    // All ports of a switch go by port 0's GUID (IBA 14.2.5.3).
    const Guid guid = lab.port_guids[of_switch ? 0 : number - 1];
    link::PortOwner& owner = *this;
    const auto updates = parts.timed_ports.test(number) ? link::CreditUpdates::kPeriodic
                                                        : link::CreditUpdates::kOnChange;
    ports_.push_back(std::make_unique<NodePort>(kind, static_cast<std::uint8_t>(number), lab.limits,
                                                guid, updates, owner));
    if (!parts.io_controllers.empty() && kind != NodePort::Kind::kSwitchExternal) {
      ports_.back()->add_capability(wire::kCapDeviceManagement);
    }
  }
  mgmt::MadOutlet& outlet = *this;
  management_ = std::make_unique<mgmt::NodeManagement>(*this, outlet);
  management_->set_io_controllers(parts.io_controllers);
}

Node::~Node() = default;

void Node::management_used() {
  worker_.reschedule(*this);
}

wire::NodeInfo Node::node_info(mgmt::PortNumber arrival) const {
  wire::NodeInfo info = info_;
  info.local_port = arrival;
  // Whoever wants to know of the node as a whole asks for port 0 of an adapter too.
  if (arrival != 0 || kind_ == NodeKind::kSwitch) info.port_guid = port(arrival).guid();
  return info;
}

wire::PortInfo Node::port_info(mgmt::PortNumber number) const {
  return port(number).port_info();
}

void Node::set_port_info(mgmt::PortNumber number, const wire::PortInfo& info, Time now) {
  const wire::PortInfo before = port(number).port_info();
  port(number).set_port_info(info, now);
  if (info.client_reregister || port(number).port_info() != before) {
    tell_change(port(number), info.client_reregister);
  }
}

void Node::tell_change(NodePort& port, bool reregister) {
  port_changed(port, reregister);
  for (PortObserver* observer : observers_)
    observer->port_changed(port.number(), reregister);
}

void Node::set_port_state(mgmt::PortNumber number, wire::PortState state, Time now) {
  if (port(number).has_link()) port(number).link().set_state(state, now);
}

void Node::set_physical_state(mgmt::PortNumber number, wire::PortPhysicalState state, Time now) {
  if (port(number).has_link()) port(number).link().set_physical_state(state, now);
}

wire::PKeyBlock Node::pkeys(mgmt::PortNumber number, std::uint16_t block) const {
  return port(number).pkeys(block);
}

void Node::set_pkeys(mgmt::PortNumber number, std::uint16_t block, const wire::PKeyBlock& value) {
  if (port(number).pkeys(block) == value) return;
  port(number).set_pkeys(block, value);
  tell_change(port(number), false);
}

wire::GuidBlock Node::guids(mgmt::PortNumber number, std::uint8_t block) const {
  return port(number).guids(block);
}

void Node::set_guids(mgmt::PortNumber number, std::uint8_t block, const wire::GuidBlock& value) {
  if (port(number).guids(block) == value) return;
  port(number).set_guids(block, value);
  tell_change(port(number), false);
}

wire::VlArbitrationBlock Node::vl_arbitration(mgmt::PortNumber number, std::uint8_t half) const {
  return port(number).vl_arbitration(half);
}

void Node::set_vl_arbitration(mgmt::PortNumber number, std::uint8_t half,
                              const wire::VlArbitrationBlock& value) {
  port(number).set_vl_arbitration(half, value);
}

bool Node::led(mgmt::PortNumber number) const {
  return port(number).led();
}

void Node::set_led(mgmt::PortNumber number, bool on) {
  port(number).set_led(on);
}

mgmt::PortCounts Node::port_counts(mgmt::PortNumber number) const {
  return port(number).port_counts(worker_.now());
}

void Node::transmit(NodePort& out, link::PacketPtr packet, Vl vl, Time now) {
  out.link().transmit(std::move(packet), vl, now);
}

void Node::violated(NodePort& port, mgmt::KeyViolation::Kind kind, std::uint32_t key,
                    const link::Packet& packet, Time now) {
  const wire::Lrh lrh = packet.lrh();
  mgmt::KeyViolation violation{.kind = kind,
                               .key = key,
                               .slid = lrh.slid,
                               .dlid = lrh.dlid,
                               .sl = lrh.sl,
                               .source_qp = {},
                               .dest_qp = {},
                               .grh = {}};
  Bytes rest = packet.header().subspan(wire::Lrh::kSize);
  if (lrh.next_header == wire::Lnh::iba_global) {
    violation.grh = wire::Grh::parse(rest);
    rest = rest.subspan(violation.grh ? wire::Grh::kSize : rest.size());
  }
  if (const auto bth = wire::Bth::parse(rest)) {
    violation.dest_qp = bth->dest_qp;
    // Of datagrams only: those of other services do not tell their source.
    const bool datagram = static_cast<unsigned>(bth->opcode) >> 5 == 3;
    const auto deth = wire::Deth::parse(rest.subspan(wire::Bth::kSize));
    if (datagram && deth) violation.source_qp = deth->src_qp;
  }
  if (kind == mgmt::KeyViolation::Kind::kPKey) {
    port.count_pkey_violation();
  } else {
    port.count_qkey_violation();
  }
  management_->key_violated(port.number(), violation, now);
  worker_.reschedule(*this);
}

void Node::to_management(NodePort& in, NodePort& table, const link::Packet& packet, Time now) {
  std::array<std::byte, mgmt::kMaxMadPacket> bytes;
  if (packet.size() > bytes.size()) {
    in.counters().add_in_turn(NodeCounter::kBadManagement);
    return;
  }
  packet.copy_to(bytes);
  const auto parsed = mgmt::parse_mad_packet(Bytes(bytes).first(packet.size()), in.number());
  if (!parsed) {
    in.counters().add_in_turn(NodeCounter::kBadManagement);
    if (parsed.error() != mgmt::MadPacketError::kQKey) return;
    const wire::Lrh lrh = packet.lrh();
    const std::size_t at = wire::Lrh::kSize + wire::Bth::kSize +
                           (lrh.next_header == wire::Lnh::iba_global ? wire::Grh::kSize : 0);
    const auto deth = wire::Deth::parse(Bytes(bytes).subspan(at));
    violated(table, mgmt::KeyViolation::Kind::kQKey, deth ? deth->qkey.value() : 0, packet, now);
    return;
  }
  // The P_Key of subnet management is not looked at (IBA 10.9.8).
  const PKey pkey = parsed->envelope.pkey;
  if (parsed->envelope.dest_qp == kQp1 && !table.accepts(pkey)) {
    in.counters().add_in_turn(NodeCounter::kBadPKey);
    violated(table, mgmt::KeyViolation::Kind::kPKey, pkey.value(), packet, now);
    return;
  }
  in.counters().add_in_turn(NodeCounter::kManagement);
  management_->receive(parsed->envelope, parsed->mad, now);
  worker_.reschedule(*this);
}

void Node::send(const mgmt::MadEnvelope& envelope, wire::MadBytes mad) {
  std::array<std::byte, mgmt::kMaxMadPacket> bytes;
  const std::size_t size = mgmt::write_mad_packet(envelope, mad, psn_, bytes);
  ++psn_;
  link::PacketPtr packet = pool_.copy(Bytes(bytes).first(size));
  if (packet == nullptr) {
    const mgmt::PortNumber first = ports_.front()->number();
    port(envelope.port == 0 ? first : envelope.port).counters().add_in_turn(NodeCounter::kNoPacket);
    return;
  }
  outbox_.push_back({.packet = std::move(packet),
                     .port = envelope.port,
                     .dlid = envelope.dlid,
                     .sl = envelope.sl,
                     .on_vl15 = envelope.dest_qp == kQp0});
  worker_.wake(*this);
}

void Node::received(link::Port& port, link::PacketPtr packet, Time now) {
  take(this->port(port.number()), std::move(packet), now);
}

void Node::state_changed(link::Port& port, link::PortState before, Time now) {
  using State = link::PortState;
  NodePort& own = this->port(port.number());
  if (port.state() == State::kInitialize) own.trained();
  // Up, down, or begun anew at the other end's wish; not what a subnet manager commanded.
  const bool changed = port.state() == State::kDown || port.state() == State::kInitialize;
  if (changed && before != port.state()) link_changed(own, now);
  tell_change(own, false);
  worker_.reschedule(*this);
}

void Node::integrity_lost(link::Port& port, Time now) {
  management_->link_integrity_lost(port.number(), now);
  worker_.reschedule(*this);
}

void Node::wake(link::Port& port) {
  worker_.wake(this->port(port.number()));
}

void Node::run(Time now) {
  const auto deadline = management_->deadline();
  if (deadline && *deadline <= now) management_->run(now);
  std::vector<Outgoing> outbox = std::exchange(outbox_, {});
  for (Outgoing& outgoing : outbox) {
    outgoing.packet->arrived_at = now;
    send_out(std::move(outgoing), now);
  }
}

std::optional<Time> Node::deadline() const {
  return management_->deadline();
}

}  // namespace weft::fabric
