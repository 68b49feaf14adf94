// SPDX-License-Identifier: Apache-2.0
// NodeRecord, IBA 15.2.5.2: a port of an adapter or router that has a LID, or a switch.
//
//   0-1 LID  2-3 rsv  4-43 NodeInfo  44-107 NodeDescription
#pragma once

#include <cassert>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"
#include "wire/sa/sa_header.h"
#include "wire/sm/node_info.h"

namespace weft::wire {

struct NodeRecord {
  static constexpr auto kAttributeId = static_cast<std::uint16_t>(SaAttribute::kNodeRecord);
  static constexpr std::size_t kSize = 108;

  // Bits of the ComponentMask of a question.
  static constexpr std::uint64_t kHasLid = 1u << 0;
  static constexpr std::uint64_t kHasNodeType = 1u << 4;
  static constexpr std::uint64_t kHasNodeGuid = 1u << 7;
  static constexpr std::uint64_t kHasPortGuid = 1u << 8;

  Lid lid{};
  NodeInfo info{};
  NodeDescription description{};

  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;

  [[nodiscard]] static std::optional<NodeRecord> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    return NodeRecord{.lid = Lid{load_be16(bytes.data())},
                      .info = *NodeInfo::parse(bytes.subspan(4)),
                      .description = *NodeDescription::parse(bytes.subspan(44))};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::memset(out.data(), 0, kSize);
    store_be16(out.data(), lid.value());
    info.write(out.subspan(4));
    description.write(out.subspan(44));
  }
};

}  // namespace weft::wire
