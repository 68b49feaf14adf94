// SPDX-License-Identifier: Apache-2.0
// What can be set at the two ends of a lane: the "transmit configurations" and the "receive
// configurations" that a sweep of the DDR auto-negotiation tries against each other.
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.h"

namespace weft::phy {

// A transmitter that can send so much and no more: what goes into the cursors beside the main one
// is taken from it, so that the magnitudes of the three taps add up to 1.
struct TransmitSetting {
  double amplitude_mv = 1000;  // differential, peak to peak, of the longest run: 50 to 2000
  double pre_cursor = 0;       // tap a bit ahead of the main one: -0.3 to 0.3
  double post_cursor = 0;      // tap a bit behind it, negative for de-emphasis: -0.4 to 0.4

  [[nodiscard]] double main_cursor() const;
  friend bool operator==(const TransmitSetting&, const TransmitSetting&) = default;
};

// A linear equaliser that lets low frequencies down, and a decision feedback equaliser that adapts
// itself: it takes off what the last two bits leave behind, up to a limit.
struct ReceiveSetting {
  double peaking_db = 0;  // gain at high frequencies over that at none: 0 to 20
  double feedback_1 = 0;  // most for the last bit, in parts of the main cursor: 0 to 0.5
  double feedback_2 = 0;  // most for the bit before it: 0 to 0.5

  friend bool operator==(const ReceiveSetting&, const ReceiveSetting&) = default;
};

// An error names the field.
[[nodiscard]] Expected<void> check(const TransmitSetting& setting);
[[nodiscard]] Expected<void> check(const ReceiveSetting& setting);

// As many as one side can have: chosen iterations run from 0 to 8.
inline constexpr std::size_t kMostSettings = 9;

// `count` (1 to kMostSettings) settings spread evenly from those for short cables to those for
// long ones.
[[nodiscard]] std::vector<TransmitSetting> default_transmit_settings(std::size_t count);
[[nodiscard]] std::vector<ReceiveSetting> default_receive_settings(std::size_t count);

// What a port sends and receives with at SDR, where nothing is negotiated.
[[nodiscard]] TransmitSetting sdr_transmit_setting();
[[nodiscard]] ReceiveSetting sdr_receive_setting();

}  // namespace weft::phy
