// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/eye_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <string_view>
#include <utility>

#include "phy/channel/normal.h"

namespace weft::phy {
namespace {

template <class Setting>
Expected<void> check_settings(std::string_view kind, const std::vector<Setting>& settings) {
  if (settings.empty() || settings.size() > kMostSettings) {
    return fail(std::errc::invalid_argument, fmt::format("{} {} configurations: must be 1 to {}",
                                                         settings.size(), kind, kMostSettings));
  }
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (const auto good = check(settings[i]); !good) {
      return fail(good.error().code,
                  fmt::format("{} configuration {}: {}", kind, i, good.error().message));
    }
  }
  return {};
}

double symbols_in(Duration time, LinkSpeed speed) {
  return std::chrono::duration<double>(time).count() * baud_hz(speed) / 10;
}

}  // namespace

Expected<EyeMatrix> EyeMatrix::make(ChannelModel channel, LinkSpeed speed,
                                    std::vector<TransmitSetting> transmit,
                                    std::vector<ReceiveSetting> receive) {
  if (auto good = check_settings("transmit", transmit); !good) return tl::unexpected(good.error());
  if (auto good = check_settings("receive", receive); !good) return tl::unexpected(good.error());
  return EyeMatrix(std::move(channel), speed, std::move(transmit), std::move(receive));
}

EyeMatrix::EyeMatrix(ChannelModel channel, LinkSpeed speed, std::vector<TransmitSetting> transmit,
                     std::vector<ReceiveSetting> receive)
    : channel_(std::move(channel)),
      speed_(speed),
      transmit_(std::move(transmit)),
      receive_(std::move(receive)),
      responses_(channel_.lanes()),
      unknown_(channel_.lanes(), transmit_.size() * receive_.size()),
      qualities_(channel_.lanes() * transmit_.size() * receive_.size()) {
}

const LaneResponse& EyeMatrix::response(std::size_t lane) {
  std::unique_ptr<LaneResponse>& response = responses_[lane];
  if (response == nullptr) response = std::make_unique<LaneResponse>(channel_.lane(lane), speed_);
  return *response;
}

EqualisedLane EyeMatrix::equalised(std::size_t lane, std::size_t transmit, std::size_t receive) {
  assert(lane < lanes() && transmit < transmit_.size() && receive < receive_.size());
  const LaneResponse& of_lane = response(lane);
  return {of_lane, of_lane.pulse(receive_[receive].peaking_db), transmit_[transmit],
          receive_[receive]};
}

const LaneQuality& EyeMatrix::quality(std::size_t lane, std::size_t transmit, std::size_t receive) {
  std::optional<LaneQuality>& quality =
      qualities_[(lane * receive_.size() + receive) * transmit_.size() + transmit];
  if (!quality) {
    const EqualisedLane both = equalised(lane, transmit, receive);
    const double bits = bit_error_rate(both);
    quality = LaneQuality{.matched = bits <= kMatchedErrorRate,
                          .bit_error_rate = bits,
                          .symbol_error_rate = symbol_error_rate(bits),
                          .worst_eye_mv = peak_distortion_mv(both)};
    if (--unknown_[lane] == 0) responses_[lane].reset();
  }
  return *quality;
}

EyeOpening EyeMatrix::opening(std::size_t lane, std::size_t transmit, std::size_t receive,
                              double target) {
  return eye_opening(equalised(lane, transmit, receive), target);
}

DwellResult EyeMatrix::dwell(std::size_t lane, std::size_t transmit, std::size_t receive,
                             Duration time, Random& random) {
  assert(time >= Duration::zero());
  const LaneQuality& seen = quality(lane, transmit, receive);
  return {.matched = seen.matched,
          .symbol_errors = draw_successes(random, symbols_in(time, speed_), seen.symbol_error_rate),
          .worst_eye_mv = seen.worst_eye_mv};
}

DwellResult EyeMatrix::dwell_on_all(std::size_t transmit, std::size_t receive, Duration time,
                                    Random& random) {
  DwellResult all{.matched = true, .worst_eye_mv = std::numeric_limits<double>::infinity()};
  for (std::size_t lane = 0; lane < lanes(); ++lane) {
    const DwellResult one = dwell(lane, transmit, receive, time, random);
    all.matched = all.matched && one.matched;
    all.symbol_errors += one.symbol_errors;
    all.worst_eye_mv = std::min(all.worst_eye_mv, one.worst_eye_mv);
  }
  return all;
}

}  // namespace weft::phy
