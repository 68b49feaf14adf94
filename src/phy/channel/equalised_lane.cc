// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/equalised_lane.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "phy/channel/code_statistics.h"

namespace weft::phy {
namespace {

// Clock recovery follows jitter slower than this part of the baud (the usual corner of jitter
// specifications, "baud / 1667").
constexpr double kRecoveryCorner = 1.0 / 1667;
// How far from the peak it may settle, in samples.
constexpr std::ptrdiff_t kSettleWithin = kSamplesInBit * 3 / 4;

}  // namespace

EqualisedLane::EqualisedLane(const LaneResponse& response, const Pulse& pulse,
                             const TransmitSetting& transmit, const ReceiveSetting& receive)
    : speed(response.speed()) {
  const double peak_mv = transmit.amplitude_mv / 2;
  const auto main = static_cast<float>(peak_mv * transmit.main_cursor());
  const auto ahead = static_cast<float>(peak_mv * transmit.pre_cursor);
  const auto behind = static_cast<float>(peak_mv * transmit.post_cursor);
  for (std::size_t i = 0; i < kPulseSamples; ++i) {
    samples[i] = main * pulse.samples[i] +
                 ahead * pulse.samples[(i + kSamplesInBit) % kPulseSamples] +
                 behind * pulse.samples[(i + kPulseSamples - kSamplesInBit) % kPulseSamples];
  }
  settle(pulse.peak, receive);
  const double main_mv = sample(0, 0);
  feedback_1_mv = taken_off(receive, 1, 0);
  feedback_2_mv = taken_off(receive, 2, 0);

  const LaneChannel& lane = response.lane();
  const double own = lane.noise_mv * pulse.noise_gain;
  const double neighbours = peak_mv * lane.crosstalk_gain * pulse.crosstalk_gain;
  const double twice_the_cable = std::pow(10, -2 * lane.cable_loss_db / 20);
  const double far_echo = lane.cable_echo_gain * twice_the_cable * main_mv;
  noise_mv = std::sqrt(own * own + neighbours * neighbours + far_echo * far_echo);

  const double baud = baud_hz(speed);
  const double samples_in_ps = baud * 1e-12 * static_cast<double>(kSamplesInBit);
  const double corner = baud * kRecoveryCorner;
  random_jitter_samples = lane.random_jitter_ps * samples_in_ps;
  sinusoidal_jitter_samples = lane.sinusoidal_jitter_ps * samples_in_ps *
                              lane.sinusoidal_jitter_hz /
                              std::hypot(lane.sinusoidal_jitter_hz, corner);
  sinusoidal_jitter_turns = lane.sinusoidal_jitter_hz / baud;
}

// Where the worst pattern of near bits leaves most.
void EqualisedLane::settle(std::size_t peak, const ReceiveSetting& receive) {
  double best = -std::numeric_limits<double>::infinity();
  std::size_t settled = peak;
  centre = peak;
  for (std::ptrdiff_t offset = -kSettleWithin; offset <= kSettleWithin; ++offset) {
    double open = sample(0, offset);
    for (std::size_t i = 0; i < 2 * kNearHalf; ++i) {
      const int cursor = near_cursor(i / kNearHalf, i % kNearHalf);
      open -= std::abs(sample(cursor, offset) - taken_off(receive, cursor, offset));
    }
    if (open > best) {
      best = open;
      settled =
          static_cast<std::size_t>(static_cast<std::ptrdiff_t>(peak) + offset) % kPulseSamples;
    }
  }
  centre = settled;
}

double EqualisedLane::taken_off(const ReceiveSetting& receive, int cursor,
                                std::ptrdiff_t offset) const {
  if (cursor != 1 && cursor != 2) return 0;
  const double part = cursor == 1 ? receive.feedback_1 : receive.feedback_2;
  const double most = part * std::abs(sample(0, offset));
  return std::clamp(sample(cursor, offset), -most, most);
}

double EqualisedLane::at(int cursor, double offset) const {
  const double floor = std::floor(offset);
  const double t = offset - floor;
  const auto first = static_cast<std::ptrdiff_t>(floor);
  const double before = sample(cursor, first - 1), from = sample(cursor, first);
  const double to = sample(cursor, first + 1), after = sample(cursor, first + 2);
  // Catmull and Rom's cubic through the two samples around.
  return from + t / 2 *
                    (to - before +
                     t * (2 * before - 5 * from + 4 * to - after +
                          t * (3 * (from - to) + after - before)));
}

}  // namespace weft::phy
