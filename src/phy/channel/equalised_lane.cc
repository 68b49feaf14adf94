// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/equalised_lane.h"

#include <algorithm>
#include <array>
#include <cmath>

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
  // With a bit before the beginning and one behind the end, as the pulse repeats.
  std::array<float, kPulseSamples + 2 * kSamplesInBit> one;
  std::copy_n(pulse.samples.end() - kSamplesInBit, kSamplesInBit, one.begin());
  std::ranges::copy(pulse.samples, one.begin() + kSamplesInBit);
  std::copy_n(pulse.samples.begin(), kSamplesInBit, one.end() - kSamplesInBit);
  for (std::size_t i = 0; i < kPulseSamples; ++i)
    samples[i] =
        main * one[i + kSamplesInBit] + ahead * one[i + 2 * kSamplesInBit] + behind * one[i];
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
  constexpr std::size_t kPlaces = 2 * kSettleWithin + 1;
  centre = peak;
  std::array<double, kPlaces> open;
  for (std::size_t i = 0; i < kPlaces; ++i)
    open[i] = sample(0, static_cast<std::ptrdiff_t>(i) - kSettleWithin);
  for (std::size_t near = 0; near < 2 * kNearHalf; ++near) {
    const int cursor = near_cursor(near / kNearHalf, near % kNearHalf);
    const bool fed_back = cursor == 1 || cursor == 2;
    for (std::size_t i = 0; i < kPlaces; ++i) {
      const auto offset = static_cast<std::ptrdiff_t>(i) - kSettleWithin;
      open[i] -=
          std::abs(sample(cursor, offset) - (fed_back ? taken_off(receive, cursor, offset) : 0));
    }
  }
  const auto best = std::ranges::max_element(open) - open.begin() - kSettleWithin;
  centre = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(peak) + best) % kPulseSamples;
}

double EqualisedLane::taken_off(const ReceiveSetting& receive, int cursor,
                                std::ptrdiff_t offset) const {
  const double part = cursor == 1 ? receive.feedback_1 : receive.feedback_2;
  const double most = part * std::abs(sample(0, offset));
  return std::clamp(sample(cursor, offset), -most, most);
}

double EqualisedLane::at(int cursor, double offset) const {
  const double floor = std::floor(offset);
  const std::array<double, 4> weights = interpolation(offset - floor);
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    sum +=
        weights[i] * sample(cursor, static_cast<std::ptrdiff_t>(floor) + static_cast<int>(i) - 1);
  return sum;
}

std::array<double, 4> interpolation(double t) {
  const double half = t / 2;
  return {half * (-1 + t * (2 - t)), 1 + half * t * (3 * t - 5), half * (1 + t * (4 - 3 * t)),
          half * t * (t - 1)};
}

}  // namespace weft::phy
