// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "phy/training/training_options.h"

namespace weft::phy {

// For tests that make every bit: the usual times are so long that 100 ms of them would have to be.
inline TrainingTimes quick_times() {
  TrainingTimes times;
  times.polling_active = 20us;
  times.polling_quiet = 50us;
  times.config_debounce = 20us;
  times.config_rcvr_cfg = 800us;
  times.config_wait_rmt = 50us;
  times.config_tx_rev_lanes = 50us;
  times.config_idle = 50us;
  times.recovery_retrain = 50us;
  times.recovery_wait_rmt = 50us;
  times.recovery_idle = 50us;
  times.retrain_least = 5us;
  times.lane_settle = 2us;
  times.lane_loss = 5us;
  times.narrower_after = 60us;
  return times;
}

}  // namespace weft::phy
