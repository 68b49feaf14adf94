// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::phy {

// When a transmitter has to send SKIP sets: one becomes due every 4352 symbol times, and goes out
// between packets (IBA vol 2, 5.3: 4352 to 4608, unless a packet is under way).
class SkipSchedule {
 public:
  static constexpr std::uint64_t kInterval = 4352;

  // `now` in symbol times since the link was started.
  [[nodiscard]] bool due(std::uint64_t now) const { return now >= next_; }
  // One was sent. A packet may have made it late, which does not put off the next one.
  void sent() { next_ += kInterval; }

 private:
  std::uint64_t next_ = kInterval;
};

}  // namespace weft::phy
