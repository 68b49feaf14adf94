// SPDX-License-Identifier: Apache-2.0
#include "phy/training/link_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "puppet.h"

namespace weft::phy {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using Physical = wire::PortPhysicalState;

constexpr LaneTransmit kNothing{};

std::vector<LaneTransmit> numbered(LaneSend send, std::vector<int> lanes) {
  std::vector<LaneTransmit> all;
  for (const int lane : lanes) {
    all.push_back(lane < 0 ? kNothing
                           : LaneTransmit{.send = send, .lane = static_cast<std::uint8_t>(lane)});
  }
  return all;
}

TEST(LinkTraining, IsDisabledAndSilentUntilItIsTold) {
  Puppet port;
  EXPECT_EQ(port.state(), TrainingState::kDisabled);
  EXPECT_EQ(port.training.physical_state(), Physical::kDisabled);
  EXPECT_FALSE(port.training.deadline());
  port.hear_all(LaneSignal::kTs1);
  port.pass(1s);
  EXPECT_EQ(port.state(), TrainingState::kDisabled);
  EXPECT_THAT(port.sends(), Each(kNothing));
  EXPECT_FALSE(port.training.receiver(0).listens);
}

TEST(LinkTraining, PollsFor2MillisecondsAndListensFor100InTurn) {
  Puppet port;
  port.poll();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(port.state(), TrainingState::kPollingActive);
    EXPECT_EQ(port.sends(), numbered(LaneSend::kTs1, {0, 1, 2, 3}));
    port.pass(2ms - 1ns);
    EXPECT_EQ(port.state(), TrainingState::kPollingActive);
    port.pass(1ns);
    EXPECT_EQ(port.state(), TrainingState::kPollingQuiet);
    EXPECT_THAT(port.sends(), Each(kNothing));
    EXPECT_TRUE(port.training.receiver(3).listens);
    EXPECT_FALSE(port.training.receiver(4).listens);
    port.pass(100ms);
  }
  EXPECT_EQ(port.training.physical_state(), Physical::kPolling);
}

TEST(LinkTraining, GoesFromTs1OverTs2AndIdleDataToLinkUp) {
  Puppet port;
  port.poll();
  port.hear(2, {.signal = LaneSignal::kTs1, .lane = 2});
  EXPECT_EQ(port.state(), TrainingState::kConfigDebounce);
  port.hear_all(LaneSignal::kTs1);
  port.pass(100ms - 1ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigDebounce);
  EXPECT_EQ(port.sends(), numbered(LaneSend::kTs1, {0, 1, 2, 3}));
  port.pass(1ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigRcvrCfg);
  port.pass(1024ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigWaitRmt);
  EXPECT_EQ(port.training.width(), LinkWidth::k4x);
  EXPECT_EQ(port.sends(), numbered(LaneSend::kTs2, {0, 1, 2, 3}));
  port.hear_all(LaneSignal::kTs2);
  EXPECT_EQ(port.state(), TrainingState::kConfigWaitRmt);
  port.pass(1024ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigIdle);
  EXPECT_THAT(port.sends(), Each(LaneTransmit{.send = LaneSend::kIdle}));
  EXPECT_FALSE(port.training.may_send_packets());
  port.hear_all(LaneSignal::kIdle);
  port.pass(1024ns);
  EXPECT_EQ(port.state(), TrainingState::kLinkUp);
  EXPECT_THAT(port.sends(), Each(LaneTransmit{.send = LaneSend::kData}));
  EXPECT_TRUE(port.training.may_send_packets());
  EXPECT_EQ(port.count(TrainingCounter::kLinkUps), 1U);
  EXPECT_TRUE(brings_up(port.steps.back()));
  EXPECT_FALSE(port.training.deadline());
}

TEST(LinkTraining, IsNotConfiguredBeforeLanesHaveSettled) {
  Puppet port;
  port.configure();
  port.hear(1, {});
  port.pass(500ns);
  port.hear(1, {.signal = LaneSignal::kTs1, .lane = 1});
  port.pass(10us - 1ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigRcvrCfg);
  port.pass(1ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigWaitRmt);
}

