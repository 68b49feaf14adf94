// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/attach_facts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "base/fixed_text.h"
#include "wire/endian.h"

namespace weft::daemon {
namespace {

using namespace port::attach;

using RawGid = std::array<std::uint8_t, 16>;

RawGid gid_of(std::uint64_t prefix, Guid guid) {
  RawGid out{};
  auto* const bytes = reinterpret_cast<std::byte*>(out.data());
  wire::store_be64(bytes, prefix);
  wire::store_be64(bytes + sizeof prefix, guid.value());
  return out;
}

// IBA 4.1.1: the subnet's prefix before each of the port's GUIDs.
std::vector<RawGid> gids_of(const fabric::ChannelAdapter& adapter, mgmt::PortNumber port,
                            const wire::PortInfo& info) {
  std::vector<RawGid> out;
  const std::size_t size = std::min<std::size_t>(info.guid_cap, kMostGids);
  for (std::uint8_t block = 0; out.size() < size; ++block) {
    for (const Guid guid : adapter.guids(port, block).guids) {
      if (out.size() == size) break;
      out.push_back(guid == Guid{} ? RawGid{} : gid_of(info.gid_prefix, guid));
    }
  }
  while (!out.empty() && out.back() == RawGid{})
    out.pop_back();
  return out;
}

std::vector<std::uint16_t> pkeys_of(const fabric::ChannelAdapter& adapter, mgmt::PortNumber port) {
  std::vector<std::uint16_t> out;
  const std::size_t size = std::min<std::size_t>(adapter.node_info(port).partition_cap, kMostPkeys);
  for (std::uint16_t block = 0; out.size() < size; ++block) {
    for (const PKey pkey : adapter.pkeys(port, block).pkeys) {
      if (out.size() < size) out.push_back(pkey.value());
    }
  }
  while (!out.empty() && out.back() == 0)
    out.pop_back();
  return out;
}

template <class T>
void append(std::vector<std::byte>& out, std::span<const T> what) {
  const Bytes bytes = std::as_bytes(what);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

Welcome program_welcome(const fabric::ChannelAdapter& adapter) {
  const wire::NodeInfo info = adapter.node_info(1);
  Welcome out{};
  out.ports = info.ports;
  out.vendor_id = info.vendor_id;
  out.part_id = info.device_id;
  out.hardware = info.revision;
  out.node_guid = info.node_guid.value();
  out.system_guid = info.system_image_guid.value();
  write_text(out.firmware, WEFT_VERSION);
  const auto& description = adapter.node_description().text;
  write_text(out.description,
             std::string_view(description.data(), strnlen(description.data(), description.size())));
  return out;
}

std::vector<std::byte> program_facts(const fabric::ChannelAdapter& adapter, mgmt::PortNumber port,
                                     std::uint32_t epoch, std::uint32_t events) {
  const wire::PortInfo info = adapter.port_info(port);
  const std::vector<RawGid> gids = gids_of(adapter, port, info);
  const std::vector<std::uint16_t> pkeys = pkeys_of(adapter, port);
  Facts facts{};
  facts.kind = kFacts;
  facts.port = port;
  facts.epoch = epoch;
  facts.events = events;
  facts.capabilities = info.capability_mask;
  facts.lid = info.lid.value();
  facts.sm_lid = info.master_sm_lid.value();
  facts.lmc = info.lmc;
  facts.sm_sl = info.master_sm_sl.value();
  facts.state = static_cast<std::uint8_t>(info.state);
  facts.physical_state = static_cast<std::uint8_t>(info.physical_state);
  facts.mtu_cap = info.mtu_cap;
  facts.neighbor_mtu = info.neighbor_mtu;
  facts.width_active = info.link_width_active;
  facts.speed_active = info.link_speed_active;
  facts.speed_ext_active = info.link_speed_ext_active;
  facts.operational_vls = info.operational_vls;
  facts.subnet_timeout = info.subnet_timeout;
  facts.init_type_reply = info.init_type_reply;
  facts.vl_cap = info.vl_cap;
  facts.pkey_violations = info.pkey_violations;
  facts.qkey_violations = info.qkey_violations;
  facts.gids = static_cast<std::uint16_t>(gids.size());
  facts.pkeys = static_cast<std::uint16_t>(pkeys.size());
  facts.gid_prefix = info.gid_prefix;
  std::vector<std::byte> out;
  append(out, std::span<const Facts>(&facts, 1));
  append(out, std::span<const RawGid>(gids));
  append(out, std::span<const std::uint16_t>(pkeys));
  return out;
}

}  // namespace weft::daemon
