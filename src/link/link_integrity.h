// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::link {

// Whether errors of a link come so often that it has to be trained again: local link integrity (IBA
// vol 1, 7.12.2; LocalPhyErrors of PortInfo, 14.2.5.6). Packets with a fault of this link fill a
// bucket, packets without one empty it.
class LinkIntegrity {
 public:
  static constexpr std::uint8_t kMostThreshold = 15;  // LocalPhyErrors has 4 bits

  explicit LinkIntegrity(std::uint8_t local_phy_errors) { set_threshold(local_phy_errors); }

  // LocalPhyErrors; from the next fault on.
  void set_threshold(std::uint8_t local_phy_errors) {
    threshold_ = local_phy_errors & kMostThreshold;
  }

  // A packet has come that has no fault.
  void sound() {
    if (count_ != 0) --count_;
  }
  // One that has. True if with it the count exceeds the threshold, and begins anew: that is one of
  // LocalLinkIntegrityErrors, and a reason to train again.
  [[nodiscard]] bool fault() {
    if (++count_ <= threshold_) return false;
    count_ = 0;
    return true;
  }

  [[nodiscard]] std::uint8_t count() const { return count_; }

 private:
  std::uint8_t threshold_ = 0;
  std::uint8_t count_ = 0;
};

}  // namespace weft::link
