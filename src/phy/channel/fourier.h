// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstddef>

namespace weft::phy {

// A pulse is kPulseSamples values in time; of its spectrum only the lowest kBins frequencies are
// not zero.
inline constexpr std::size_t kBins = 256;
inline constexpr std::size_t kPulseSamples = 4 * kBins;

using Spectrum = std::array<std::complex<double>, kBins>;
using Waveform = std::array<float, kPulseSamples>;

// The real waveform of bins k = 0, 1, ...: sample m is the real part of
// X[0] + 2 (X[1] e^(2 pi i m / N) + X[2] e^(2 pi i 2 m / N) + ...) with N = kPulseSamples.
[[nodiscard]] Waveform waveform_of(const Spectrum& spectrum);

}  // namespace weft::phy
