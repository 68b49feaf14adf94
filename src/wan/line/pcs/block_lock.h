// SPDX-License-Identifier: Apache-2.0
// Where blocks begin (IEEE 802.3, Figure 49-12), and whether too many of their headers are wrong
// (Figure 49-13). Both look at headers alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wan/line/pcs/block.h"

namespace weft::wan {

//   64 headers in a row are good: locked. While it is, 64 at a time are looked at, and with the
//   16th bad one of them it is no more; while it is not, the first bad one is enough: slip.
class BlockLock {
 public:
  static constexpr unsigned kWindow = 64;
  static constexpr unsigned kMostBad = 16;

  // The next header. True: blocks do not begin here, go one bit on.
  bool slips(std::uint8_t header) {
    ++seen_;
    if (!is_header(header)) {
      ++bad_;
      if (bad_ == kMostBad || !locked_) {
        locked_ = false;
        seen_ = bad_ = 0;
        return true;
      }
    }
    if (seen_ == kWindow) {
      if (bad_ == 0) locked_ = true;
      seen_ = bad_ = 0;
    }
    return false;
  }
  // The next headers, while it is locked, which are all good.
  void see_good(std::size_t count) {
    if (seen_ + count >= kWindow) bad_ = 0;
    seen_ = static_cast<unsigned>((seen_ + count) % kWindow);
  }
  [[nodiscard]] bool locked() const { return locked_; }

 private:
  bool locked_ = false;
  unsigned seen_ = 0;  // of this window
  unsigned bad_ = 0;   // of those
};

// The timer counts blocks, since a line never stops.
class HighErrorRate {
 public:
  static constexpr unsigned kMostBad = 16;
  // 125 us at 10.3125 Gbit/s, and at the 9.58464 Gbit/s of an STS-192c.
  static constexpr std::uint32_t kBlocksOfLan = 19'531;
  static constexpr std::uint32_t kBlocksOfWan = 18'152;

  explicit HighErrorRate(std::uint32_t blocks) : blocks_(blocks) {}

  // The next header, while blocks are locked onto.
  void see(std::uint8_t header) {
    if (!is_header(header) && bad_ < kMostBad && ++bad_ == kMostBad) high_ = true;
    if (++seen_ < blocks_) return;
    if (bad_ < kMostBad) high_ = false;
    seen_ = bad_ = 0;
  }
  // The next headers, while the rate is not high, which are all good.
  void see_good(std::size_t count) {
    if (seen_ + count >= blocks_) bad_ = 0;
    seen_ = static_cast<std::uint32_t>((seen_ + count) % blocks_);
  }
  // They are locked onto no more.
  void restart() {
    high_ = false;
    seen_ = bad_ = 0;
  }
  [[nodiscard]] bool high() const { return high_; }

 private:
  const std::uint32_t blocks_;
  bool high_ = false;
  std::uint32_t seen_ = 0;
  unsigned bad_ = 0;
};

}  // namespace weft::wan
