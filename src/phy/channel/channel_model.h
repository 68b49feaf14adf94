// SPDX-License-Identifier: Apache-2.0
// What lies between the transmitters of one port and the receivers of the other, one way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "phy/link_speed.h"

namespace weft::phy {

// Losses are said for this frequency, at which a DDR lane alternates.
inline constexpr double kLossFrequencyHz = 2.5e9;
// Noise is said for this bandwidth.
inline constexpr double kNoiseBandwidthHz = 5e9;

[[nodiscard]] constexpr double baud_hz(LinkSpeed speed) {
  return static_cast<double>(lane_bits_per_s(speed));
}

// A cable between two boards, as a lab file may say it. What the fields mean in the formulas is in
// docs/channel-model.md. The defaults are a cable of 28 AWG pairs in a quiet machine.
struct ChannelDescription {
  double length_m = 5;                // of the cable: 0 to 100
  double loss_db_per_m = 1.8;         // of the cable at kLossFrequencyHz: 0 to 20
  double skin_share = 0.8;            // of that loss, by the skin effect; the rest is dielectric
  double board_loss_db = 4;           // of both boards and connectors, the same way: 0 to 40
  double return_loss_db = 14;         // of a connector or package: 3 to 60
  double crosstalk_db = 42;           // neighbours below what the transmitter sends: 10 to 120
  double noise_mv = 2;                // rms at the receiver, in kNoiseBandwidthHz: 0 to 1000
  double random_jitter_ps = 2.5;      // rms: 0 to 50
  double sinusoidal_jitter_ps = 8;    // peak: 0 to 50
  double sinusoidal_jitter_hz = 2e7;  // 1 to 1e9
  double lane_spread = 0.05;          // most by which lanes differ, of loss and noise: 0 to 0.5
  std::uint32_t lanes = 4;            // 1 to 12
  std::uint64_t seed = 1;             // of what differs from lane to lane

  // The same cable the other way: alike in all but what is drawn from the seed. Twice is the cable
  // itself.
  [[nodiscard]] ChannelDescription reverse() const;
  friend bool operator==(const ChannelDescription&, const ChannelDescription&) = default;
};

// A discontinuity at each end of a board sends a part of what passes around once more.
struct BoardEcho {
  double gain = 0;  // of what comes around, with its sign
  double delay_ps = 0;
};

// One lane of it, with what was drawn.
struct LaneChannel {
  double cable_loss_db = 0;  // of the whole cable at kLossFrequencyHz
  double board_loss_db = 0;
  double skin_share = 0;
  std::array<BoardEcho, 2> echoes{};
  double cable_echo_gain = 0;  // of what crosses the cable twice more, but for the loss there
  double crosstalk_gain = 0;   // rms of neighbours at the receiver, per rms of what is sent
  double noise_mv = 0;
  double random_jitter_ps = 0;
  double sinusoidal_jitter_ps = 0;
  double sinusoidal_jitter_hz = 1;

  // Of cable and boards, at any frequency.
  [[nodiscard]] double loss_db(double frequency_hz) const;
};

// An immutable value: what it says depends on the description alone.
class ChannelModel {
 public:
  // An error names the field.
  static Expected<ChannelModel> make(const ChannelDescription& description);

  [[nodiscard]] const ChannelDescription& description() const { return description_; }
  [[nodiscard]] std::size_t lanes() const { return lanes_.size(); }
  [[nodiscard]] const LaneChannel& lane(std::size_t index) const { return lanes_[index]; }

 private:
  explicit ChannelModel(const ChannelDescription& description);

  ChannelDescription description_;
  std::vector<LaneChannel> lanes_;
};

}  // namespace weft::phy
