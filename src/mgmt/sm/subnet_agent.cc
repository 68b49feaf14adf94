// SPDX-License-Identifier: Apache-2.0
#include "mgmt/sm/subnet_agent.h"

#include "mgmt/sm/port_info_set.h"
#include "wire/endian.h"
#include "wire/sm/smp.h"

namespace weft::mgmt {
namespace {

using wire::MadStatus;
using wire::SmAttribute;

// In PortInfo's modifier: the manager knows the extended speeds. Nothing depends on it here.
constexpr std::uint32_t kManagerKnowsExtendedSpeeds = 1u << 31;
constexpr std::uint32_t kLedOn = 1u << 31;

}  // namespace

bool SubnetAgent::is_switch() const {
  return node_.node_info(0).type == wire::NodeType::kSwitch;
}

PortNumber SubnetAgent::own_port(const Request& request) const {
  return is_switch() ? PortNumber{0} : request.arrival;
}

MadStatus SubnetAgent::handle(const Request& request, wire::MutableMadBytes smp, Time now) {
  const auto attribute = static_cast<SmAttribute>(wire::load_be16(smp.data() + 16));
  const std::uint32_t modifier = wire::load_be32(smp.data() + 20);
  const MutableBytes data = wire::smp::data(smp);
  switch (attribute) {
    case SmAttribute::kNodeDescription:
      return node_description(request, modifier, data);
    case SmAttribute::kNodeInfo:
      return node_info(request, modifier, data);
    case SmAttribute::kSwitchInfo:
      return switch_info(request, modifier, data);
    case SmAttribute::kGuidInfo:
      return guid_info(request, modifier, data);
    case SmAttribute::kPortInfo:
      return port_info(request, modifier, data, now);
    case SmAttribute::kPKeyTable:
      return pkey_table(request, modifier, data);
    case SmAttribute::kSlToVl:
      return sl_to_vl(request, modifier, data);
    case SmAttribute::kVlArbitration:
      return vl_arbitration(request, modifier, data);
    case SmAttribute::kLinearForwarding:
      return linear(request, modifier, data);
    case SmAttribute::kMulticastForwarding:
      return multicast(request, modifier, data);
    case SmAttribute::kLedInfo:
      return led_info(request, modifier, data);
    default:
      return MadStatus::kBadMethodAttribute;
  }
}

MadStatus SubnetAgent::node_info(const Request& request, std::uint32_t modifier,
                                 MutableBytes data) {
  if (request.set) return MadStatus::kBadMethodAttribute;
  if (modifier != 0) return MadStatus::kInvalidValue;
  wire::NodeInfo info = node_.node_info(request.arrival);
  info.local_port = request.arrival;
  info.write(data);
  return MadStatus::kOk;
}

MadStatus SubnetAgent::node_description(const Request& request, std::uint32_t modifier,
                                        MutableBytes data) {
  if (request.set) return MadStatus::kBadMethodAttribute;
  if (modifier != 0) return MadStatus::kInvalidValue;
  node_.node_description().write(data);
  return MadStatus::kOk;
}

MadStatus SubnetAgent::switch_info(const Request& request, std::uint32_t modifier,
                                   MutableBytes data) {
  if (!is_switch()) return MadStatus::kBadMethodAttribute;
  if (modifier != 0) return MadStatus::kInvalidValue;
  wire::SwitchInfo info = node_.switch_info();
  if (request.set) {
    const wire::SwitchInfo asked = *wire::SwitchInfo::parse(data);
    const std::uint32_t multicast_end = wire::MulticastBlock::kFirstLid + info.multicast_cap;
    const std::uint16_t top = asked.multicast_top.value();
    if (asked.linear_top != info.linear_top && asked.linear_top.value() >= info.linear_cap) {
      return MadStatus::kInvalidValue;
    }
    // 0: not given. One below the first: there are no groups.
    if (top != 0 && (top < wire::MulticastBlock::kFirstLid - 1 || top >= multicast_end)) {
      return MadStatus::kInvalidValue;
    }
    info.linear_top = asked.linear_top;
    info.multicast_top = asked.multicast_top;
    info.default_port = asked.default_port;
    info.default_multicast_primary_port = asked.default_multicast_primary_port;
    info.default_multicast_not_primary_port = asked.default_multicast_not_primary_port;
    info.life_time = asked.life_time;
    if (asked.port_state_change) info.port_state_change = false;  // written as 1 to clear it
    node_.set_switch_info(info);
  }
  info.write(data);
  return MadStatus::kOk;
}

MadStatus SubnetAgent::port_info(const Request& request, std::uint32_t modifier, MutableBytes data,
                                 Time now) {
  const std::uint32_t number = modifier & ~kManagerKnowsExtendedSpeeds;
  const wire::NodeInfo node = node_.node_info(request.arrival);
  if (number > node.ports) return MadStatus::kInvalidValue;
  const bool switched = node.type == wire::NodeType::kSwitch;
  auto port = static_cast<PortNumber>(number);
  if (!switched && port == 0) port = request.arrival;
  bool reregister = false;
  if (request.set) {
    PortKind kind = switched ? PortKind::kExternal : PortKind::kEnd;
    if (switched && port == 0) {
      kind = node_.switch_info().enhanced_port0 ? PortKind::kEnhancedPort0 : PortKind::kBasePort0;
    }
    const wire::PortInfo asked = *wire::PortInfo::parse(data);
    const auto change = check_port_info(node_.port_info(port), asked, kind);
    if (!change) return MadStatus::kInvalidValue;
    reregister = change->info.client_reregister;
    node_.set_port_info(port, change->info, now);
    if (change->state != wire::PortState::kNoChange) {
      node_.set_port_state(port, change->state, now);
    }
    if (change->physical_state != wire::PortPhysicalState::kNoChange) {
      node_.set_physical_state(port, change->physical_state, now);
    }
  }
  wire::PortInfo info = node_.port_info(port);
  info.local_port = request.arrival;
  info.client_reregister = reregister;  // o14-12.2.1: the answer shows that it was taken
  if (request.veil_mkey) info.mkey = 0;
  if (request.is_sm && port == own_port(request)) info.capability_mask |= wire::kCapSm;
  info.write(data);
  return MadStatus::kOk;
}

MadStatus SubnetAgent::led_info(const Request& request, std::uint32_t modifier, MutableBytes data) {
  const PortNumber own = own_port(request);
  if ((node_.port_info(own).capability_mask & wire::kCapLedInfo) == 0) {
    return MadStatus::kBadMethodAttribute;
  }
  if (modifier != 0) return MadStatus::kInvalidValue;
  if (request.set) node_.set_led(request.arrival, (wire::load_be32(data.data()) & kLedOn) != 0);
  wire::store_be32(data.data(), node_.led(request.arrival) ? kLedOn : 0);
  return MadStatus::kOk;
}

}  // namespace weft::mgmt
