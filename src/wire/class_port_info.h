// SPDX-License-Identifier: Apache-2.0
// ClassPortInfo, IBA 13.4.8.1: what the agent of a class can do. Where requests are redirected to
// and traps are sent to (bytes 8 to 71) is left zero: neither is done here.
//
//   byte 0 BaseVersion  1 ClassVersion  2-3 CapabilityMask  4-7 CapabilityMask2(27)
//   RespTimeValue(5)
#pragma once

#include <cassert>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

inline constexpr std::uint16_t kClassPortInfoId = 0x0001;  // of every class but subnet management

struct ClassPortInfo {
  static constexpr std::size_t kSize = 72;

  std::uint8_t base_version = 1;
  std::uint8_t class_version = 1;
  std::uint16_t capability_mask = 0;
  std::uint32_t capability_mask2 = 0;  // 27 bits
  std::uint8_t response_time = 0;      // 5 bits: 4.096 us * 2^n

  friend bool operator==(const ClassPortInfo&, const ClassPortInfo&) = default;

  [[nodiscard]] static std::optional<ClassPortInfo> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    const std::uint32_t word = load_be32(at + 4);
    return ClassPortInfo{.base_version = load_u8(at),
                         .class_version = load_u8(at + 1),
                         .capability_mask = load_be16(at + 2),
                         .capability_mask2 = word >> 5,
                         .response_time = static_cast<std::uint8_t>(word & 0x1F)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    std::memset(at, 0, kSize);
    store_u8(at, base_version);
    store_u8(at + 1, class_version);
    store_be16(at + 2, capability_mask);
    store_be32(at + 4, capability_mask2 << 5 | (response_time & 0x1Fu));
  }
};

}  // namespace weft::wire
