// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::wan {

// Forward error correction as both ends of a tunnel have agreed on it: behind so many frames with
// packets, a block, follow so many repair frames, and as many of either kind may be lost.
struct FecCode {
  static constexpr std::uint8_t kMostFrames = 32;
  static constexpr std::uint8_t kMostRepairs = 8;

  std::uint8_t frames = 0;   // of a block, at most; 0: there is no such code
  std::uint8_t repairs = 0;  // of each block; 0 where `frames` is, and else not

  [[nodiscard]] constexpr bool any() const { return frames != 0; }
  friend constexpr bool operator==(const FecCode&, const FecCode&) = default;
};

}  // namespace weft::wan
