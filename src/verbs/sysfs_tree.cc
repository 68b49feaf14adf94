// SPDX-License-Identifier: Apache-2.0
#include "verbs/sysfs_tree.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "io/tree_writer.h"
#include "verbs/port_rate.h"

namespace weft::verbs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClass = "sys/class/infiniband";
constexpr const char* kVerbsClass = "sys/class/infiniband_verbs";
constexpr const char* kNodes = "dev/infiniband";
constexpr std::string_view kAbiVersion = "6";  // of the kernel's uverbs interface
constexpr std::uint32_t kSysfsTreeCapabilities =
    1u << 26 | 1u << 11;  // IP-based GIDs, system image GUID

// As the kernel prints a GUID: 0102:0304:0506:0708.
std::string guid_text(Guid guid) {
  const std::uint64_t value = guid.value();
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", value >> 48, value >> 32 & 0xFFFF,
                     value >> 16 & 0xFFFF, value & 0xFFFF);
}

// As the kernel prints a GID: eight groups in full, which inet_ntop would shorten.
std::string gid_text(const Gid& gid) {
  std::string text;
  for (std::size_t i = 0; i < 16; i += 2) {
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid.bytes()[i], gid.bytes()[i + 1]);
  }
  return text;
}

std::string_view state_text(port::LinkState state) {
  switch (state) {
    case port::LinkState::kDown:
      return "1: DOWN";
    case port::LinkState::kInit:
      return "2: INIT";
    case port::LinkState::kArmed:
      return "3: ARMED";
    case port::LinkState::kActive:
      return "4: ACTIVE";
  }
  return "0: NOP";
}

void write_port(io::TreeWriter& tree, const fs::path& at, const TreeDevice& device) {
  const port::PortAttributes& port = device.port;
  tree.file(at / "state", state_text(port.state));
  tree.file(at / "phys_state", port.link_up ? "5: LinkUp" : "3: Disabled");
  tree.file(at / "rate", to_string(link_rate(port.rate_mbps)));
  tree.file(at / "lid", "0x0");
  tree.file(at / "lid_mask_count", "0");
  tree.file(at / "sm_lid", "0x0");
  tree.file(at / "sm_sl", "0");
  tree.file(at / "cap_mask", fmt::format("0x{:08x}", kSysfsTreeCapabilities));
  tree.file(at / "link_layer", "Ethernet");
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    const std::string index = std::to_string(i);
    tree.file(at / "gids" / index, gid_text(port.gids[i].gid));
    tree.file(at / "gid_attrs" / "types" / index, "RoCE v2");
    tree.file(at / "gid_attrs" / "ndevs" / index, device.device.interface);
  }
  for (std::size_t i = 0; i < port.pkeys.size(); ++i) {
    tree.file(at / "pkeys" / std::to_string(i), fmt::format("0x{:04x}", port.pkeys[i].value()));
  }
  tree.directory(at / "counters");
}

void write_device(io::TreeWriter& tree, const fs::path& at, const TreeDevice& device) {
  tree.file(at / "node_type", "1: CA");
  tree.file(at / "node_guid", guid_text(device.device.node_guid));
  tree.file(at / "sys_image_guid", guid_text(device.device.node_guid));
  tree.file(at / "node_desc", device.device.name);
  tree.file(at / "fw_ver", WEFT_VERSION);
  tree.file(at / "hca_type", "weft");
  tree.file(at / "board_id", "weft");
  tree.file(at / "hw_rev", "0x0");
  tree.link(at / "device" / "net" / device.device.interface,
            fs::path("/sys/class/net") / device.device.interface);
  write_port(tree, at / "ports" / "1", device);
}

void write_node(io::TreeWriter& tree, const fs::path& root, std::size_t i,
                const std::string& name) {
  const std::string uverbs = fmt::format("uverbs{}", i);
  const fs::path verbs = root / kVerbsClass / uverbs;
  tree.file(verbs / "ibdev", name);
  tree.file(verbs / "dev", "1:3");  // /dev/null's numbers, which the node below leads to
  tree.file(verbs / "abi_version", "1");
  tree.link(root / kNodes / uverbs, "/dev/null");
}

void begin_nodes(io::TreeWriter& tree, const fs::path& root) {
  for (const char* const path : {kVerbsClass, kNodes}) {
    tree.remove(root / path);
    tree.directory(root / path);
  }
  tree.file(root / kVerbsClass / "abi_version", kAbiVersion);
}

}  // namespace

Expected<void> write_sysfs_tree(const fs::path& root, std::span<const TreeDevice> devices) {
  const fs::path all = root / kClass;
  io::TreeWriter tree;
  tree.remove(all);
  tree.directory(all);
  begin_nodes(tree, root);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    write_node(tree, root, i, devices[i].device.name);
    write_device(tree, all / devices[i].device.name, devices[i]);
  }
  return tree.result();
}

Expected<void> write_verbs_nodes(const fs::path& root, std::span<const host::DeviceInfo> devices) {
  io::TreeWriter tree;
  begin_nodes(tree, root);
  for (std::size_t i = 0; i < devices.size(); ++i)
    write_node(tree, root, i, devices[i].name);
  return tree.result();
}

}  // namespace weft::verbs
