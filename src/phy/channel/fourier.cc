// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/fourier.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace weft::phy {
namespace {

// Three quarters of the bins are zero, so each of the four interleaved quarters of the waveform is
// a transform of kBins; reals are kept apart from imaginaries, which a compiler can take several
// at a time.
struct Quarter {
  std::array<float, kBins> real;
  std::array<float, kBins> imaginary;
};

struct Twiddles {
  // e^(2 pi i n / kPulseSamples)
  std::array<std::complex<double>, kPulseSamples> turn;
  // Of each stage of a transform, of 1, 2, 4 ... butterflies, one after the other.
  Quarter stages;
  std::array<std::uint8_t, kBins> reversed;

  Twiddles() {
    for (std::size_t n = 0; n < kPulseSamples; ++n) {
      turn[n] = std::polar(
          1.0, 2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(kPulseSamples));
    }
    std::size_t at = 0;
    for (std::size_t half = 1; half < kBins; half *= 2) {
      for (std::size_t i = 0; i < half; ++i, ++at) {
        const auto& turned = turn[i * kPulseSamples / (2 * half)];
        stages.real[at] = static_cast<float>(turned.real());
        stages.imaginary[at] = static_cast<float>(turned.imag());
      }
    }
    constexpr int kBits = std::countr_zero(kBins);
    for (std::size_t i = 0; i < kBins; ++i) {
      std::size_t mirrored = 0;
      for (int bit = 0; bit < kBits; ++bit)
        mirrored |= (i >> bit & 1) << (kBits - 1 - bit);
      reversed[i] = static_cast<std::uint8_t>(mirrored);
    }
  }
};

const Twiddles& twiddles() {
  static const Twiddles twiddles;
  return twiddles;
}

// Inverse, in place, of what is in bit-reversed order.
void transform(Quarter& data, const Twiddles& with) {
  const float* turn_real = with.stages.real.data();
  const float* turn_imaginary = with.stages.imaginary.data();
  for (std::size_t half = 1; half < kBins; half *= 2) {
    for (std::size_t start = 0; start < kBins; start += 2 * half) {
      float* const low_real = &data.real[start];
      float* const low_imaginary = &data.imaginary[start];
      float* const high_real = low_real + half;
      float* const high_imaginary = low_imaginary + half;
      for (std::size_t i = 0; i < half; ++i) {
        const float real = high_real[i] * turn_real[i] - high_imaginary[i] * turn_imaginary[i];
        const float imaginary = high_real[i] * turn_imaginary[i] + high_imaginary[i] * turn_real[i];
        high_real[i] = low_real[i] - real;
        high_imaginary[i] = low_imaginary[i] - imaginary;
        low_real[i] += real;
        low_imaginary[i] += imaginary;
      }
    }
    turn_real += half;
    turn_imaginary += half;
  }
}

}  // namespace

Waveform waveform_of(const Spectrum& spectrum) {
  const Twiddles& with = twiddles();
  Waveform waveform;
  Quarter quarter;
  for (std::size_t offset = 0; offset < 4; ++offset) {
    for (std::size_t k = 0; k < kBins; ++k) {
      const double scale = k == 0 ? 1 : 2;
      const std::complex<double>& turn = with.turn[k * offset];
      const std::complex<double>& bin = spectrum[k];
      quarter.real[with.reversed[k]] =
          static_cast<float>(scale * (bin.real() * turn.real() - bin.imag() * turn.imag()));
      quarter.imaginary[with.reversed[k]] =
          static_cast<float>(scale * (bin.real() * turn.imag() + bin.imag() * turn.real()));
    }
    transform(quarter, with);
    for (std::size_t m = 0; m < kBins; ++m)
      waveform[4 * m + offset] = quarter.real[m];
  }
  return waveform;
}

}  // namespace weft::phy
