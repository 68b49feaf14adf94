// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"

namespace weft::wan {

// The round trip time of a path, smoothed as by RFC 6298.
class RoundTrip {
 public:
  // Before anything was measured.
  static constexpr Duration kGuess = 300ms;
  // What is measured beyond that is no way's length, but a process that was stopped or a clock that
  // has stepped: it must not make this end wait as long for what is lost from then on.
  static constexpr Duration kMost = 2s;

  void sample(Duration measured) {
    measured = std::min(measured, kMost);
    if (!smoothed_) {
      smoothed_ = measured;
      deviation_ = measured / 2;
      return;
    }
    const Duration off = measured > *smoothed_ ? measured - *smoothed_ : *smoothed_ - measured;
    deviation_ = (3 * deviation_ + off) / 4;
    smoothed_ = (7 * *smoothed_ + measured) / 8;
  }

  [[nodiscard]] bool known() const { return smoothed_.has_value(); }
  [[nodiscard]] Duration smoothed() const { return smoothed_.value_or(kGuess); }
  // A frame has not come if it is not acknowledged after that, while later ones are.
  [[nodiscard]] Duration overtaken() const {
    return std::max(smoothed() + smoothed() / 8, smoothed() + 2 * deviation_) + 1ms;
  }
  // Nothing was acknowledged for so long: whether anything has come must be found out.
  [[nodiscard]] Duration silence() const { return smoothed() + 4 * deviation_ + 50ms; }

 private:
  std::optional<Duration> smoothed_;
  Duration deviation_ = kGuess / 2;
};

}  // namespace weft::wan
