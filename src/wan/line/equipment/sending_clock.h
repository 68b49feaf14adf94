// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace weft::wan {

// When who sends at a rate may send. Whoever was not asked for long does not catch up.
class SendingClock {
 public:
  explicit SendingClock(std::uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {}

  void advance(Time now) {
    now_ = now;
    if (!begun_) due_ = now;
    begun_ = true;
    due_ = std::max(due_, now - kMostLate);
  }
  [[nodiscard]] bool is_due() const { return begun_ && due_ <= now_; }
  void sent(std::size_t bytes) {
    constexpr std::uint64_t kNanoseconds = 1'000'000'000;
    due_ += Duration(bytes * kNanoseconds / bytes_per_s_ + 1);
  }

 private:
  static constexpr Duration kMostLate = 20ms;

  const std::uint64_t bytes_per_s_;
  bool begun_ = false;
  Time now_{};
  Time due_{};
};

}  // namespace weft::wan
