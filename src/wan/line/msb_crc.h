// SPDX-License-Identifier: Apache-2.0
// CRCs that take the most significant bit of each byte first, as those of telecommunications do.
// Functions named *_update take and return the register, so that a CRC can be carried over several
// spans. Those of InfiniBand and Ethernet, least significant bit first, are in wire/crc.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace weft::wan {

// x^8 + x^2 + x + 1 (ITU-T I.432.1, 4.3.2), preset to zero. What is sent is its sum with
// kHecCoset.
[[nodiscard]] std::uint8_t crc8_update(std::uint8_t state, Bytes bytes);
inline constexpr std::uint8_t kHecCoset = 0x55;

// x^10 + x^9 + x^5 + x^4 + x + 1 (ITU-T I.610, 10.1), preset to zero, in the lower ten bits.
[[nodiscard]] std::uint16_t crc10_update(std::uint16_t state, Bytes bytes);

// x^16 + x^12 + x^5 + 1 (ITU-T G.7041, 6.1.1.2), preset to zero, not complemented.
[[nodiscard]] std::uint16_t crc16_msb_update(std::uint16_t state, Bytes bytes);

// 0x04C11DB7 (ITU-T I.363.5, 9.2.1.2; G.7041, 6.1.2.2.1), preset to kCrc32MsbPreset; what is sent
// is the complement, most significant byte first, and leaves kCrc32MsbResidue where it is covered
// too.
inline constexpr std::uint32_t kCrc32MsbPreset = 0xFFFF'FFFF;
inline constexpr std::uint32_t kCrc32MsbResidue = 0xC704'DD7B;
[[nodiscard]] std::uint32_t crc32_msb_update(std::uint32_t state, Bytes bytes);

// One way to do the latter, for tests to compare: those that this machine can use, the one in use
// last.
struct Crc32MsbKernel {
  std::string_view name;
  std::uint32_t (*update)(std::uint32_t state, Bytes bytes);
};
[[nodiscard]] std::span<const Crc32MsbKernel> crc32_msb_kernels();

}  // namespace weft::wan
