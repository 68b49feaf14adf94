// SPDX-License-Identifier: Apache-2.0
#include "phy/training/training_options.h"

#include <fmt/format.h>

#include "phy/link_width.h"

namespace weft::phy {
namespace {

constexpr std::uint8_t kKnownSpeeds = 0x3;

tl::unexpected<Error> refuse_training(std::string message) {
  return fail(std::errc::invalid_argument, std::move(message));
}

Expected<void> check_times(const TrainingTimes& times) {
  for (const TrainingTimeInfo& info : kTrainingTimes) {
    const Duration time = times.*info.time;
    if (time <= 0ns || time > 1h) {
      return refuse_training(
          fmt::format("{} of {} ns: above 0 and at most an hour", info.name, time.count()));
    }
  }
  // A remote that has become narrower shows it by lanes that fall silent; taking that up comes
  // before giving those lanes up.
  if (times.lane_loss <= times.lane_settle)
    return refuse_training("lane_loss is to be longer than lane_settle");
  if (times.retrain_least >= times.recovery_retrain)
    return refuse_training("retrain_least is to be shorter than recovery_retrain");
  if (times.narrower_after >= times.config_rcvr_cfg)
    return refuse_training("narrower_after is to be shorter than config_rcvr_cfg");
  return {};
}

}  // namespace

Expected<void> check(const TrainingOptions& options) {
  bool known = false;
  for (const LinkWidth width : kWidestFirst) {
    known = known || lanes_of(width) == options.lanes;
    if (has(options.widths, width) && lanes_of(width) > options.lanes)
      return refuse_training(
          fmt::format("widths {:#x}: wider than {} lanes", options.widths, options.lanes));
  }
  if (!known) return refuse_training(fmt::format("{} lanes: 1, 4, 8 or 12", options.lanes));
  if (options.widths == 0 || options.widths > 0xF)
    return refuse_training(
        fmt::format("widths {:#x}: bits 1 (1x), 2 (4x), 4 (8x), 8 (12x)", options.widths));
  if (options.speeds == 0 || options.speeds > kKnownSpeeds)
    return refuse_training(
        fmt::format("speeds {:#x}: bits 1 (2.5 Gb/s) and 2 (5.0 Gb/s)", options.speeds));
  if (options.error_threshold == 0) return refuse_training("error_threshold 0: at least 1");
  return check_times(options.times);
}

}  // namespace weft::phy
