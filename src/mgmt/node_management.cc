// SPDX-License-Identifier: Apache-2.0
#include "mgmt/node_management.h"

#include <algorithm>
#include <utility>

#include "mgmt/node_management_impl.h"
#include "mgmt/sm/notices.h"

namespace weft::mgmt {

NodeManagement::NodeManagement(ManagedNode& node, MadOutlet& outlet)
    : impl_(std::make_unique<Impl>(node, outlet)) {
}
NodeManagement::~NodeManagement() = default;

void NodeManagement::receive(const MadEnvelope& envelope, wire::MadBytes mad, Time now) {
  impl_->receive(envelope, mad, now);
}

MadPort& NodeManagement::mad_port(PortNumber port) {
  return impl_->mad_port(port);
}

void NodeManagement::set_subnet_manager(PortNumber port, bool present, Time now) {
  impl_->set_subnet_manager(port, present, now);
}

void NodeManagement::set_io_controllers(std::vector<IoController> controllers) {
  impl_->device_agent().set_controllers(std::move(controllers));
}

wire::PortInfo NodeManagement::port_info(PortNumber port) const {
  return impl_->port_info(port);
}

void NodeManagement::link_state_changed(Time now) {
  impl_->trap(0, link_state_notice(impl_->port_info(0).lid), now);
}

void NodeManagement::description_changed(Time now) {
  const wire::NodeInfo node = impl_->node().node_info(0);
  const bool switched = node.type == wire::NodeType::kSwitch;
  for (unsigned port = switched ? 0 : 1; port <= (switched ? 0u : node.ports); ++port) {
    const auto number = static_cast<PortNumber>(port);
    impl_->trap(number, capability_notice(node.type, impl_->port_info(number), true), now);
  }
}

void NodeManagement::link_integrity_lost(PortNumber port, Time now) {
  const Lid lid = impl_->port_info(impl_->management_port(port)).lid;
  impl_->trap(port,
              link_trouble_notice(wire::TrapNumber::kLocalLinkIntegrity, impl_->type(), lid, port),
              now);
}

void NodeManagement::buffer_overrun(PortNumber port, Time now) {
  const Lid lid = impl_->port_info(impl_->management_port(port)).lid;
  impl_->trap(port, link_trouble_notice(wire::TrapNumber::kBufferOverrun, impl_->type(), lid, port),
              now);
}

void NodeManagement::flow_control_timed_out(PortNumber port, Time now) {
  const Lid lid = impl_->port_info(impl_->management_port(port)).lid;
  impl_->trap(port,
              link_trouble_notice(wire::TrapNumber::kFlowControlWatchdog, impl_->type(), lid, port),
              now);
}

void NodeManagement::key_violated(PortNumber port, const KeyViolation& violation, Time now) {
  const wire::NodeType type = impl_->type();
  if (type == wire::NodeType::kSwitch && port != 0) {
    impl_->trap(port, bad_pkey_at_switch_notice(violation, impl_->port_info(0).lid, port), now);
  } else {
    impl_->trap(port, bad_key_notice(type, violation), now);
  }
}

void NodeManagement::run(Time now) {
  impl_->run(now);
}

std::optional<Time> NodeManagement::deadline() const {
  return impl_->deadline();
}

const ManagementCounters& NodeManagement::counters() const {
  return impl_->counters();
}

MadPort& NodeManagement::Impl::mad_port(PortNumber port) {
  std::unique_ptr<MadPort>& place = mad_ports_[port];
  if (!place) place = std::make_unique<MadPort>(node_, port, *this);
  return *place;
}

wire::PortInfo NodeManagement::Impl::port_info(PortNumber port) const {
  wire::PortInfo info = node_.port_info(port);
  if (subnet_managers_.contains(port)) info.capability_mask |= wire::kCapSm;
  return info;
}

void NodeManagement::Impl::set_subnet_manager(PortNumber port, bool present, Time now) {
  if (present == subnet_managers_.contains(port)) return;
  if (present) {
    subnet_managers_[port] = true;
  } else {
    subnet_managers_.erase(port);
  }
  trap(port, capability_notice(type(), port_info(port), false), now);
}

void NodeManagement::Impl::trap(PortNumber port, const wire::Notice& notice, Time now) {
  traps_.raise(management_port(port), notice, now);
}

void NodeManagement::Impl::run(Time now) {
  // As many as wait now: what they cause waits for the next turn, so that two that answer each
  // other do not keep everybody else waiting.
  for (std::size_t count = looped_.size(); count > 0; --count) {
    const Looped next = looped_.front();
    looped_.pop_front();
    receive(next.envelope, next.mad, now);
  }
  guard_.run(now);
  performance_agent_.run(now);
  traps_.run(now);
  for (const auto& [number, port] : mad_ports_)
    port->run(now);
}

std::optional<Time> NodeManagement::Impl::deadline() const {
  if (!looped_.empty()) return Time{};
  std::optional<Time> first = guard_.deadline();
  const auto consider = [&first](std::optional<Time> when) {
    if (when) first = std::min(first.value_or(*when), *when);
  };
  consider(performance_agent_.deadline());
  consider(traps_.deadline());
  for (const auto& [number, port] : mad_ports_)
    consider(port->deadline());
  return first;
}

}  // namespace weft::mgmt
