// SPDX-License-Identifier: Apache-2.0
#include "host/device_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string_view>

#include "io/net_interfaces.h"
#include "port/ring/node_attachment.h"

namespace weft::host {
namespace {

constexpr const char* kAdapterName = "weft0";  // as libibumad calls it

using Mac = std::array<std::uint8_t, 6>;

// EUI-64 of a MAC address, in the modified form that IPv6 interface identifiers and RoCE devices
// use: the universal/local bit is inverted (RFC 4291, appendix A).
Guid guid_from_mac(const Mac& mac) {
  const std::array<std::uint8_t, 8> eui{
      static_cast<std::uint8_t>(mac[0] ^ 0x02), mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]};
  std::uint64_t value = 0;
  for (const std::uint8_t byte : eui)
    value = value << 8 | byte;
  return Guid{value};
}

// What tells this machine from others: kept over boots if possible.
const std::string& machine_identity() {
  static const std::string identity = [] {
    std::string line;
    for (const char* path : {"/etc/machine-id", "/proc/sys/kernel/random/boot_id"}) {
      std::ifstream file(path);
      if (file && std::getline(file, line) && !line.empty()) return line;
    }
    return line;
  }();
  return identity;
}

std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : text)
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  // FNV leaves the high bits of similar texts alike.
  value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD;
  return value ^ value >> 33;
}

// For loopback and tunnels, which have no address of their own: the same on every call in every
// process of this machine, and not in the space of addresses that vendors assign.
Guid guid_from_name(const std::string& interface) {
  constexpr std::uint64_t kUniversalAndGroup = std::uint64_t{0x03} << 56;  // both bits 0: ours
  return Guid{hash(machine_identity() + "/" + interface) & ~kUniversalAndGroup};
}

Guid node_guid(const io::NetInterface& interface) {
  return interface.mac && *interface.mac != Mac{} ? guid_from_mac(*interface.mac)
                                                  : guid_from_name(interface.name);
}

// Loopback counts even while it is down: a program then sees the port down, not the device gone.
bool is_usable(const io::NetInterface& interface) {
  if (interface.loopback) return true;
  return interface.up && std::any_of(interface.addresses.begin(), interface.addresses.end(),
                                     [](const auto& address) { return !address.tentative; });
}

int rank(const io::NetInterface& interface) {
  if (interface.loopback) return 2;
  return interface.default_route ? 0 : 1;
}

template <std::size_t kSize>
std::string text_of(const char (&field)[kSize]) {
  return {field, strnlen(field, kSize)};
}

Expected<std::vector<DeviceInfo>> list_adapter(const Config& config) {
  const auto adapter = port::describe_adapter({config.lab, config.node});
  if (!adapter) {
    if (adapter.error().code == std::errc::no_such_device) return std::vector<DeviceInfo>{};
    return tl::unexpected(adapter.error());
  }
  DeviceInfo device;
  device.name = kAdapterName;
  device.node_guid = Guid{adapter->node_guid};
  device.system_guid = Guid{adapter->system_guid};
  device.vendor_id = adapter->vendor_id;
  device.part_id = adapter->part_id;
  device.hardware = adapter->hardware;
  device.firmware = text_of(adapter->firmware);
  device.description = text_of(adapter->description);
  return std::vector{std::move(device)};
}

}  // namespace

Expected<std::vector<DeviceInfo>> list_devices(const Config& config) {
  if (!config.node.empty()) return list_adapter(config);
  auto interfaces = io::list_interfaces();
  if (!interfaces) return tl::unexpected(interfaces.error());
  std::erase_if(*interfaces, [](const auto& interface) { return !is_usable(interface); });
  std::stable_sort(interfaces->begin(), interfaces->end(),
                   [](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::vector<DeviceInfo> devices;
  std::vector<std::string> names;
  for (const io::NetInterface& interface : *interfaces) {
    names.push_back(interface.name);
    if (!config.interface.empty() && interface.name != config.interface) continue;
    devices.push_back(
        {"weft_" + interface.name, interface.name, interface.index, node_guid(interface)});
  }
  if (devices.empty() && !config.interface.empty()) {
    return fail(std::errc::no_such_device,
                fmt::format("WEFT_INTERFACE={}: no interface of that name is up and has an IP "
                            "address; there are {}",
                            config.interface, fmt::join(names, ", ")));
  }
  return devices;
}

}  // namespace weft::host
