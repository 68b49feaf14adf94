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

// Both poles of the linear equaliser.
Complex equaliser_poles(double frequency_over_baud) {
  return Complex(1, frequency_over_baud / kFirstPole) *
         Complex(1, frequency_over_baud / kSecondPole);
}

double frequency_of_bin(std::size_t bin) {
  return static_cast<double>(bin) / static_cast<double>(kPulseBits);
}

double direct_gain_of(double peaking_db) {
  return std::pow(10, -peaking_db / 20);
}

// Of the receiver's filter and its equaliser, which passes `direct` of all frequencies and `rising`
// of what rises with them.
double receiver_power(double frequency_over_baud, double direct, double rising) {
  const Complex equalised =
      Complex(direct, rising * frequency_over_baud / kZero) / equaliser_poles(frequency_over_baud);
  return std::norm(equalised * receiver_filter(frequency_over_baud));
}

// Of numbers that are finite, which the operator does not count on.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// What goes around a board again and again, and no more energy than without it: gain() over what
// next() returns, bin by bin.
class Echo {
 public:
  Echo(const BoardEcho& echo, LinkSpeed speed)
      : gain_(1 - std::abs(echo.gain)),
        around_(echo.gain),
        step_(std::polar(
            1.0, -2 * kPi * frequency_of_bin(1) * baud_hz(speed) * echo.delay_ps * 1e-12)) {}
  [[nodiscard]] double gain() const { return gain_; }
  Complex next() {
    const Complex now = 1.0 - around_;
    around_ = product(around_, step_);
    return now;
  }

 private:
  double gain_;
  Complex around_;
  Complex step_;
};

// Of each bin, what no lane has to itself.
struct Bins {
  explicit Bins(LinkSpeed speed) {
    const double baud = baud_hz(speed);
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      const double f = frequency_of_bin(bin);
      const double scale = shape_of_bit(f, baud) / static_cast<double>(kPulseBits);
      direct[bin] = scale * receiver_filter(f) * std::polar(1.0, -2 * kPi * f * kDelayBits) /
                    equaliser_poles(f);
      const double ratio = f * baud / kLossFrequencyHz;
      skin[bin] = std::sqrt(ratio);
      dielectric[bin] = ratio;
      dielectric_lag[bin] = bin == 0 ? 0 : -2 / kPi * ratio * std::log(ratio);
      direct_power += receiver_power(f, 1, 0) / static_cast<double>(kPulseBits);
      rising_power += receiver_power(f, 0, 1) / static_cast<double>(kPulseBits);
    }
  }
  static const Bins& of(LinkSpeed speed) {
    static const Bins sdr(LinkSpeed::kSdr), ddr(LinkSpeed::kDdr);
    return speed == LinkSpeed::kDdr ? ddr : sdr;
  }

  // From a bit to behind a receiver whose equaliser passes everything with a gain of 1 before its
  // poles, but for the lane.
  Spectrum direct;
  // What a copper pair takes there and by how much it turns, over what it takes at
  // kLossFrequencyHz.
  std::array<double, kBins> skin, dielectric, dielectric_lag;
  // Of white noise, over frequency, up to four times the baud.
  double direct_power = 0, rising_power = 0;
};

}  // namespace

LaneResponse::LaneResponse(const LaneChannel& lane, LinkSpeed speed) : lane_(lane), speed_(speed) {
  const Bins& bins = Bins::of(speed);
  // A copper pair without bulk delay: what the skin effect takes turns the phase by as much, and
  // what the dielectric takes by as much as a causal line must (docs/channel-model.md).
  const double whole = (lane.cable_loss_db + lane.board_loss_db) * kNepersPerDb;
  const double skin = whole * lane.skin_share, dielectric = whole * (1 - lane.skin_share);
  std::array<Echo, 2> echoes{Echo(lane.echoes[0], speed), Echo(lane.echoes[1], speed)};
  Spectrum direct, rising;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double lag = skin * bins.skin[bin] + dielectric * bins.dielectric_lag[bin];
    const double loss = skin * bins.skin[bin] + dielectric * bins.dielectric[bin];
    const Complex echoed = product(echoes[0].next(), echoes[1].next());
    const double gain = echoes[0].gain() * echoes[1].gain() * std::exp(-loss) / std::norm(echoed);
    direct[bin] = product(bins.direct[bin], product(std::conj(echoed),
                                                    {gain * std::cos(lag), -gain * std::sin(lag)}));
    rising[bin] = frequency_of_bin(bin) / kZero * Complex(-direct[bin].imag(), direct[bin].real());
  }
  direct_ = waveform_of(direct);
  rising_ = waveform_of(rising);
}

double equaliser_power(double frequency_over_baud, double peaking_db) {
  return receiver_power(frequency_over_baud, direct_gain_of(peaking_db), 1);
}

Pulse LaneResponse::pulse(double peaking_db) const {
  const double direct_gain = direct_gain_of(peaking_db);
  const auto gain = static_cast<float>(direct_gain);
  Pulse pulse;
  for (std::size_t i = 0; i < kPulseSamples; ++i)
    pulse.samples[i] = gain * direct_[i] + rising_[i];
  pulse.peak =
      static_cast<std::size_t>(std::ranges::max_element(pulse.samples) - pulse.samples.begin());
  const Bins& bins = Bins::of(speed_);
  const double power = direct_gain * direct_gain * bins.direct_power + bins.rising_power;
  pulse.noise_gain = std::sqrt(power * baud_hz(speed_) / kNoiseBandwidthHz);
  // Neighbours fill the receiver's bandwidth and not more.
  pulse.crosstalk_gain = std::sqrt(power / kReceiverCorner);
  return pulse;
}

}  // namespace weft::phy