TEST(LinkTraining, TakesANarrowerWidthOnlyAfterAWhile) {
  Puppet port;
  port.poll();
  port.hear_all(LaneSignal::kTs1, 3);
  port.pass(100ms);
  EXPECT_EQ(port.state(), TrainingState::kConfigRcvrCfg);
  port.pass(20ms - 1ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigRcvrCfg);
  port.pass(1ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigWaitRmt);
  EXPECT_EQ(port.training.width(), LinkWidth::k1x);
  EXPECT_EQ(port.sends(), numbered(LaneSend::kTs2, {0, -1, -1, -1}));
}

TEST(LinkTraining, BecomesAsNarrowAsTheOtherEnd) {
  Puppet port;
  port.wait_remote();
  port.hear_all(LaneSignal::kTs2, 1);
  port.pass(10us - 1ns);
  EXPECT_EQ(port.training.width(), LinkWidth::k4x);
  port.pass(1ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigWaitRmt);
  EXPECT_EQ(port.training.width(), LinkWidth::k1x);
  EXPECT_EQ(port.sends(), numbered(LaneSend::kTs2, {0, -1, -1, -1}));
  port.pass(1024ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigIdle);
}

TEST(LinkTraining, WaitsWhileTheOtherEndIsWider) {
  Puppet port;
  port.poll();
  port.hear_all(LaneSignal::kTs1, 3);
  port.pass(120ms);
  port.hear(0, {.signal = LaneSignal::kTs2, .lane = 0});
  port.hear(1, {.signal = LaneSignal::kTs2, .lane = 1});
  port.pass(1ms);
  EXPECT_EQ(port.state(), TrainingState::kConfigWaitRmt);
  port.hear(1, {});
  EXPECT_EQ(port.state(), TrainingState::kConfigWaitRmt);
  port.hear(2, {});
  EXPECT_EQ(port.state(), TrainingState::kConfigIdle);
}

TEST(LinkTraining, CorrectsLanesWhosePolarityIsInverted) {
  Puppet port;
  port.poll();
  port.hear_all(LaneSignal::kTs1);
  port.hear(2, {.signal = LaneSignal::kTs1, .lane = 2, .inverted = true});
  EXPECT_FALSE(port.training.receiver(2).inverts);
  port.pass(100ms);
  EXPECT_TRUE(port.training.receiver(2).inverts);
  EXPECT_FALSE(port.training.receiver(1).inverts);
  port.pass(1ms);
  EXPECT_EQ(port.state(), TrainingState::kConfigRcvrCfg) << "lane 2 has not been heard since";
  port.hear(2, {.signal = LaneSignal::kTs1, .lane = 2});
  port.pass(10us);
  EXPECT_EQ(port.training.width(), LinkWidth::k4x);
  port.poll();
  EXPECT_FALSE(port.training.receiver(2).inverts);
}

TEST(LinkTraining, PutsReversedLanesInOrder) {
  Puppet port;
  port.poll();
  for (std::size_t i = 0; i < 4; ++i)
    port.hear(i, {.signal = LaneSignal::kTs1, .lane = static_cast<std::uint8_t>(3 - i)});
  port.pass(101ms);
  EXPECT_EQ(port.state(), TrainingState::kConfigWaitRmt);
  EXPECT_EQ(port.training.receive_map(), (LaneMap{.width = LinkWidth::k4x, .mirror = 4}));
  EXPECT_EQ(port.training.transmit_map(), (LaneMap{.width = LinkWidth::k4x}));
}

