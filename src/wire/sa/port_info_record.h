// SPDX-License-Identifier: Apache-2.0
// PortInfoRecord, IBA 15.2.5.3: the PortInfo of a port.
//
//   0-1 EndportLID  2 PortNum  3 Options  4-67 PortInfo
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"
#include "wire/sa/sa_header.h"
#include "wire/sm/port_info.h"

namespace weft::wire {

struct PortInfoRecord {
  static constexpr auto kAttributeId = static_cast<std::uint16_t>(SaAttribute::kPortInfoRecord);
  static constexpr std::size_t kSize = 68;

  // Bits of the ComponentMask of a question.
  static constexpr std::uint64_t kHasLid = 1u << 0;
  static constexpr std::uint64_t kHasPort = 1u << 1;

  Lid lid{};
  std::uint8_t port = 0;
  std::uint8_t options = 0;
  PortInfo info{};

  friend bool operator==(const PortInfoRecord&, const PortInfoRecord&) = default;

  [[nodiscard]] static std::optional<PortInfoRecord> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return PortInfoRecord{.lid = Lid{load_be16(at)},
                          .port = load_u8(at + 2),
                          .options = load_u8(at + 3),
                          .info = *PortInfo::parse(bytes.subspan(4))};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    store_be16(out.data(), lid.value());
    store_u8(out.data() + 2, port);
    store_u8(out.data() + 3, options);
    info.write(out.subspan(4));
  }
};

}  // namespace weft::wire
