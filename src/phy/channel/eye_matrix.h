// SPDX-License-Identifier: Apache-2.0
// What a port sees of a channel while it sweeps: each of its receive configurations under each of
// its peer's transmit configurations, lane by lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/time.h"
#include "phy/channel/analytic_eye.h"
#include "phy/channel/channel_model.h"
#include "phy/channel/lane_response.h"
#include "phy/channel/settings.h"
#include "phy/link_speed.h"

namespace weft::phy {

// Up to this bit error rate a receiver keeps to the bits and to the bounds of symbols: at most one
// symbol in a hundred is wrong.
inline constexpr double kMatchedErrorRate = 1e-3;

struct LaneQuality {
  bool matched = false;
  double bit_error_rate = 0;     // of IDLE data
  double symbol_error_rate = 0;  // the probability that a symbol of it arrives wrong
  double worst_eye_mv = 0;       // peak_distortion_mv()
};

// What a receiver has counted while one configuration was held.
struct DwellResult {
  bool matched = false;             // on every lane that was looked at
  std::uint64_t symbol_errors = 0;  // of all of them
  double worst_eye_mv = 0;          // of the worst of them

  // A receive configuration counts only then (DDR auto-negotiation, "Sweepmode").
  [[nodiscard]] bool clean() const { return matched && symbol_errors == 0; }
};

// Computes what it is asked for the first time it is asked, and keeps it. One can serve all ports
// that have an equal channel and equal configurations, as long as they take turns.
class EyeMatrix {
 public:
  // At most kMostSettings of each. An error names the configuration and the field.
  static Expected<EyeMatrix> make(ChannelModel channel, LinkSpeed speed,
                                  std::vector<TransmitSetting> transmit,
                                  std::vector<ReceiveSetting> receive);

  [[nodiscard]] std::size_t lanes() const { return channel_.lanes(); }
  [[nodiscard]] LinkSpeed speed() const { return speed_; }
  [[nodiscard]] const ChannelModel& channel() const { return channel_; }
  [[nodiscard]] const std::vector<TransmitSetting>& transmit() const { return transmit_; }
  [[nodiscard]] const std::vector<ReceiveSetting>& receive() const { return receive_; }

  const LaneQuality& quality(std::size_t lane, std::size_t transmit, std::size_t receive);
  // Some tens of times the work of quality(), and not kept: for people to look at.
  EyeOpening opening(std::size_t lane, std::size_t transmit, std::size_t receive,
                     double target = 1e-12);
  // For an evaluation of one's own: sampled_lane.h.
  EqualisedLane equalised(std::size_t lane, std::size_t transmit, std::size_t receive);

  // What is counted on one lane, or on all, in so much time; errors are drawn.
  DwellResult dwell(std::size_t lane, std::size_t transmit, std::size_t receive, Duration time,
                    Random& random);
  DwellResult dwell_on_all(std::size_t transmit, std::size_t receive, Duration time,
                           Random& random);

 private:
  EyeMatrix(ChannelModel channel, LinkSpeed speed, std::vector<TransmitSetting> transmit,
            std::vector<ReceiveSetting> receive);
  const LaneResponse& response(std::size_t lane);

  ChannelModel channel_;
  LinkSpeed speed_;
  std::vector<TransmitSetting> transmit_;
  std::vector<ReceiveSetting> receive_;
  // By lane. One is kept until all pairs of its lane are known: it is larger than what they say.
  std::vector<std::unique_ptr<LaneResponse>> responses_;
  std::vector<std::size_t> unknown_;                   // pairs of a lane
  std::vector<std::optional<LaneQuality>> qualities_;  // by lane and configurations
};

}  // namespace weft::phy