TEST(LinkTraining, ReversesItsTransmitLanesForOneThatDoesNotAnswer) {
  Puppet port;
  port.wait_remote();
  port.pass(2ms - 10us + 1024ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigTxRevLanes);
  EXPECT_EQ(port.sends(), numbered(LaneSend::kTs2, {3, 2, 1, 0}));
  EXPECT_EQ(port.training.transmit_map(), (LaneMap{.width = LinkWidth::k4x, .mirror = 4}));
  port.hear_all(LaneSignal::kTs2);
  port.pass(50us);
  port.hear_all(LaneSignal::kIdle);
  port.pass(50us);
  EXPECT_EQ(port.state(), TrainingState::kLinkUp);
  EXPECT_EQ(port.training.transmit_map(), (LaneMap{.width = LinkWidth::k4x, .mirror = 4}));
}

TEST(LinkTraining, HasItsLanesInOrderAgainWhenThatWasInVain) {
  Puppet port;
  port.wait_remote();
  port.pass(4ms - 10us + 1024ns);
  EXPECT_EQ(port.state(), TrainingState::kConfigRcvrCfg);
  EXPECT_EQ(port.sends(), numbered(LaneSend::kTs1, {0, 1, 2, 3}));
  EXPECT_FALSE(port.training.width());
}

TEST(LinkTraining, ReversesNothingWhereThePortCannotOrTheWidthIs1x) {
  for (const bool can : {false, true}) {
    Puppet port(can ? TrainingOptions{.lanes = 1, .widths = 0x1}
                    : TrainingOptions{.reverses_transmit = false});
    port.wait_remote();
    ASSERT_EQ(port.state(), TrainingState::kConfigWaitRmt);
    port.pass(2ms);
    for (const TrainingStep& step : port.steps)
      EXPECT_NE(step.to, TrainingState::kConfigTxRevLanes);
  }
}

TEST(LinkTraining, BeginsAgainWhenTheOtherEndTurnsItsLanesRound) {
  for (const bool idle : {false, true}) {
    Puppet port;
    port.wait_remote();
    if (idle) port.hear_all(LaneSignal::kTs2);
    ASSERT_EQ(port.state(), idle ? TrainingState::kConfigIdle : TrainingState::kConfigWaitRmt);
    port.hear(0, {.signal = LaneSignal::kTs2, .lane = 3});
    EXPECT_EQ(port.state(), TrainingState::kConfigRcvrCfg);
    EXPECT_EQ(port.steps.back().event, TrainingEvent::kLaneOrderWrong);
  }
}

TEST(LinkTraining, GoesBackToPollingWhenConfigurationTakesTooLongInAll) {
  Puppet port;
  port.configure();
  const Time began = port.now;
  // It gets to Config.WaitRmt again and again, and the other end never follows.
  while (port.count(TrainingCounter::kTrainingFailed) == 0 && port.now < began + 1s)
    port.pass(100us);
  EXPECT_EQ(port.steps.back().to, TrainingState::kConfigDebounce) << "it still hears TS1";
  EXPECT_GE(port.now - began, 150ms);
  EXPECT_LE(port.now - began, 155ms);
  EXPECT_FALSE(port.training.width());
}

TEST(LinkTraining, GoesBackToConfigurationWhenNoIdleDataComes) {
  for (const bool ts1 : {false, true}) {
    Puppet port;
    port.wait_remote();
    port.hear_all(LaneSignal::kTs2);
    port.pass(1100ns);
    ASSERT_EQ(port.state(), TrainingState::kConfigIdle);
    if (ts1) {
      port.hear(3, {.signal = LaneSignal::kTs1, .lane = 3});
      EXPECT_EQ(port.steps.back().event, TrainingEvent::kTs1Heard);
      EXPECT_EQ(port.state(), TrainingState::kConfigRcvrCfg);
      continue;
    }
    port.pass(2ms - 500ns);
    EXPECT_EQ(port.steps.back().event, TrainingEvent::kTimeOut);
    EXPECT_EQ(port.state(), TrainingState::kConfigRcvrCfg);
  }
}

