// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/random.h"
#include "phy/channel/normal.h"

namespace weft::phy {
namespace {

TEST(Fourier, WaveformIsTheSumOfItsBins) {
  Random random(7);
  Spectrum spectrum;
  for (auto& bin : spectrum)
    bin = {uniform(random) - 0.5, uniform(random) - 0.5};
  const Waveform waveform = waveform_of(spectrum);
  for (std::size_t m = 0; m < kPulseSamples; m += 37) {
    double sum = spectrum[0].real();
    for (std::size_t k = 1; k < kBins; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k * m) / kPulseSamples;
      sum += 2 * (spectrum[k].real() * std::cos(angle) - spectrum[k].imag() * std::sin(angle));
    }
    EXPECT_NEAR(waveform[m], sum, 1e-4) << "sample " << m;
  }
}

}  // namespace
}  // namespace weft::phy
