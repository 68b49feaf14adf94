// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/lane_response.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "phy/channel/code_statistics.h"

namespace weft::phy {
namespace {

double cursor_sum(const Pulse& pulse, std::size_t phase, bool alternating) {
  double sum = 0;
  for (std::size_t n = 0; n < kPulseBits; ++n) {
    const double sample = pulse.samples[n * kSamplesInBit + phase];
    sum += alternating && n % 2 == 1 ? -sample : sample;
  }
  return sum;
}

// Of 1010..., in mV for bits of 1 mV.
double alternating_amplitude(const Pulse& pulse) {
  double most = 0;
  for (std::size_t phase = 0; phase < kSamplesInBit; ++phase)
    most = std::max(most, std::abs(cursor_sum(pulse, phase, true)));
  return most;
}

TEST(LaneResponse, ALongRunReachesTheWholeAmplitudeButForThePeaking) {
  const LaneChannel lane{.cable_loss_db = 12, .board_loss_db = 3, .skin_share = 0.7};
  const LaneResponse response(lane, LinkSpeed::kDdr);
  for (std::size_t phase = 0; phase < kSamplesInBit; phase += 5) {
    EXPECT_NEAR(cursor_sum(response.pulse(0), phase, false), 1, 1e-3);
    EXPECT_NEAR(cursor_sum(response.pulse(6.0206), phase, false), 0.5, 1e-3);
  }
}

TEST(LaneResponse, AlternatingBitsLoseWhatTheChannelTakesAtHalfTheBaud) {
  for (const LinkSpeed speed : {LinkSpeed::kSdr, LinkSpeed::kDdr}) {
    for (const double skin_share : {0.0, 0.6, 1.0}) {
      const LaneChannel none{.skin_share = skin_share};
      const LaneChannel some{.cable_loss_db = 9, .board_loss_db = 2, .skin_share = skin_share};
      const double without = alternating_amplitude(LaneResponse(none, speed).pulse(0));
      const double with = alternating_amplitude(LaneResponse(some, speed).pulse(0));
      EXPECT_NEAR(20 * std::log10(without / with), some.loss_db(baud_hz(speed) / 2), 0.15)
          << baud_hz(speed) << " " << skin_share;
    }
  }
}

TEST(LaneResponse, PeakingSparesAlternatingBitsAndNotLongRuns) {
  const LaneResponse response({.cable_loss_db = 10, .skin_share = 1}, LinkSpeed::kDdr);
  const double flat = alternating_amplitude(response.pulse(0));
  const double peaked = alternating_amplitude(response.pulse(10));
  // The equaliser's own gain at half the baud, by its formula.
  const auto gain = [](double direct) {
    return std::hypot(direct, 2) / (std::hypot(1, 2) * std::hypot(1, 0.5));
  };
  EXPECT_NEAR(peaked / flat, gain(std::pow(10, -0.5)) / gain(1), 0.02);
}

// A line of which the skin effect takes all has a step response in closed form, erfc of the root of
// a time over time. Its slope, late enough for filters to be done, is the pulse.
TEST(LaneResponse, TheTailIsThatOfTheSkinEffect) {
  const double loss_db = 12;
  const LaneResponse response({.cable_loss_db = loss_db, .skin_share = 1}, LinkSpeed::kDdr);
  const Pulse pulse = response.pulse(0);
  const double nepers = loss_db / 20 * std::numbers::ln10;
  const double bit_s = 1 / baud_hz(LinkSpeed::kDdr);
  // Attenuation a sqrt(s) with the given real part at the frequency that losses are said for.
  const double a = nepers / std::sqrt(std::numbers::pi * kLossFrequencyHz);
  const auto slope = [&](double t) {
    return a / (2 * std::sqrt(std::numbers::pi) * std::pow(t, 1.5)) * std::exp(-a * a / (4 * t));
  };
  // Filters delay: their area is where the pulse of a line without loss has its middle.
  const Pulse sharp = LaneResponse({}, LinkSpeed::kDdr).pulse(0);
  double middle = 0;
  for (std::size_t i = 0; i < kPulseSamples / 4; ++i)
    middle += static_cast<double>(i) * sharp.samples[i] / kSamplesInBit;
  middle /= kSamplesInBit;
  for (const std::size_t bit : {18U, 28U, 45U}) {
    double expected = 0;  // with what repetition brings in
    for (int turn = 0; turn < 20'000; ++turn)
      expected += slope((static_cast<double>(bit) - middle + turn * 64.0) * bit_s) * bit_s;
    EXPECT_NEAR(pulse.samples[bit * kSamplesInBit] / expected, 1, 0.03) << "bit " << bit;
  }
}

// What a line takes of a pulse it gives back later, not earlier: a loss without its phase would
// smear a pulse to both sides alike.
TEST(LaneResponse, WhatALineSmearsComesBehindThePeak) {
  for (const double skin_share : {0.0, 1.0}) {
    const LaneResponse response({.cable_loss_db = 18, .skin_share = skin_share}, LinkSpeed::kDdr);
    const Pulse pulse = response.pulse(0);
    const float low = 0.15F * pulse.samples[pulse.peak];
    std::size_t first = pulse.peak, last = pulse.peak;
    while (pulse.samples[first] > low)
      --first;
    while (pulse.samples[last] > low)
      ++last;
    const auto ahead = static_cast<double>(pulse.peak - first);
    const auto behind = static_cast<double>(last - pulse.peak);
    EXPECT_GT(behind, 1.4 * ahead) << skin_share;
  }
}

TEST(LaneResponse, EchoesComeTheirDelayBehindAndTakeNoEnergyAlong) {
  LaneChannel lane{.cable_loss_db = 2, .skin_share = 1};
  const Pulse quiet = LaneResponse(lane, LinkSpeed::kDdr).pulse(0);
  lane.echoes[0] = {.gain = 0.05, .delay_ps = 800};  // four bits
  const Pulse echoed = LaneResponse(lane, LinkSpeed::kDdr).pulse(0);
  const std::size_t later = quiet.peak + 4 * kSamplesInBit;
  const double rest = quiet.samples[later] * 0.95 + 0.05 * 0.95 * quiet.samples[quiet.peak];
  EXPECT_NEAR(echoed.samples[later], rest, 0.003);
  EXPECT_NEAR(cursor_sum(echoed, 0, false), 1, 1e-3);
}

TEST(LaneResponse, NoiseIsThatOfTheReceiversBandwidth) {
  const LaneResponse ddr({}, LinkSpeed::kDdr);
  const LaneResponse sdr({}, LinkSpeed::kSdr);
  // Half the bandwidth has half the power.
  EXPECT_NEAR(ddr.pulse(3).noise_gain / sdr.pulse(3).noise_gain, std::numbers::sqrt2, 1e-9);
  // An equaliser that lets low frequencies down passes less of them.
  EXPECT_LT(ddr.pulse(12).noise_gain, ddr.pulse(0).noise_gain);
  // By the trapezoidal rule at another step, far beyond where anything is left.
  double power = 0;
  for (int i = 0; i < 100'000; ++i)
    power += equaliser_power((i + 0.5) * 1e-4, 3) * 1e-4;
  EXPECT_NEAR(ddr.pulse(3).noise_gain, std::sqrt(power), 0.01);
}

}  // namespace
}  // namespace weft::phy
