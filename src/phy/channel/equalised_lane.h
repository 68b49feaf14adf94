// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "phy/channel/lane_response.h"
#include "phy/channel/settings.h"

namespace weft::phy {

// A lane with its settings, at rest in the place where the receiver samples it. Both evaluations of
// it, analytic_eye.h and sampled_lane.h, start from here.
struct EqualisedLane {
  // `pulse` is that of `response` with the receiver's peaking.
  EqualisedLane(const LaneResponse& response, const Pulse& pulse, const TransmitSetting& transmit,
                const ReceiveSetting& receive);

  // In mV, `offset` samples behind the middle of bit `cursor` of the pulse: 0 is the main one.
  [[nodiscard]] double at(int cursor, double offset) const;
  // The same on the grid of samples.
  [[nodiscard]] double sample(int cursor, std::ptrdiff_t offset) const {
    const auto index = static_cast<std::ptrdiff_t>(centre) + offset +
                       cursor * static_cast<std::ptrdiff_t>(kSamplesInBit);
    return samples[static_cast<std::size_t>(index) % kPulseSamples];
  }
  // What the decision feedback takes off cursors 1 and 2, in mV; it does not move with jitter.
  [[nodiscard]] double feedback(int cursor) const {
    return cursor == 1 ? feedback_1_mv : cursor == 2 ? feedback_2_mv : 0;
  }

  Waveform samples;        // of a bit of the transmitter's amplitude, behind both equalisers
  std::size_t centre = 0;  // where clock recovery settles
  double feedback_1_mv = 0;
  double feedback_2_mv = 0;
  double noise_mv = 0;                   // rms: of the receiver, of neighbours, of the far echo
  double random_jitter_samples = 0;      // rms
  double sinusoidal_jitter_samples = 0;  // peak, of what clock recovery does not follow
  double sinusoidal_jitter_turns = 0;    // of the sine in the time of a bit
  LinkSpeed speed = LinkSpeed::kSdr;

 private:
  void settle(std::size_t peak, const ReceiveSetting& receive);
  [[nodiscard]] double taken_off(const ReceiveSetting& receive, int cursor,
                                 std::ptrdiff_t offset) const;
};

// What the samples before, at, behind and two behind a place count at `t` of the way from the
// second to the third, 0 to 1: Catmull and Rom's cubic.
[[nodiscard]] std::array<double, 4> interpolation(double t);

}  // namespace weft::phy
