// SPDX-License-Identifier: Apache-2.0
// What a port may train to, and how long its training waits for what.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/time.h"

namespace weft::phy {

// docs/link-states.md says where each figure comes from.
struct TrainingTimes {
  // Time-outs of states (IBA vol 2, 5.6).
  Duration sleep_delay = 400ms;
  Duration polling_active = 2ms;
  Duration polling_quiet = 100ms;
  Duration config_debounce = 100ms;
  Duration config_rcvr_cfg = 150ms;  // for all visits to it until the link is up
  Duration config_wait_rmt = 2ms;
  Duration config_tx_rev_lanes = 2ms;
  Duration config_idle = 2ms;
  Duration recovery_retrain = 2ms;
  Duration recovery_wait_rmt = 2ms;
  Duration recovery_idle = 2ms;
  // A state sends its training sequences at least this long, so that the other end can see them:
  // 16 of them at 2.5 Gb/s.
  Duration least_sent = 1024ns;
  // The same for Recovery.Retrain, which is to last longer than a signal takes to the other end and
  // back: else its TS1 can go round between the two for ever, each taking them for a new recovery.
  Duration retrain_least = 500us;
  // Receivers are taken as configured when what the lanes carry has not changed for so long.
  Duration lane_settle = 10us;
  // A lane that carries nothing, or not what it should, is lost. More than lane_settle.
  Duration lane_loss = 20us;
  // In Config.RcvrCfg, how long to wait for the widest width before a narrower one is taken.
  Duration narrower_after = 20ms;
  // Excess errors: so many symbols in error on the lanes in use, in a time that begins with one.
  Duration error_window = 1ms;
};

struct TrainingTimeInfo {
  std::string_view name;  // as in TrainingTimes
  Duration TrainingTimes::*time = nullptr;
};
inline constexpr std::array kTrainingTimes{
    TrainingTimeInfo{"sleep_delay", &TrainingTimes::sleep_delay},
    TrainingTimeInfo{"polling_active", &TrainingTimes::polling_active},
    TrainingTimeInfo{"polling_quiet", &TrainingTimes::polling_quiet},
    TrainingTimeInfo{"config_debounce", &TrainingTimes::config_debounce},
    TrainingTimeInfo{"config_rcvr_cfg", &TrainingTimes::config_rcvr_cfg},
    TrainingTimeInfo{"config_wait_rmt", &TrainingTimes::config_wait_rmt},
    TrainingTimeInfo{"config_tx_rev_lanes", &TrainingTimes::config_tx_rev_lanes},
    TrainingTimeInfo{"config_idle", &TrainingTimes::config_idle},
    TrainingTimeInfo{"recovery_retrain", &TrainingTimes::recovery_retrain},
    TrainingTimeInfo{"recovery_wait_rmt", &TrainingTimes::recovery_wait_rmt},
    TrainingTimeInfo{"recovery_idle", &TrainingTimes::recovery_idle},
    TrainingTimeInfo{"least_sent", &TrainingTimes::least_sent},
    TrainingTimeInfo{"retrain_least", &TrainingTimes::retrain_least},
    TrainingTimeInfo{"lane_settle", &TrainingTimes::lane_settle},
    TrainingTimeInfo{"lane_loss", &TrainingTimes::lane_loss},
    TrainingTimeInfo{"narrower_after", &TrainingTimes::narrower_after},
    TrainingTimeInfo{"error_window", &TrainingTimes::error_window},
};

struct TrainingOptions {
  std::size_t lanes = 4;          // that the port has: 1, 4, 8 or 12
  std::uint8_t widths = 0x3;      // LinkWidthSupported: bits of LinkWidth
  std::uint8_t speeds = 0x1;      // LinkSpeedSupported: bits of LinkSpeed
  bool reverses_receive = true;   // lanes that arrive in reversed order are put in order
  bool reverses_transmit = true;  // Config.TxRevLanes is there
  std::uint32_t error_threshold = 16;
  TrainingTimes times = {};
};

// Refuses no lanes, widths or speeds, wider ones than there are lanes, times that are not above
// zero or above an hour, and times that do not fit together.
Expected<void> check(const TrainingOptions& options);

}  // namespace weft::phy
