// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "phy/channel/channel_model.h"
#include "phy/channel/fourier.h"
#include "phy/link_speed.h"

namespace weft::phy {

// Samples of a pulse in the time of one bit; kPulseSamples are kPulseBits bits.
inline constexpr std::size_t kSamplesInBit = 16;

// What one bit of 1 mV, amid a lane at rest, is behind a receiver's linear equaliser; and what that
// makes of noise. A pulse is taken to repeat after kPulseBits bits: what is left of it by then is
// added to its beginning.
struct Pulse {
  Waveform samples{};
  std::size_t peak = 0;       // index of its largest sample
  double noise_gain = 0;      // noise behind the equaliser over that before it, both rms
  double crosstalk_gain = 0;  // the same for what neighbours send
};

// A lane at a speed: all that its pulses have in common, whatever the settings. An equaliser lets
// through what rises with the frequency, and a part of all: a pulse is the sum of two.
class LaneResponse {
 public:
  LaneResponse(const LaneChannel& lane, LinkSpeed speed);

  // With so much peaking (ReceiveSetting).
  [[nodiscard]] Pulse pulse(double peaking_db) const;

  [[nodiscard]] const LaneChannel& lane() const { return lane_; }
  [[nodiscard]] LinkSpeed speed() const { return speed_; }

 private:
  LaneChannel lane_;
  LinkSpeed speed_;
  Waveform direct_;  // of what passes with the equaliser's gain at no frequency at all
  Waveform rising_;  // and of what passes in any case
};

// The gain of the equaliser and the receiver's noise filter, squared, at each bin: `gain` of the
// bin's frequency over the baud. Public for tests.
[[nodiscard]] double equaliser_power(double frequency_over_baud, double peaking_db);

}  // namespace weft::phy
