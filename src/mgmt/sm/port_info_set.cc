// SPDX-License-Identifier: Apache-2.0
#include "mgmt/sm/port_info_set.h"

#include "wire/sm/tables.h"

namespace weft::mgmt {
namespace {

using wire::PortInfo;
using wire::PortPhysicalState;
using wire::PortState;

bool is_unicast(Lid lid) {
  return lid.value() != 0 && lid.value() < wire::MulticastBlock::kFirstLid;
}

// One of a set of bits: 0 changes nothing, `all` stands for all that is supported.
bool merge_mask(std::uint8_t& value, std::uint8_t asked, std::uint8_t supported, std::uint8_t all) {
  if (asked == 0 || asked == value) return true;
  if (asked == all) {
    value = supported;
    return true;
  }
  if ((asked & ~supported) != 0) return false;
  value = asked;
  return true;
}

// LIDs and what belongs to the manager.
bool merge_addresses(PortInfo& info, const PortInfo& asked, PortKind kind) {
  if (kind == PortKind::kExternal) return true;  // these are port 0's
  if (asked.lid != info.lid && !is_unicast(asked.lid)) return false;
  if (asked.master_sm_lid != info.master_sm_lid && !is_unicast(asked.master_sm_lid)) return false;
  if (kind == PortKind::kBasePort0 && asked.lmc != 0) return false;
  info.lid = asked.lid;
  info.lmc = asked.lmc;
  info.master_sm_lid = asked.master_sm_lid;
  info.master_sm_sl = asked.master_sm_sl;
  info.gid_prefix = asked.gid_prefix;
  info.mkey = asked.mkey;
  info.mkey_lease_period = asked.mkey_lease_period;
  info.mkey_protect = asked.mkey_protect;
  info.subnet_timeout = asked.subnet_timeout;
  info.client_reregister = asked.client_reregister;
  info.multicast_pkey_trap_suppression = asked.multicast_pkey_trap_suppression;
  info.init_type_reply = asked.init_type_reply;
  return true;
}

bool merge_link(PortInfo& info, const PortInfo& asked) {
  if (!merge_mask(info.link_width_enabled, asked.link_width_enabled, info.link_width_supported,
                  PortInfo::kAllSupportedWidths) ||
      !merge_mask(info.link_speed_enabled, asked.link_speed_enabled, info.link_speed_supported,
                  PortInfo::kAllSupportedSpeeds)) {
    return false;
  }
  if (asked.link_speed_ext_enabled == PortInfo::kNoExtSpeeds) {
    info.link_speed_ext_enabled = PortInfo::kNoExtSpeeds;
  } else if (!merge_mask(info.link_speed_ext_enabled, asked.link_speed_ext_enabled,
                         info.link_speed_ext_supported, PortInfo::kAllSupportedExtSpeeds)) {
    return false;
  }
  const PortPhysicalState down = asked.link_down_default;
  if (down == PortPhysicalState::kSleep || down == PortPhysicalState::kPolling) {
    info.link_down_default = down;
  } else if (down != PortPhysicalState::kNoChange) {
    return false;
  }
  if (asked.neighbor_mtu != info.neighbor_mtu) {
    if (asked.neighbor_mtu == 0 || asked.neighbor_mtu > info.mtu_cap) return false;
    info.neighbor_mtu = asked.neighbor_mtu;
  }
  if (asked.operational_vls != 0 && asked.operational_vls != info.operational_vls) {
    if (asked.operational_vls > info.vl_cap) return false;
    info.operational_vls = asked.operational_vls;
  }
  info.vl_high_limit = asked.vl_high_limit;
  info.vl_stall_count = asked.vl_stall_count;
  info.hoq_life = asked.hoq_life;
  info.local_phy_errors = asked.local_phy_errors;
  info.overrun_errors = asked.overrun_errors;
  return true;
}

// Counters of violations are set to zero or left alone.
void merge_violations(PortInfo& info, const PortInfo& asked) {
  if (asked.mkey_violations == 0) info.mkey_violations = 0;
  if (asked.pkey_violations == 0) info.pkey_violations = 0;
  if (asked.qkey_violations == 0) info.qkey_violations = 0;
}

// The states of IBA 7.2.7 that a Set may ask for, from where it may.
bool check_states(const PortInfo& present, const PortInfo& asked, PortInfoChange& change) {
  switch (asked.state) {
    case PortState::kNoChange:
    case PortState::kDown:
      break;
    case PortState::kArmed:
      if (present.state != PortState::kInitialize && present.state != PortState::kArmed) {
        return false;
      }
      break;
    case PortState::kActive:
      if (present.state != PortState::kArmed && present.state != PortState::kActive) return false;
      break;
    default:
      return false;
  }
  switch (asked.physical_state) {
    case PortPhysicalState::kNoChange:
      break;
    case PortPhysicalState::kSleep:
    case PortPhysicalState::kPolling:
    case PortPhysicalState::kDisabled:
      // Only with a link that goes down, or stays as it is.
      if (asked.state == PortState::kArmed || asked.state == PortState::kActive) return false;
      break;
    default:
      return false;
  }
  if (asked.state != present.state) change.state = asked.state;
  // Down from Down starts the physical layer anew.
  if (asked.state == PortState::kDown) change.state = asked.state;
  change.physical_state = asked.physical_state;
  return true;
}

}  // namespace

std::optional<PortInfoChange> check_port_info(const PortInfo& present, const PortInfo& asked,
                                              PortKind kind) {
  PortInfoChange change{.info = present};
  change.info.client_reregister = false;
  if (!merge_addresses(change.info, asked, kind)) return std::nullopt;
  merge_violations(change.info, asked);
  if (kind == PortKind::kBasePort0 || kind == PortKind::kEnhancedPort0) return change;
  if (!merge_link(change.info, asked)) return std::nullopt;
  if (kind == PortKind::kExternal) {
    change.info.enforce_partition_inbound = asked.enforce_partition_inbound;
    change.info.enforce_partition_outbound = asked.enforce_partition_outbound;
    change.info.filter_raw_inbound = asked.filter_raw_inbound;
    change.info.filter_raw_outbound = asked.filter_raw_outbound;
  }
  if (!check_states(present, asked, change)) return std::nullopt;
  return change;
}

}  // namespace weft::mgmt
