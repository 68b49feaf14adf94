// SPDX-License-Identifier: Apache-2.0
// The link physical state machine as data (IBA vol 2, 5.6): its states, and one table of what leads
// from which to which. LinkTraining runs it, training_text.h prints it, and docs/link-states.md has
// the print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/time.h"
#include "phy/training/training_options.h"
#include "wire/sm/port_info.h"

namespace weft::phy {

enum class TrainingState : std::uint8_t {
  kDisabled,
  kSleepDelay,
  kSleepQuiet,
  kPollingActive,
  kPollingQuiet,
  kConfigDebounce,
  kConfigRcvrCfg,
  kConfigWaitRmt,
  kConfigTxRevLanes,
  kConfigIdle,
  kLinkUp,
  kRecoveryRetrain,
  kRecoveryWaitRmt,
  kRecoveryIdle,
  kCount
};
inline constexpr std::size_t kTrainingStates = static_cast<std::size_t>(TrainingState::kCount);

enum class TrainingEvent : std::uint8_t {
  // Commands: they happen at a moment.
  kDisableCommand,
  kSleepCommand,
  kPollingCommand,
  kSpeedCommand,
  kRetrainCommand,
  // Signs: what is so, or has been so for long enough.
  kTimeOut,
  kTs1Heard,
  kInvertedHeard,
  kReceiversConfigured,
  kRemoteConfigured,
  kRemoteNarrower,
  kLaneOrderWrong,
  kLanesLost,
  kIdleHeard,
  kExcessErrors,
  kCount
};
inline constexpr std::size_t kTrainingEvents = static_cast<std::size_t>(TrainingEvent::kCount);
inline constexpr TrainingEvent kFirstSign = TrainingEvent::kTimeOut;

// What a lane's transmitter sends.
enum class LaneSend : std::uint8_t {
  kSilence,  // electrical idle
  kTs1,
  kTs2,
  kIdle,  // idle data
  kData,  // packets when there are any, idle data else
};

enum class TrainingGuard : std::uint8_t { kNone, kSleepsWhenDown, kMayReverse, kCount };

// What a transition does besides; bits.
enum TrainingAction : std::uint16_t {
  kNothingMore = 0,
  kForgetLanes = 1 << 0,
  kOtherSpeed = 1 << 1,
  kBeginConfiguration = 1 << 2,
  kTurnPolarity = 1 << 3,
  kTakeWidth = 1 << 4,
  kNarrow = 1 << 5,
  kReverseTransmit = 1 << 6,
  kForgetOrder = 1 << 7,
  kCountUp = 1 << 8,
  kCountFailed = 1 << 9,
  kCountBurst = 1 << 10,
  kCountRecovery = 1 << 11,
  kCountDowned = 1 << 12,
};
inline constexpr std::size_t kTrainingActions = 13;

using TrainingStates = std::uint16_t;  // bits: 1 << state
static_assert(kTrainingStates <= 16);

[[nodiscard]] constexpr TrainingStates bit(TrainingState state) {
  return static_cast<TrainingStates>(1U << static_cast<unsigned>(state));
}

struct TrainingStateInfo {
  std::string_view name;
  LaneSend sends = LaneSend::kSilence;
  wire::PortPhysicalState physical{};           // of PortInfo
  Duration TrainingTimes::*time_out = nullptr;  // none: it waits for as long as it takes
  std::string_view says;                        // what the state is for
};

// A row: in any of `states`, when `event` happens or is so, and `guard` holds. The first that fits
// counts. Without `next` nothing changes: such a row says that the event is of no account there.
struct TrainingRow {
  TrainingStates states = 0;
  TrainingEvent event{};
  TrainingGuard guard = TrainingGuard::kNone;
  std::optional<TrainingState> next;
  std::uint16_t actions = kNothingMore;
};

[[nodiscard]] const TrainingStateInfo& info(TrainingState state);
[[nodiscard]] std::span<const TrainingRow> training_table();

}  // namespace weft::phy
