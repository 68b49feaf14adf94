// SPDX-License-Identifier: Apache-2.0
// The lanes of a cable between two ports, both ways, and what the SerDes of the ports make of them.
#pragma once

#include <array>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/time.h"
#include "phy/channel/channel_model.h"
#include "phy/channel/eye_matrix.h"
#include "phy/channel/settings.h"
#include "phy/link_speed.h"
#include "phy/negotiation/serdes_control.h"

namespace weft::phy {

// What a port can send and receive with at DDR, by the numbers of its configurations.
struct SerdesSettings {
  std::vector<TransmitSetting> transmit;
  std::vector<ReceiveSetting> receive;

  friend bool operator==(const SerdesSettings&, const SerdesSettings&) = default;
};

// What the SerDes of a port is set to.
struct SerdesLine {
  LinkSpeed speed = LinkSpeed::kSdr;
  LineUse use = LineUse::kTrain;
  bool on = false;
  std::uint32_t transmit = 0;          // at DDR
  std::vector<std::uint32_t> receive;  // of each lane, at DDR

  friend bool operator==(const SerdesLine&, const SerdesLine&) = default;
};

class ModelledCable {
 public:
  // `channel` is the way from port 0 to port 1; the other way is its reverse(). An error names the
  // field, or the configuration and the port.
  static Expected<ModelledCable> make(const ChannelDescription& channel,
                                      const std::array<SerdesSettings, 2>& ports);

  [[nodiscard]] std::size_t lanes() const { return ways_[0].ddr.lanes(); }
  // What lane `lane` of port `to` receives at DDR in so much time; errors are drawn.
  LaneMeasurement measure(unsigned to, std::uint32_t lane, std::uint32_t transmit,
                          std::uint32_t receive, Duration time, Random& random);
  // The largest bit error rate of the lanes of port `to`, both ports at one speed.
  double bit_error_rate(unsigned to, const std::array<SerdesLine, 2>& lines);
  // The probability that a symbol to port `to` arrives wrong, over its first `used` lanes.
  double symbol_error_rate(unsigned to, std::size_t used, const std::array<SerdesLine, 2>& lines);
  // Whether symbols get across to port `to` on this lane, both ports at one speed.
  bool carries(unsigned to, std::uint32_t lane, const std::array<SerdesLine, 2>& lines);
  // What port `to` sees of the other one's configurations at DDR.
  [[nodiscard]] EyeMatrix& eyes(unsigned to) { return ways_[to].ddr; }

 private:
  struct Way {
    EyeMatrix sdr;
    EyeMatrix ddr;
  };

  const LaneQuality& quality(unsigned to, std::uint32_t lane,
                             const std::array<SerdesLine, 2>& lines);

  explicit ModelledCable(std::array<Way, 2> ways) : ways_(std::move(ways)) {}

  std::array<Way, 2> ways_;  // by the port at which it ends
};

}  // namespace weft::phy
