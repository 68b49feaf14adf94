// SPDX-License-Identifier: Apache-2.0
// What the messages of the communication manager are made of: the body that follows the MAD header,
// fixed areas of bytes in it, and numbers that share a byte.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "wire/cm_values.h"
#include "wire/endian.h"
#include "wire/mad.h"

namespace weft::wire {

inline constexpr std::uint8_t kCmClassVersion = 2;                       // IBA 16.7.1
inline constexpr std::size_t kCmBodySize = kMadSize - MadHeader::kSize;  // of every message

template <std::size_t kBytes>
using CmArea = std::array<std::byte, kBytes>;

namespace detail {

// `kBits` of a byte, the lowest being bit `kShift`.
template <unsigned kShift, unsigned kBits>
[[nodiscard]] constexpr std::uint8_t bits(std::uint8_t byte) {
  static_assert(kShift + kBits <= 8);
  return static_cast<std::uint8_t>(byte >> kShift & ((1u << kBits) - 1));
}

// A value of `kBits` in its place in a byte.
template <unsigned kShift, unsigned kBits>
[[nodiscard]] constexpr std::uint8_t placed(unsigned value) {
  static_assert(kShift + kBits <= 8);
  return static_cast<std::uint8_t>((value & ((1u << kBits) - 1)) << kShift);
}

template <std::size_t kBytes>
[[nodiscard]] inline CmArea<kBytes> load_area(const std::byte* at) {
  CmArea<kBytes> area;
  std::memcpy(area.data(), at, kBytes);
  return area;
}

template <std::size_t kBytes>
inline void store_area(std::byte* at, const CmArea<kBytes>& area) {
  std::memcpy(at, area.data(), kBytes);
}

// A body with every byte zero, so that reserved fields are.
[[nodiscard]] inline std::byte* cleared(MutableBytes out) {
  assert(out.size() >= kCmBodySize);
  std::memset(out.data(), 0, kCmBodySize);
  return out.data();
}

}  // namespace detail
}  // namespace weft::wire
