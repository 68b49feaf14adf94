// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/lane_response.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "phy/channel/code_statistics.h"

namespace weft::phy {
namespace {

using Complex = std::complex<double>;

static_assert(kPulseSamples == kSamplesInBit * kPulseBits);

constexpr double kPi = std::numbers::pi;
constexpr double kNepersPerDb = std::numbers::ln10 / 20;
// A transmitter's edges, from 20% to 80%, and the number that makes a Gaussian filter of them
// (IEEE 802.3, 93A.1.5: transmitter filter).
constexpr double kRiseTimeS = 60e-12;
constexpr double kRiseTimeDivisor = 1.6832;
// Corners of the receiver, in parts of the baud (IEEE 802.3, 93A.1.4: its filter and its
// continuous-time equaliser).
constexpr double kReceiverCorner = 0.75;
constexpr double kZero = 0.25, kFirstPole = 0.25, kSecondPole = 1;
// So that what a filter lets through ahead of the main cursor is not before the first sample.
constexpr double kDelayBits = 4;

// A copper pair without bulk delay: what the skin effect takes turns the phase by as much, and what
// the dielectric takes by as much as a causal line must (docs/channel-model.md).
Complex copper(const LaneChannel& lane, double frequency_hz) {
  if (frequency_hz == 0) return 1;
  const double ratio = frequency_hz / kLossFrequencyHz;
  const double whole = (lane.cable_loss_db + lane.board_loss_db) * kNepersPerDb;
  const double skin = whole * lane.skin_share * std::sqrt(ratio);
  const double dielectric = whole * (1 - lane.skin_share) * ratio;
  const double lag = skin - 2 / kPi * dielectric * std::log(ratio);
  return std::polar(std::exp(-skin - dielectric), -lag);
}

// What goes around a board again and again, and no more energy than without it.
Complex echoes(const LaneChannel& lane, double frequency_hz) {
  Complex all = 1;
  for (const BoardEcho& echo : lane.echoes) {
    const Complex around =
        std::polar(std::abs(echo.gain), -2 * kPi * frequency_hz * echo.delay_ps * 1e-12);
    all *= (1 - std::abs(echo.gain)) / (1.0 - (echo.gain < 0 ? -around : around));
  }
  return all;
}

double shape_of_bit(double frequency_over_baud, double baud) {
  const double edges = kPi * frequency_over_baud * baud * kRiseTimeS / kRiseTimeDivisor;
  const double angle = kPi * frequency_over_baud;
  const double rectangle = angle == 0 ? 1 : std::sin(angle) / angle;
  return rectangle * std::exp(-2 * edges * edges);
}

// A Butterworth filter of the fourth order.
Complex receiver_filter(double frequency_over_baud) {
  const double x = frequency_over_baud / kReceiverCorner;
  return 1.0 / Complex(1 - 3.414214 * x * x + x * x * x * x, 2.613126 * (x - x * x * x));
}

Complex linear_equaliser(double frequency_over_baud, double direct_gain) {
  const double f = frequency_over_baud;
  return Complex(direct_gain, f / kZero) /
         (Complex(1, f / kFirstPole) * Complex(1, f / kSecondPole));
}

double frequency_of_bin(std::size_t bin) {
  return static_cast<double>(bin) / static_cast<double>(kPulseBits);
}

double direct_gain_of(double peaking_db) {
  return std::pow(10, -peaking_db / 20);
}

}  // namespace

LaneResponse::LaneResponse(const LaneChannel& lane, LinkSpeed speed) : lane_(lane), speed_(speed) {
  const double baud = baud_hz(speed);
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double f = frequency_of_bin(bin);
    const double scale = shape_of_bit(f, baud) / static_cast<double>(kPulseBits);
    spectrum_[bin] = scale * copper(lane, f * baud) * echoes(lane, f * baud) * receiver_filter(f) *
                     std::polar(1.0, -2 * kPi * f * kDelayBits);
  }
}

double equaliser_power(double frequency_over_baud, double peaking_db) {
  return std::norm(linear_equaliser(frequency_over_baud, direct_gain_of(peaking_db)) *
                   receiver_filter(frequency_over_baud));
}

Pulse LaneResponse::pulse(double peaking_db) const {
  const double direct_gain = direct_gain_of(peaking_db);
  Spectrum equalised;
  double power = 0;  // over frequency, of white noise, up to four times the baud
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double f = frequency_of_bin(bin);
    equalised[bin] = spectrum_[bin] * linear_equaliser(f, direct_gain);
    power += equaliser_power(f, peaking_db) / static_cast<double>(kPulseBits);
  }
  Pulse pulse;
  pulse.samples = waveform_of(equalised);
  pulse.peak =
      static_cast<std::size_t>(std::ranges::max_element(pulse.samples) - pulse.samples.begin());
  pulse.noise_gain = std::sqrt(power * baud_hz(speed_) / kNoiseBandwidthHz);
  // Neighbours fill the receiver's bandwidth and not more.
  pulse.crosstalk_gain = std::sqrt(power / kReceiverCorner);
  return pulse;
}

}  // namespace weft::phy
