// SPDX-License-Identifier: Apache-2.0
// NodeInfo and NodeDescription, IBA 14.2.5.2 and 14.2.5.3: what a node is, and its name.
//
//   byte 0 BaseVersion  1 ClassVersion  2 NodeType  3 NumPorts  4-11 SystemImageGUID
//   12-19 NodeGUID  20-27 PortGUID  28-29 PartitionCap  30-31 DeviceID  32-35 Revision
//   36 LocalPortNum  37-39 VendorID
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

enum class NodeType : std::uint8_t { kChannelAdapter = 1, kSwitch = 2, kRouter = 3 };

struct NodeInfo {
  static constexpr std::size_t kSize = 40;

  std::uint8_t base_version = 1;
  std::uint8_t class_version = 1;
  NodeType type{};
  std::uint8_t ports = 0;  // physical ones
  Guid system_image_guid{};
  Guid node_guid{};
  Guid port_guid{};                 // of the port where the request came in
  std::uint16_t partition_cap = 0;  // entries of the P_Key table of each port (switch: of port 0)
  std::uint16_t device_id = 0;
  std::uint32_t revision = 0;
  std::uint8_t local_port = 0;  // where the request came in
  std::uint32_t vendor_id = 0;  // 24 bits: an OUI

  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;

  [[nodiscard]] static std::optional<NodeInfo> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return NodeInfo{.base_version = load_u8(at),
                    .class_version = load_u8(at + 1),
                    .type = static_cast<NodeType>(load_u8(at + 2)),
                    .ports = load_u8(at + 3),
                    .system_image_guid = Guid{load_be64(at + 4)},
                    .node_guid = Guid{load_be64(at + 12)},
                    .port_guid = Guid{load_be64(at + 20)},
                    .partition_cap = load_be16(at + 28),
                    .device_id = load_be16(at + 30),
                    .revision = load_be32(at + 32),
                    .local_port = load_u8(at + 36),
                    .vendor_id = load_be24(at + 37)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_u8(at, base_version);
    store_u8(at + 1, class_version);
    store_u8(at + 2, static_cast<std::uint8_t>(type));
    store_u8(at + 3, ports);
    store_be64(at + 4, system_image_guid.value());
    store_be64(at + 12, node_guid.value());
    store_be64(at + 20, port_guid.value());
    store_be16(at + 28, partition_cap);
    store_be16(at + 30, device_id);
    store_be32(at + 32, revision);
    store_u8(at + 36, local_port);
    store_be24(at + 37, vendor_id);
  }
};

// 64 bytes of UTF-8; shorter names are filled with zeros, one of 64 bytes has none.
struct NodeDescription {
  static constexpr std::size_t kSize = 64;

  std::array<char, kSize> text{};

  friend bool operator==(const NodeDescription&, const NodeDescription&) = default;

  NodeDescription() = default;
  explicit NodeDescription(std::string_view name) {
    std::memcpy(text.data(), name.data(), std::min(name.size(), kSize));
  }
  [[nodiscard]] std::string to_string() const { return {text.data(), strnlen(text.data(), kSize)}; }

  [[nodiscard]] static std::optional<NodeDescription> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    NodeDescription description;
    std::memcpy(description.text.data(), bytes.data(), kSize);
    return description;
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::memcpy(out.data(), text.data(), kSize);
  }
};

}  // namespace weft::wire
