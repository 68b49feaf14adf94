// SPDX-License-Identifier: Apache-2.0
#include "phy/training/training_table.h"

#include <array>

namespace weft::phy {
namespace {

using At = TrainingState;
using On = TrainingEvent;
using Physical = wire::PortPhysicalState;

constexpr std::array<TrainingStateInfo, kTrainingStates> kStateInfos{{
    {"Disabled", LaneSend::kSilence, Physical::kDisabled, nullptr,
     "off until the subnet manager wants it otherwise"},
    {"Sleep.Delay", LaneSend::kSilence, Physical::kSleep, &TrainingTimes::sleep_delay,
     "silent and deaf, so that the other end goes down too"},
    {"Sleep.Quiet", LaneSend::kSilence, Physical::kSleep, nullptr,
     "silent; wakes when the other end polls"},
    {"Polling.Active", LaneSend::kTs1, Physical::kPolling, &TrainingTimes::polling_active,
     "calls, and listens"},
    {"Polling.Quiet", LaneSend::kSilence, Physical::kPolling, &TrainingTimes::polling_quiet,
     "listens"},
    {"Config.Debounce", LaneSend::kTs1, Physical::kTraining, &TrainingTimes::config_debounce,
     "lets plugs, lasers and receivers settle"},
    {"Config.RcvrCfg", LaneSend::kTs1, Physical::kTraining, &TrainingTimes::config_rcvr_cfg,
     "finds polarity, order and width of the lanes"},
    {"Config.WaitRmt", LaneSend::kTs2, Physical::kTraining, &TrainingTimes::config_wait_rmt,
     "waits until the other end has done so, with the same width"},
    {"Config.TxRevLanes", LaneSend::kTs2, Physical::kTraining, &TrainingTimes::config_tx_rev_lanes,
     "the same with its own lanes reversed, for one that cannot do that itself"},
    {"Config.Idle", LaneSend::kIdle, Physical::kTraining, &TrainingTimes::config_idle,
     "waits for idle data, all being configured"},
    {"LinkUp", LaneSend::kData, Physical::kLinkUp, nullptr, "packets"},
    {"Recovery.Retrain", LaneSend::kTs1, Physical::kLinkErrorRecovery,
     &TrainingTimes::recovery_retrain, "trains the receivers again, with the width as it is"},
    {"Recovery.WaitRmt", LaneSend::kTs2, Physical::kLinkErrorRecovery,
     &TrainingTimes::recovery_wait_rmt, "waits until the other end has done so"},
    {"Recovery.Idle", LaneSend::kIdle, Physical::kLinkErrorRecovery, &TrainingTimes::recovery_idle,
     "waits for idle data"},
}};

constexpr TrainingStates kEveryState = (1U << kTrainingStates) - 1;

template <class... States>
constexpr TrainingStates in_any(States... states) {
  return static_cast<TrainingStates>((bit(states) | ...));
}
constexpr TrainingStates all_but(TrainingStates states) {
  return static_cast<TrainingStates>(kEveryState & ~states);
}

constexpr TrainingStates kAtRest = in_any(At::kDisabled, At::kSleepDelay, At::kSleepQuiet);
constexpr TrainingStates kCalling = in_any(At::kSleepQuiet, At::kPollingActive, At::kPollingQuiet);
constexpr TrainingStates kWaitingRemote = in_any(At::kConfigWaitRmt, At::kConfigTxRevLanes);
constexpr TrainingStates kRecovering =
    in_any(At::kRecoveryRetrain, At::kRecoveryWaitRmt, At::kRecoveryIdle);
constexpr TrainingStates kRecovered = in_any(At::kRecoveryWaitRmt, At::kRecoveryIdle);
constexpr TrainingStates kEndless = in_any(At::kDisabled, At::kSleepQuiet, At::kLinkUp);
constexpr TrainingStates kInOrder = kWaitingRemote | in_any(At::kConfigIdle) | kRecovered;

constexpr auto kAlways = TrainingGuard::kNone;
constexpr auto kSleeps = TrainingGuard::kSleepsWhenDown;
constexpr std::optional<TrainingState> kStays;

constexpr std::array kTable{
    // Commands of the subnet manager (LinkPhyState), of the DDR negotiation and of the link layer.
    TrainingRow{all_but(in_any(At::kDisabled)), On::kDisableCommand, kAlways, At::kDisabled,
                kForgetLanes},
    TrainingRow{in_any(At::kDisabled), On::kDisableCommand, kAlways, kStays},
    TrainingRow{kEveryState, On::kSleepCommand, kAlways, At::kSleepDelay, kForgetLanes},
    TrainingRow{kEveryState, On::kPollingCommand, kAlways, At::kPollingActive, kForgetLanes},
    TrainingRow{all_but(kAtRest), On::kSpeedCommand, kAlways, At::kPollingActive, kForgetLanes},
    TrainingRow{kAtRest, On::kSpeedCommand, kAlways, kStays},
    TrainingRow{in_any(At::kLinkUp), On::kRetrainCommand, kAlways, At::kRecoveryRetrain},
    TrainingRow{all_but(in_any(At::kLinkUp)), On::kRetrainCommand, kAlways, kStays},
    // Sleeping and Polling.
    TrainingRow{in_any(At::kSleepDelay), On::kTimeOut, kAlways, At::kSleepQuiet},
    TrainingRow{in_any(At::kPollingActive), On::kTimeOut, kAlways, At::kPollingQuiet},
    TrainingRow{in_any(At::kPollingQuiet), On::kTimeOut, kAlways, At::kPollingActive, kOtherSpeed},
    TrainingRow{kCalling, On::kTs1Heard, kAlways, At::kConfigDebounce},
    // Configuration.
    TrainingRow{in_any(At::kConfigDebounce), On::kTimeOut, kAlways, At::kConfigRcvrCfg,
                kBeginConfiguration},
    TrainingRow{in_any(At::kConfigRcvrCfg), On::kInvertedHeard, kAlways, At::kConfigRcvrCfg,
                kTurnPolarity},
    TrainingRow{in_any(At::kConfigRcvrCfg), On::kReceiversConfigured, kAlways, At::kConfigWaitRmt,
                kTakeWidth},
    TrainingRow{in_any(At::kConfigRcvrCfg), On::kTimeOut, kSleeps, At::kSleepDelay,
                kForgetLanes | kCountFailed},
    TrainingRow{in_any(At::kConfigRcvrCfg), On::kTimeOut, kAlways, At::kPollingActive,
                kForgetLanes | kCountFailed},
    TrainingRow{kWaitingRemote | in_any(At::kConfigIdle), On::kLaneOrderWrong, kAlways,
                At::kConfigRcvrCfg, kForgetOrder},
    TrainingRow{kWaitingRemote, On::kRemoteConfigured, kAlways, At::kConfigIdle},
    TrainingRow{in_any(At::kConfigWaitRmt), On::kRemoteNarrower, kAlways, At::kConfigWaitRmt,
                kNarrow},
    TrainingRow{in_any(At::kConfigTxRevLanes), On::kRemoteNarrower, kAlways, At::kConfigRcvrCfg,
                kForgetOrder},
    TrainingRow{kWaitingRemote, On::kLanesLost, kAlways, At::kConfigRcvrCfg, kForgetOrder},
    TrainingRow{in_any(At::kConfigWaitRmt), On::kTimeOut, TrainingGuard::kMayReverse,
                At::kConfigTxRevLanes, kReverseTransmit},
    TrainingRow{kWaitingRemote, On::kTimeOut, kAlways, At::kConfigRcvrCfg, kForgetOrder},
    TrainingRow{in_any(At::kConfigIdle), On::kIdleHeard, kAlways, At::kLinkUp, kCountUp},
    TrainingRow{in_any(At::kConfigIdle), On::kTs1Heard, kAlways, At::kConfigRcvrCfg, kForgetOrder},
    TrainingRow{in_any(At::kConfigIdle), On::kTimeOut, kAlways, At::kConfigRcvrCfg, kForgetOrder},
    // LinkUp and Recovery.
    TrainingRow{in_any(At::kLinkUp), On::kTs1Heard, kAlways, At::kRecoveryRetrain},
    TrainingRow{in_any(At::kLinkUp), On::kLanesLost, kAlways, At::kRecoveryRetrain},
    TrainingRow{in_any(At::kLinkUp), On::kExcessErrors, kAlways, At::kRecoveryRetrain, kCountBurst},
    TrainingRow{in_any(At::kRecoveryRetrain), On::kReceiversConfigured, kAlways,
                At::kRecoveryWaitRmt},
    TrainingRow{kRecovered, On::kLaneOrderWrong, kAlways, At::kRecoveryRetrain},
    TrainingRow{in_any(At::kRecoveryWaitRmt), On::kRemoteConfigured, kAlways, At::kRecoveryIdle},
    TrainingRow{in_any(At::kRecoveryIdle), On::kIdleHeard, kAlways, At::kLinkUp, kCountRecovery},
    TrainingRow{kRecovering, On::kTimeOut, kSleeps, At::kSleepDelay, kForgetLanes | kCountDowned},
    TrainingRow{kRecovering, On::kTimeOut, kAlways, At::kPollingActive,
                kForgetLanes | kCountDowned},
    // Signs that are of no account.
    TrainingRow{kEndless, On::kTimeOut, kAlways, kStays},
    TrainingRow{all_but(kCalling | in_any(At::kConfigIdle, At::kLinkUp)), On::kTs1Heard, kAlways,
                kStays},
    TrainingRow{all_but(in_any(At::kConfigRcvrCfg)), On::kInvertedHeard, kAlways, kStays},
    TrainingRow{all_but(in_any(At::kConfigRcvrCfg, At::kRecoveryRetrain)), On::kReceiversConfigured,
                kAlways, kStays},
    TrainingRow{all_but(kWaitingRemote | in_any(At::kRecoveryWaitRmt)), On::kRemoteConfigured,
                kAlways, kStays},
    TrainingRow{all_but(kWaitingRemote), On::kRemoteNarrower, kAlways, kStays},
    TrainingRow{all_but(kInOrder), On::kLaneOrderWrong, kAlways, kStays},
    TrainingRow{all_but(kWaitingRemote | in_any(At::kLinkUp)), On::kLanesLost, kAlways, kStays},
    TrainingRow{all_but(in_any(At::kConfigIdle, At::kRecoveryIdle)), On::kIdleHeard, kAlways,
                kStays},
    TrainingRow{all_but(in_any(At::kLinkUp)), On::kExcessErrors, kAlways, kStays},
};

}  // namespace

const TrainingStateInfo& info(TrainingState state) {
  return kStateInfos[static_cast<std::size_t>(state)];
}

std::span<const TrainingRow> training_table() {
  return kTable;
}

}  // namespace weft::phy
