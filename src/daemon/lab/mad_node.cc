// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/mad_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "base/fixed_text.h"
#include "base/plain_bytes.h"

namespace weft::daemon {
namespace {

using umad::protocol::PortFacts;
using umad::protocol::Welcome;

constexpr std::string_view kAdapterName = "weft0";

struct Code {
  std::uint8_t code;
  std::uint32_t value;
};

// LinkWidthActive and LinkSpeed(Ext)Active, IBA 14.2.5.6; speeds as they are called, which for FDR
// and later is less than what the lane does.
constexpr std::array kWidths{Code{1, 1}, Code{2, 4}, Code{4, 8}, Code{8, 12}, Code{16, 2}};
constexpr std::array kSpeeds{Code{1, 2500}, Code{2, 5000}, Code{4, 10'000}};
constexpr std::array kExtendedSpeeds{Code{1, 14'000}, Code{2, 25'000}, Code{4, 50'000}};

template <std::size_t kSize>
std::uint32_t value_of(const std::array<Code, kSize>& codes, std::uint8_t code,
                       std::uint32_t otherwise) {
  const auto found = std::find_if(codes.begin(), codes.end(),
                                  [code](const Code& each) { return each.code == code; });
  return found == codes.end() ? otherwise : found->value;
}

bool is_switch(const MadNode& node) {
  return node.node->node_info(0).type == wire::NodeType::kSwitch;
}

}  // namespace

std::vector<mgmt::PortNumber> mad_ports(const MadNode& node) {
  if (is_switch(node)) return {0};
  const std::size_t count =
      std::min<std::size_t>(node.node->node_info(0).ports, umad::protocol::kMostPorts);
  std::vector<mgmt::PortNumber> out;
  for (std::size_t port = 1; port <= count; ++port)
    out.push_back(static_cast<mgmt::PortNumber>(port));
  return out;
}

Expected<mgmt::PortNumber> check_mad_port(const MadNode& node, std::string_view name,
                                          std::uint32_t port) {
  const std::vector<mgmt::PortNumber> ports = mad_ports(node);
  if (port >= ports.front() && port <= ports.back()) return static_cast<mgmt::PortNumber>(port);
  return fail(std::errc::invalid_argument,
              is_switch(node)
                  ? fmt::format("port {}: switch {} is managed through port 0", port, name)
                  : fmt::format("port {}: node {} has ports 1 to {}", port, name, ports.back()));
}

Welcome adapter_facts(const MadNode& node) {
  const wire::NodeInfo info = node.node->node_info(mad_ports(node).front());
  Welcome out{};
  write_text(out.adapter, kAdapterName);
  write_text(out.type, "Weft");
  write_text(out.firmware, WEFT_VERSION);
  write_text(out.hardware, fmt::format("{:#x}", info.revision));
  out.node_type = static_cast<std::uint32_t>(info.type);
  out.node_guid = info.node_guid.value();
  out.system_guid = info.system_image_guid.value();
  return out;
}

PortFacts port_facts(const MadNode& node, mgmt::PortNumber port) {
  const wire::PortInfo info = node.management->port_info(port);
  PortFacts out{};
  out.number = port;
  out.lid = info.lid.value();
  out.lmc = info.lmc;
  out.sm_lid = info.master_sm_lid.value();
  out.sm_sl = info.master_sm_sl.value();
  out.state = static_cast<std::uint32_t>(info.state);
  out.physical_state = static_cast<std::uint32_t>(info.physical_state);
  out.width = value_of(kWidths, info.link_width_active, 1);
  out.lane_mbps = value_of(kExtendedSpeeds, info.link_speed_ext_active,
                           value_of(kSpeeds, info.link_speed_active, 2500));
  out.capabilities = info.capability_mask;
  out.gid_prefix = info.gid_prefix;
  out.guid = node.node->guids(port, 0).guids[0].value();
  return out;
}

std::vector<std::uint16_t> port_pkeys(const MadNode& node, mgmt::PortNumber port) {
  const std::size_t size =
      std::min<std::size_t>(node.node->node_info(port).partition_cap, umad::protocol::kMostPkeys);
  std::vector<std::uint16_t> out;
  for (std::uint16_t block = 0; out.size() < size; ++block) {
    for (const PKey pkey : node.node->pkeys(port, block).pkeys) {
      if (out.size() < size) out.push_back(pkey.value());
    }
  }
  return out;
}

std::vector<std::vector<std::byte>> description_of(const MadNode& node) {
  const std::vector<mgmt::PortNumber> ports = mad_ports(node);
  Welcome welcome = adapter_facts(node);
  welcome.ports = static_cast<std::uint32_t>(ports.size());
  const Bytes first = plain::bytes_of(welcome);
  std::vector<std::vector<std::byte>> out{{first.begin(), first.end()}};
  for (const mgmt::PortNumber port : ports) {
    PortFacts facts = port_facts(node, port);
    const std::vector<std::uint16_t> pkeys = port_pkeys(node, port);
    facts.pkeys = static_cast<std::uint32_t>(pkeys.size());
    const Bytes head = plain::bytes_of(facts);
    const Bytes tail = std::as_bytes(std::span(pkeys));
    std::vector<std::byte> message(head.begin(), head.end());
    message.insert(message.end(), tail.begin(), tail.end());
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace weft::daemon
