// SPDX-License-Identifier: Apache-2.0
#include "umad/adapter_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/fixed_text.h"
#include "io/tree_writer.h"

namespace weft::umad {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMadAbiVersion = "5";  // of the kernel's umad interface

// PortState and PortPhysicalState, IBA 14.2.5.6, as sysfs words them.
constexpr std::array<std::string_view, 5> kStates{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE"};
constexpr std::array<std::string_view, 8> kPhysicalStates{
    "<unknown>",         "Sleep",   "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
    "LinkErrorRecovery", "Phy Test"};

struct Speed {
  std::uint32_t mbps;
  std::string_view name;
};
constexpr std::array kSpeeds{Speed{2500, "SDR"},   Speed{5000, "DDR"},   Speed{10'000, "QDR"},
                             Speed{14'000, "FDR"}, Speed{25'000, "EDR"}, Speed{50'000, "HDR"},
                             Speed{100'000, "NDR"}};

template <std::size_t kSize>
std::string numbered(const std::array<std::string_view, kSize>& names, std::uint32_t code) {
  return fmt::format("{}: {}", code, code < kSize ? names[code] : "<unknown>");
}

// In groups of four digits, as sysfs prints GUIDs and GIDs.
std::string grouped(std::uint64_t value) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", value >> 48, value >> 32 & 0xFFFF,
                     value >> 16 & 0xFFFF, value & 0xFFFF);
}

std::string rate_of(const protocol::PortFacts& port) {
  const auto speed = std::find_if(kSpeeds.begin(), kSpeeds.end(),
                                  [&](const Speed& each) { return each.mbps == port.lane_mbps; });
  return fmt::format("{:g} Gb/sec ({}X {})", port.width * port.lane_mbps / 1000.0, port.width,
                     speed == kSpeeds.end() ? "SDR" : speed->name);
}

void write_port(io::TreeWriter& tree, const fs::path& at, const Port& port) {
  const protocol::PortFacts& facts = port.facts;
  tree.file(at / "state", numbered(kStates, facts.state));
  tree.file(at / "phys_state", numbered(kPhysicalStates, facts.physical_state));
  tree.file(at / "rate", rate_of(facts));
  tree.file(at / "lid", fmt::format("{:#x}", facts.lid));
  tree.file(at / "lid_mask_count", std::to_string(facts.lmc));
  tree.file(at / "sm_lid", fmt::format("{:#x}", facts.sm_lid));
  tree.file(at / "sm_sl", std::to_string(facts.sm_sl));
  tree.file(at / "cap_mask", fmt::format("0x{:08x}", facts.capabilities));
  tree.file(at / "link_layer", "InfiniBand");
  tree.file(at / "gids" / "0", grouped(facts.gid_prefix) + ":" + grouped(facts.guid));
  tree.file(at / "gid_attrs" / "types" / "0", "IB/RoCE v1");
  for (std::size_t i = 0; i < port.pkeys.size(); ++i)
    tree.file(at / "pkeys" / std::to_string(i), fmt::format("0x{:04x}", port.pkeys[i]));
}

}  // namespace

Expected<void> write_adapter_tree(const fs::path& root, const Adapter& adapter,
                                  std::string_view description) {
  const fs::path classes = root / "sys" / "class";
  const std::string name(text_in(adapter.facts.adapter));
  const bool is_switch = adapter.facts.node_type == 2;
  io::TreeWriter tree;
  for (const char* each : {"infiniband", "infiniband_mad"}) {
    tree.remove(classes / each);
    tree.directory(classes / each);
  }
  const fs::path at = classes / "infiniband" / name;
  tree.file(at / "node_type",
            fmt::format("{}: {}", adapter.facts.node_type, is_switch ? "switch" : "CA"));
  tree.file(at / "node_guid", grouped(adapter.facts.node_guid));
  tree.file(at / "sys_image_guid", grouped(adapter.facts.system_guid));
  tree.file(at / "node_desc", description);
  tree.file(at / "fw_ver", text_in(adapter.facts.firmware));
  tree.file(at / "hca_type", text_in(adapter.facts.type));
  tree.file(at / "hw_rev", text_in(adapter.facts.hardware));
  tree.file(classes / "infiniband_mad" / "abi_version", kMadAbiVersion);
  for (std::size_t i = 0; i < adapter.ports.size(); ++i) {
    const std::string number = std::to_string(adapter.ports[i].facts.number);
    write_port(tree, at / "ports" / number, adapter.ports[i]);
    const fs::path mad = classes / "infiniband_mad" / fmt::format("umad{}", i);
    tree.file(mad / "ibdev", name);
    tree.file(mad / "port", number);
  }
  return tree.result();
}

}  // namespace weft::umad
