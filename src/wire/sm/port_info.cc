// SPDX-License-Identifier: Apache-2.0
#include "wire/sm/port_info.h"

#include <cassert>
#include <cstring>

#include "wire/endian.h"

namespace weft::wire {
namespace {

constexpr std::uint8_t high(std::uint8_t byte) {
  return static_cast<std::uint8_t>(byte >> 4);
}
constexpr std::uint8_t low(std::uint8_t byte) {
  return static_cast<std::uint8_t>(byte & 0xF);
}
constexpr std::uint8_t nibbles(unsigned upper, unsigned lower) {
  return static_cast<std::uint8_t>((upper & 0xF) << 4 | (lower & 0xF));
}

void parse_link(const std::byte* at, PortInfo& info) {
  info.local_port = load_u8(at + 28);
  info.link_width_enabled = load_u8(at + 29);
  info.link_width_supported = load_u8(at + 30);
  info.link_width_active = load_u8(at + 31);
  info.link_speed_supported = high(load_u8(at + 32));
  info.state = static_cast<PortState>(low(load_u8(at + 32)));
  info.physical_state = static_cast<PortPhysicalState>(high(load_u8(at + 33)));
  info.link_down_default = static_cast<PortPhysicalState>(low(load_u8(at + 33)));
  info.link_speed_active = high(load_u8(at + 35));
  info.link_speed_enabled = low(load_u8(at + 35));
  info.neighbor_mtu = high(load_u8(at + 36));
  info.link_speed_ext_active = high(load_u8(at + 62));
  info.link_speed_ext_supported = low(load_u8(at + 62));
  info.link_speed_ext_enabled = static_cast<std::uint8_t>(load_u8(at + 63) & 0x1F);
}

void write_link(const PortInfo& info, std::byte* at) {
  store_u8(at + 28, info.local_port);
  store_u8(at + 29, info.link_width_enabled);
  store_u8(at + 30, info.link_width_supported);
  store_u8(at + 31, info.link_width_active);
  store_u8(at + 32, nibbles(info.link_speed_supported, static_cast<unsigned>(info.state)));
  store_u8(at + 33, nibbles(static_cast<unsigned>(info.physical_state),
                            static_cast<unsigned>(info.link_down_default)));
  store_u8(at + 35, nibbles(info.link_speed_active, info.link_speed_enabled));
  store_u8(at + 36, nibbles(info.neighbor_mtu, info.master_sm_sl.value()));
  store_u8(at + 62, nibbles(info.link_speed_ext_active, info.link_speed_ext_supported));
  store_u8(at + 63, static_cast<std::uint8_t>(info.link_speed_ext_enabled & 0x1F));
}

void parse_lanes(const std::byte* at, PortInfo& info) {
  info.vl_cap = high(load_u8(at + 37));
  info.init_type = low(load_u8(at + 37));
  info.vl_high_limit = load_u8(at + 38);
  info.vl_arbitration_high_cap = load_u8(at + 39);
  info.vl_arbitration_low_cap = load_u8(at + 40);
  info.init_type_reply = high(load_u8(at + 41));
  info.mtu_cap = low(load_u8(at + 41));
  info.vl_stall_count = static_cast<std::uint8_t>(load_u8(at + 42) >> 5);
  info.hoq_life = static_cast<std::uint8_t>(load_u8(at + 42) & 0x1F);
  const std::uint8_t lanes = load_u8(at + 43);
  info.operational_vls = high(lanes);
  info.enforce_partition_inbound = (lanes & 8) != 0;
  info.enforce_partition_outbound = (lanes & 4) != 0;
  info.filter_raw_inbound = (lanes & 2) != 0;
  info.filter_raw_outbound = (lanes & 1) != 0;
}

void write_lanes(const PortInfo& info, std::byte* at) {
  store_u8(at + 37, nibbles(info.vl_cap, info.init_type));
  store_u8(at + 38, info.vl_high_limit);
  store_u8(at + 39, info.vl_arbitration_high_cap);
  store_u8(at + 40, info.vl_arbitration_low_cap);
  store_u8(at + 41, nibbles(info.init_type_reply, info.mtu_cap));
  store_u8(at + 42, static_cast<std::uint8_t>(info.vl_stall_count << 5 | (info.hoq_life & 0x1F)));
  const unsigned flags = (info.enforce_partition_inbound ? 8u : 0u) |
                         (info.enforce_partition_outbound ? 4u : 0u) |
                         (info.filter_raw_inbound ? 2u : 0u) | (info.filter_raw_outbound ? 1u : 0u);
  store_u8(at + 43, nibbles(info.operational_vls, flags));
}

}  // namespace

std::optional<PortInfo> PortInfo::parse(Bytes bytes) {
  if (bytes.size() < kSize) return std::nullopt;
  const std::byte* at = bytes.data();
  PortInfo info;
  info.mkey = load_be64(at);
  info.gid_prefix = load_be64(at + 8);
  info.lid = Lid{load_be16(at + 16)};
  info.master_sm_lid = Lid{load_be16(at + 18)};
  info.capability_mask = load_be32(at + 20);
  info.diag_code = load_be16(at + 24);
  info.mkey_lease_period = load_be16(at + 26);
  parse_link(at, info);
  info.mkey_protect = static_cast<std::uint8_t>(load_u8(at + 34) >> 6);
  info.lmc = static_cast<std::uint8_t>(load_u8(at + 34) & 7);
  info.master_sm_sl = Sl{low(load_u8(at + 36))};
  parse_lanes(at, info);
  info.mkey_violations = load_be16(at + 44);
  info.pkey_violations = load_be16(at + 46);
  info.qkey_violations = load_be16(at + 48);
  info.guid_cap = load_u8(at + 50);
  const std::uint8_t times = load_u8(at + 51);
  info.client_reregister = (times & 0x80) != 0;
  info.multicast_pkey_trap_suppression = static_cast<std::uint8_t>(times >> 5 & 3);
  info.subnet_timeout = static_cast<std::uint8_t>(times & 0x1F);
  info.response_time = static_cast<std::uint8_t>(load_u8(at + 52) & 0x1F);
  info.local_phy_errors = high(load_u8(at + 53));
  info.overrun_errors = low(load_u8(at + 53));
  info.max_credit_hint = load_be16(at + 54);
  info.link_round_trip_latency = load_be24(at + 57);
  info.capability_mask2 = load_be16(at + 60);
  return info;
}

void PortInfo::write(MutableBytes out) const {
  assert(out.size() >= kSize);
  std::byte* at = out.data();
  store_be64(at, mkey);
  store_be64(at + 8, gid_prefix);
  store_be16(at + 16, lid.value());
  store_be16(at + 18, master_sm_lid.value());
  store_be32(at + 20, capability_mask);
  store_be16(at + 24, diag_code);
  store_be16(at + 26, mkey_lease_period);
  write_link(*this, at);
  store_u8(at + 34, static_cast<std::uint8_t>(mkey_protect << 6 | (lmc & 7)));
  write_lanes(*this, at);
  store_be16(at + 44, mkey_violations);
  store_be16(at + 46, pkey_violations);
  store_be16(at + 48, qkey_violations);
  store_u8(at + 50, guid_cap);
  store_u8(at + 51, static_cast<std::uint8_t>((client_reregister ? 0x80 : 0) |
                                              (multicast_pkey_trap_suppression & 3) << 5 |
                                              (subnet_timeout & 0x1F)));
  store_u8(at + 52, static_cast<std::uint8_t>(response_time & 0x1F));
  store_u8(at + 53, nibbles(local_phy_errors, overrun_errors));
  store_be16(at + 54, max_credit_hint);
  store_u8(at + 56, 0);
  store_be24(at + 57, link_round_trip_latency);
  store_be16(at + 60, capability_mask2);
}

}  // namespace weft::wire
