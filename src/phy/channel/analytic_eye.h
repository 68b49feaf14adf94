// SPDX-License-Identifier: Apache-2.0
// What a lane makes of IDLE data, computed: the probability of each pattern of bits around a bit,
// times that of noise and jitter to be larger than what the pattern leaves of it.
#pragma once

#include "phy/channel/equalised_lane.h"

namespace weft::phy {

// With the receiver sampling `offset` samples from where it settles, and its threshold moved by
// `threshold_mv` against the bit.
[[nodiscard]] double bit_error_rate(const EqualisedLane& lane, double offset = 0,
                                    double threshold_mv = 0);

// The probability that one of a symbol's ten bits is wrong.
[[nodiscard]] double symbol_error_rate(double bit_error_rate);

struct EyeOpening {
  double height_mv = 0;   // between thresholds at which the bit error rate is the target; 0: closed
  double width_bits = 0;  // of the time of a bit, the same way; from 0 to 1
};

// What an oscilloscope would show at that bit error rate, from 1e-15 to 0.1.
[[nodiscard]] EyeOpening eye_opening(const EqualisedLane& lane, double target = 1e-12);

// What the worst of all patterns leaves of a bit without noise and jitter, in mV, whatever the
// code: negative where it is taken for its opposite.
[[nodiscard]] double peak_distortion_mv(const EqualisedLane& lane);

}  // namespace weft::phy
