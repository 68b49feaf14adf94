// SPDX-License-Identifier: Apache-2.0
// TraceRecord, IBA 15.2.5.19: one of the nodes that a path goes through.
//
//   0-7 GIDPrefix  8-9 IDGeneration  10 rsv  11 NodeType  12-19 NodeID  20-27 ChassisID
//   28-35 EntryPortID  36-43 ExitPortID  44 EntryPort  45 ExitPort
#pragma once

#include <cassert>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"
#include "wire/sm/node_info.h"

namespace weft::wire {

struct TraceRecord {
  static constexpr std::size_t kSize = 48;  // as records follow each other

  std::uint64_t gid_prefix = 0;
  std::uint16_t id_generation = 0;  // IDs of one generation can be compared with each other
  NodeType node_type{};
  std::uint64_t node = 0;
  std::uint64_t chassis = 0;        // 0: not known
  std::uint64_t entry_port_id = 0;  // 0: the path begins here
  std::uint64_t exit_port_id = 0;   // 0: it ends here
  std::uint8_t entry_port = 0;
  std::uint8_t exit_port = 0;

  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;

  [[nodiscard]] static std::optional<TraceRecord> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return TraceRecord{.gid_prefix = load_be64(at),
                       .id_generation = load_be16(at + 8),
                       .node_type = static_cast<NodeType>(load_u8(at + 11)),
                       .node = load_be64(at + 12),
                       .chassis = load_be64(at + 20),
                       .entry_port_id = load_be64(at + 28),
                       .exit_port_id = load_be64(at + 36),
                       .entry_port = load_u8(at + 44),
                       .exit_port = load_u8(at + 45)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    std::memset(at, 0, kSize);
    store_be64(at, gid_prefix);
    store_be16(at + 8, id_generation);
    store_u8(at + 11, static_cast<std::uint8_t>(node_type));
    store_be64(at + 12, node);
    store_be64(at + 20, chassis);
    store_be64(at + 28, entry_port_id);
    store_be64(at + 36, exit_port_id);
    store_u8(at + 44, entry_port);
    store_u8(at + 45, exit_port);
  }
};

}  // namespace weft::wire