TEST(LinkTraining, ObeysTheSubnetManagerInEveryState) {
  Puppet port;
  port.bring_up();
  EXPECT_TRUE(port.training.command(Physical::kDisabled, port.now));
  EXPECT_EQ(port.state(), TrainingState::kDisabled);
  EXPECT_THAT(port.sends(), Each(kNothing));
  EXPECT_TRUE(takes_down(port.steps.back()));
  EXPECT_EQ(port.count(TrainingCounter::kLinkDowned), 0U);
  EXPECT_TRUE(port.training.command(Physical::kSleep, port.now));
  EXPECT_EQ(port.state(), TrainingState::kSleepDelay);
  port.poll();
  port.hear_all(LaneSignal::kSilence);
  port.poll();
  EXPECT_EQ(port.state(), TrainingState::kPollingActive);
  for (const Physical other : {Physical::kNoChange, Physical::kTraining, Physical::kLinkUp})
    EXPECT_FALSE(port.training.command(other, port.now));
}

TEST(LinkTraining, SleepsDeafFor400MillisecondsAndThenUntilItIsCalled) {
  Puppet port;
  port.training.command(Physical::kSleep, port.now);
  EXPECT_EQ(port.training.physical_state(), Physical::kSleep);
  EXPECT_FALSE(port.training.receiver(0).listens);
  port.hear_all(LaneSignal::kTs1);
  port.pass(400ms - 1ns);
  EXPECT_EQ(port.state(), TrainingState::kSleepDelay);
  port.hear_all(LaneSignal::kSilence);
  port.pass(1ns);
  EXPECT_EQ(port.state(), TrainingState::kSleepQuiet);
  EXPECT_TRUE(port.training.receiver(0).listens);
  EXPECT_THAT(port.sends(), Each(kNothing));
  port.pass(10s);
  EXPECT_EQ(port.state(), TrainingState::kSleepQuiet);
  port.hear_all(LaneSignal::kTs1);
  EXPECT_EQ(port.state(), TrainingState::kConfigDebounce);
}

TEST(LinkTraining, FallsAsleepWhereThatIsTheLinkDownDefaultState) {
  Puppet port;
  EXPECT_TRUE(port.training.set_link_down_default(Physical::kSleep));
  EXPECT_FALSE(port.training.set_link_down_default(Physical::kDisabled));
  port.configure();
  port.hear_all(LaneSignal::kSilence);
  port.pass(150ms);
  EXPECT_EQ(port.state(), TrainingState::kSleepDelay);
  EXPECT_TRUE(port.training.set_link_down_default(Physical::kPolling));
  port.configure();
  port.hear_all(LaneSignal::kSilence);
  port.pass(150ms);
  EXPECT_EQ(port.state(), TrainingState::kPollingActive);
}

TEST(LinkTraining, TakesUpEnabledWidthsWhenItTrainsTheNextTime) {
  Puppet port;
  port.bring_up();
  EXPECT_TRUE(port.training.set_widths(0x1));
  EXPECT_EQ(port.training.width(), LinkWidth::k4x);
  port.poll();
  EXPECT_EQ(port.sends(), numbered(LaneSend::kTs1, {0, -1, -1, -1}));
  EXPECT_FALSE(port.training.set_widths(0xC)) << "not supported";
  EXPECT_TRUE(port.training.set_widths(0xFF)) << "all that are supported";
  port.poll();
  EXPECT_EQ(port.sends(), numbered(LaneSend::kTs1, {0, 1, 2, 3}));
}

TEST(LinkTraining, TakesNoNoticeOfLanesThatItDoesNotHave) {
  Puppet port({.lanes = 1, .widths = 0x1});
  port.poll();
  port.hear(1, {.signal = LaneSignal::kTs1, .lane = 0});
  port.hear(400, {.signal = LaneSignal::kTs1, .lane = 0});
  EXPECT_EQ(port.state(), TrainingState::kPollingActive);
  EXPECT_EQ(port.training.transmit(1), kNothing);
  EXPECT_EQ(port.training.transmit(400), kNothing);
}

}  // namespace
}  // namespace weft::phy
