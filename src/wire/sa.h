// SPDX-License-Identifier: Apache-2.0
// The header of subnet administration, IBA 15.2.1.1: behind the RMPP header, before 200 bytes of
// data.
//
//   36-43 SM_Key  44-45 AttributeOffset (size of a record in 8 bytes)  46-47 rsv
//   48-55 ComponentMask (bit 0 is the lowest of byte 55)  56-255 data
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wire {

inline constexpr std::uint8_t kSaClassVersion = 2;

struct SaHeader {
  static constexpr std::size_t kOffset = 36;
  static constexpr std::size_t kSize = 20;
  static constexpr std::size_t kDataOffset = 56;
  static constexpr std::size_t kDataSize = 200;

  std::uint64_t sm_key = 0;
  std::uint16_t attribute_offset = 0;  // 8 bytes each
  std::uint64_t component_mask = 0;

  friend bool operator==(const SaHeader&, const SaHeader&) = default;

  // `mad` is the whole datagram, or a message that begins like one.
  [[nodiscard]] static std::optional<SaHeader> parse(Bytes mad) {
    if (mad.size() < kOffset + kSize) return std::nullopt;
    const std::byte* at = mad.data() + kOffset;
    return SaHeader{.sm_key = load_be64(at),
                    .attribute_offset = load_be16(at + 8),
                    .component_mask = load_be64(at + 12)};
  }

  void write(MutableBytes mad) const {
    assert(mad.size() >= kOffset + kSize);
    std::byte* at = mad.data() + kOffset;
    store_be64(at, sm_key);
    store_be16(at + 8, attribute_offset);
    store_be16(at + 10, 0);
    store_be64(at + 12, component_mask);
  }
};

}  // namespace weft::wire
