// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/channel_model.h"

#include <fmt/format.h>

#include <cmath>

#include "base/random.h"
#include "phy/channel/normal.h"
#include "phy/channel/range_check.h"

namespace weft::phy {
namespace {

constexpr std::uint32_t kMostLanes = 12;
constexpr std::uint64_t kOtherWay = 0x0E11'5B2A'C36D'94F7;
// Between a package and its connector: some 15 to 60 mm there and back.
constexpr double kShortestEchoPs = 200, kLongestEchoPs = 800;

double uniform_between(Random& random, double low, double high) {
  return low + (high - low) * uniform(random);
}

LaneChannel draw_lane(const ChannelDescription& whole, Random random) {
  const auto spread = [&] {
    return uniform_between(random, 1 - whole.lane_spread, 1 + whole.lane_spread);
  };
  const double reflection = std::pow(10, -whole.return_loss_db / 20);
  LaneChannel lane;
  lane.cable_loss_db = whole.length_m * whole.loss_db_per_m * spread();
  lane.board_loss_db = whole.board_loss_db * spread();
  lane.skin_share = whole.skin_share;
  lane.noise_mv = whole.noise_mv * spread();
  lane.crosstalk_gain = std::pow(10, -whole.crosstalk_db / 20) * spread();
  for (BoardEcho& echo : lane.echoes) {
    // Two reflections, each of which is what it is said to be within a third.
    const double both = reflection * uniform_between(random, 2.0 / 3, 4.0 / 3) * reflection *
                        uniform_between(random, 2.0 / 3, 4.0 / 3);
    echo.gain = random.chance(0.5) ? both : -both;
    echo.delay_ps = uniform_between(random, kShortestEchoPs, kLongestEchoPs);
  }
  lane.cable_echo_gain = reflection * reflection;
  lane.random_jitter_ps = whole.random_jitter_ps;
  lane.sinusoidal_jitter_ps = whole.sinusoidal_jitter_ps;
  lane.sinusoidal_jitter_hz = whole.sinusoidal_jitter_hz;
  return lane;
}

}  // namespace

ChannelDescription ChannelDescription::reverse() const {
  ChannelDescription other = *this;
  other.seed ^= kOtherWay;
  return other;
}

double LaneChannel::loss_db(double frequency_hz) const {
  const double ratio = frequency_hz / kLossFrequencyHz;
  return (cable_loss_db + board_loss_db) *
         (skin_share * std::sqrt(ratio) + (1 - skin_share) * ratio);
}

Expected<ChannelModel> ChannelModel::make(const ChannelDescription& description) {
  const ChannelDescription& d = description;
  for (const RangedField& field :
       {RangedField{"length_m", d.length_m, 0, 100},
        RangedField{"loss_db_per_m", d.loss_db_per_m, 0, 20},
        RangedField{"skin_share", d.skin_share, 0, 1},
        RangedField{"board_loss_db", d.board_loss_db, 0, 40},
        RangedField{"return_loss_db", d.return_loss_db, 3, 60},
        RangedField{"crosstalk_db", d.crosstalk_db, 10, 120},
        RangedField{"noise_mv", d.noise_mv, 0, 1000},
        RangedField{"random_jitter_ps", d.random_jitter_ps, 0, 50},
        RangedField{"sinusoidal_jitter_ps", d.sinusoidal_jitter_ps, 0, 50},
        RangedField{"sinusoidal_jitter_hz", d.sinusoidal_jitter_hz, 1, 1e9},
        RangedField{"lane_spread", d.lane_spread, 0, 0.5},
        RangedField{"lanes", static_cast<double>(d.lanes), 1, kMostLanes}}) {
    if (const auto good = check_range(field); !good) return tl::unexpected(good.error());
  }
  return ChannelModel(description);
}

ChannelModel::ChannelModel(const ChannelDescription& description) : description_(description) {
  Random random(description.seed);
  lanes_.reserve(description.lanes);
  for (std::uint32_t i = 0; i < description.lanes; ++i)
    lanes_.push_back(draw_lane(description, random.fork()));
}

}  // namespace weft::phy
