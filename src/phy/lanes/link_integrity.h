// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::phy {

// Whether errors of a link come so often that it has to be retrained: local link integrity (IBA vol
// 1, 7.12.2; LocalPhyErrors of PortInfo, 14.2.5.6). Packets with a fault of this link fill a
// bucket, packets without one empty it.
class LinkIntegrity {
 public:
  static constexpr std::uint8_t kMostThreshold = 15;  // LocalPhyErrors has 4 bits

  explicit LinkIntegrity(std::uint8_t local_phy_errors)
      : threshold_(local_phy_errors & kMostThreshold) {}

  // A packet has come. True if with it the count exceeds the threshold, and begins anew: that is
  // one of LocalLinkIntegrityErrors, and a reason to retrain.
  bool packet(bool local_fault) {
    if (!local_fault) {
      if (count_ != 0) --count_;
      return false;
    }
    if (++count_ <= threshold_) return false;
    count_ = 0;
    ++exceeded_;
    return true;
  }

  [[nodiscard]] std::uint8_t count() const { return count_; }
  // LocalLinkIntegrityErrors, as far as it can count.
  [[nodiscard]] std::uint64_t exceeded() const { return exceeded_; }

 private:
  std::uint8_t threshold_;
  std::uint8_t count_ = 0;
  std::uint64_t exceeded_ = 0;
};

}  // namespace weft::phy
