// SPDX-License-Identifier: Apache-2.0
// Errors of a link that is up, recovery, and what the DDR negotiation commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "puppet.h"

namespace weft::phy {
namespace {

using ::testing::Each;

constexpr auto kSymbolErrors = TrainingCounter::kSymbolErrors;
constexpr auto kRecoveries = TrainingCounter::kLinkErrorRecoveries;
constexpr auto kDowned = TrainingCounter::kLinkDowned;

TEST(LinkTrainingErrors, AreCountedOnLanesInUseWhileTheLinkIsUp) {
  Puppet port;
  port.poll();
  port.training.symbol_errors(0, 5, port.now);
  port.hear_all(LaneSignal::kTs1, 1);
  port.pass(125ms);
  port.hear_all(LaneSignal::kTs2, 1);
  port.pass(50us);
  port.hear_all(LaneSignal::kIdle, 1);
  port.pass(50us);
  ASSERT_EQ(port.state(), TrainingState::kLinkUp);
  ASSERT_EQ(port.training.width(), LinkWidth::k1x);
  EXPECT_EQ(port.count(kSymbolErrors), 0U);
  port.training.symbol_errors(0, 3, port.now);
  port.training.symbol_errors(1, 7, port.now);
  port.training.symbol_errors(12, 7, port.now);
  EXPECT_EQ(port.count(kSymbolErrors), 3U);
}

TEST(LinkTrainingErrors, LeadToRecoveryWhenTheyAreManyInAShortTime) {
  Puppet port;
  port.bring_up();
  port.training.symbol_errors(0, 15, port.now);
  port.pass(1ms);
  port.training.symbol_errors(1, 15, port.now);
  EXPECT_EQ(port.state(), TrainingState::kLinkUp);
  port.pass(1ms - 1ns);
  port.training.symbol_errors(2, 1, port.now);
  EXPECT_EQ(port.state(), TrainingState::kRecoveryRetrain);
  EXPECT_EQ(port.training.physical_state(), wire::PortPhysicalState::kLinkErrorRecovery);
  EXPECT_EQ(port.count(TrainingCounter::kErrorBursts), 1U);
  EXPECT_EQ(port.count(kSymbolErrors), 31U);
}

TEST(LinkTrainingErrors, AreRecoveredFromWithTheSameWidth) {
  Puppet port;
  port.bring_up(1);
  ASSERT_EQ(port.training.width(), LinkWidth::k1x);
  port.training.symbol_errors(0, 16, port.now);
  EXPECT_EQ(port.training.transmit(0).send, LaneSend::kTs1);
  EXPECT_EQ(port.training.transmit(1).send, LaneSend::kSilence);
  port.hear_all(LaneSignal::kTs1);
  port.pass(500us - 1ns);
  EXPECT_EQ(port.state(), TrainingState::kRecoveryRetrain);
  port.pass(1ns);
  EXPECT_EQ(port.state(), TrainingState::kRecoveryWaitRmt);
  port.hear_all(LaneSignal::kTs2);
  port.pass(50us);
  EXPECT_EQ(port.state(), TrainingState::kRecoveryWaitRmt) << "the other end sends on more lanes";
  port.hear_all(LaneSignal::kTs2, 1);
  port.pass(50us);
  EXPECT_EQ(port.state(), TrainingState::kRecoveryIdle);
  EXPECT_EQ(port.count(kRecoveries), 0U);
  port.hear_all(LaneSignal::kIdle, 1);
  port.pass(50us);
  EXPECT_EQ(port.state(), TrainingState::kLinkUp);
  EXPECT_EQ(port.count(kRecoveries), 1U);
  EXPECT_EQ(port.count(kDowned), 0U);
  EXPECT_EQ(port.count(TrainingCounter::kLinkUps), 1U);
  EXPECT_TRUE(brings_up(port.steps.back()));
}

TEST(LinkTrainingErrors, TakeTheLinkDownWhenRecoveryFailsInAnyOfItsStates) {
  for (const int reached : {0, 1, 2}) {
    Puppet port;
    port.bring_up();
    port.training.retrain(port.now);
    port.hear_all(reached > 0 ? LaneSignal::kTs1 : LaneSignal::kIdle);
    port.pass(600us);
    if (reached > 1) port.hear_all(LaneSignal::kTs2);
    port.pass(20us);
    const TrainingState state = port.state();
    EXPECT_EQ(state, reached == 0   ? TrainingState::kRecoveryRetrain
                     : reached == 1 ? TrainingState::kRecoveryWaitRmt
                                    : TrainingState::kRecoveryIdle);
    if (reached > 0) port.hear_all(LaneSignal::kNoise);
    port.pass(2ms);
    EXPECT_EQ(port.state(), TrainingState::kPollingActive);
    EXPECT_TRUE(takes_down(port.steps.back()));
    EXPECT_EQ(port.count(kDowned), 1U);
    EXPECT_EQ(port.count(kRecoveries), 0U);
  }
}

TEST(LinkTrainingErrors, OfOneLaneThatIsLostLeadToRecovery) {
  for (const LaneSignal lost : {LaneSignal::kSilence, LaneSignal::kNoise}) {
    Puppet port;
    port.bring_up();
    port.hear(2, {.signal = lost});
    port.pass(20us - 1ns);
    EXPECT_EQ(port.state(), TrainingState::kLinkUp);
    port.pass(1ns);
    EXPECT_EQ(port.state(), TrainingState::kRecoveryRetrain);
  }
}

TEST(LinkTrainingErrors, OfALaneThatIsBackSoonLeadToNothing) {
  Puppet port;
  port.bring_up();
  port.hear(2, {});
  port.pass(15us);
  port.hear(2, {.signal = LaneSignal::kIdle});
  port.pass(1ms);
  EXPECT_EQ(port.state(), TrainingState::kLinkUp);
}

TEST(LinkTrainingErrors, OfALostLaneDoNotBeginAnewBecauseThereIsNoiseOnIt) {
  Puppet port;
  port.bring_up();
  port.hear(2, {});
  for (int i = 0; i < 4; ++i) {
    port.pass(5us);
    port.hear(2, {.signal = i % 2 == 0 ? LaneSignal::kNoise : LaneSignal::kSilence});
  }
  EXPECT_EQ(port.state(), TrainingState::kRecoveryRetrain);
}

TEST(LinkTrainingErrors, AreHeardOfFromTheOtherEndByItsTs1) {
  Puppet port;
  port.bring_up();
  port.hear(0, {.signal = LaneSignal::kTs1, .lane = 0});
  EXPECT_EQ(port.state(), TrainingState::kRecoveryRetrain);
}

TEST(LinkTrainingErrors, FallAsleepWhereThatIsTheLinkDownDefaultState) {
  Puppet port;
  port.bring_up();
  port.training.set_link_down_default(wire::PortPhysicalState::kSleep);
  port.hear_all(LaneSignal::kSilence);
  port.pass(3ms);
  EXPECT_EQ(port.state(), TrainingState::kSleepDelay);
  EXPECT_EQ(port.count(kDowned), 1U);
}

TEST(LinkTrainingErrors, RetrainIsOfNoAccountWhereNothingIsUp) {
  Puppet port;
  port.poll();
  port.training.retrain(port.now);
  EXPECT_EQ(port.state(), TrainingState::kPollingActive);
}

TEST(LinkTrainingSpeed, IsTheLowestThatIsEnabled) {
  EXPECT_EQ(Puppet({.speeds = 0x3}).training.speed(), LinkSpeed::kSdr);
  EXPECT_EQ(Puppet({.speeds = 0x2}).training.speed(), LinkSpeed::kDdr);
  Puppet port({.speeds = 0x3});
  EXPECT_TRUE(port.training.set_speeds(0x2));
  EXPECT_EQ(port.training.speed(), LinkSpeed::kSdr);
  port.poll();
  EXPECT_EQ(port.training.speed(), LinkSpeed::kDdr);
  EXPECT_FALSE(port.training.set_speeds(0x4));
}

TEST(LinkTrainingSpeed, IsTakenFromTheNegotiationWhichPollsAnew) {
  Puppet port({.speeds = 0x3});
  port.bring_up();
  EXPECT_TRUE(port.training.set_speed(LinkSpeed::kSdr, port.now));
  EXPECT_EQ(port.state(), TrainingState::kLinkUp) << "it is at that speed";
  EXPECT_TRUE(port.training.set_speed(LinkSpeed::kDdr, port.now));
  EXPECT_EQ(port.state(), TrainingState::kPollingActive);
  EXPECT_EQ(port.training.speed(), LinkSpeed::kDdr);
  EXPECT_TRUE(takes_down(port.steps.back()));
  EXPECT_EQ(port.count(kDowned), 0U) << "nothing has failed";
  port.bring_up();
  EXPECT_EQ(port.state(), TrainingState::kLinkUp);
  EXPECT_EQ(port.training.speed(), LinkSpeed::kDdr);
  // Lost, it stays at the speed that is commanded.
  port.hear_all(LaneSignal::kSilence);
  port.pass(500ms);
  EXPECT_EQ(port.training.speed(), LinkSpeed::kDdr);
  port.training.release_speed();
  port.poll();
  EXPECT_EQ(port.training.speed(), LinkSpeed::kSdr);
}

TEST(LinkTrainingSpeed, IsRefusedWhenItIsNotEnabled) {
  Puppet port;
  port.bring_up();
  EXPECT_FALSE(port.training.set_speed(LinkSpeed::kDdr, port.now));
  EXPECT_EQ(port.state(), TrainingState::kLinkUp);
}

TEST(LinkTrainingSpeed, ChangesAPortAtRestWithoutWakingIt) {
  Puppet port({.speeds = 0x3});
  port.training.set_speed(LinkSpeed::kDdr, port.now);
  EXPECT_EQ(port.state(), TrainingState::kDisabled);
  EXPECT_EQ(port.training.speed(), LinkSpeed::kDdr);
}

TEST(LinkTrainingSpeed, TakesLanesAsSilentUntilTheyAreHeardAtTheNewOne) {
  Puppet port({.speeds = 0x3});
  port.poll();
  port.training.command(wire::PortPhysicalState::kSleep, port.now);
  port.hear_all(LaneSignal::kTs1);
  port.training.set_speed(LinkSpeed::kDdr, port.now);
  port.pass(1s);
  EXPECT_EQ(port.state(), TrainingState::kSleepQuiet);
}

TEST(LinkTrainingSpeed, TriesTheOtherForOnePollWhenItHearsOnlyNoise) {
  Puppet port({.speeds = 0x3});
  port.poll();
  port.pass(102ms);
  EXPECT_EQ(port.training.speed(), LinkSpeed::kSdr);
  port.hear(0, {.signal = LaneSignal::kNoise});
  port.hear(0, {});
  port.pass(102ms);
  EXPECT_EQ(port.training.speed(), LinkSpeed::kDdr);
  port.pass(102ms);
  EXPECT_EQ(port.training.speed(), LinkSpeed::kSdr);
  // It gives its first speed a chance, whatever it hears.
  for (int i = 0; i < 4; ++i) {
    port.hear(0, {.signal = LaneSignal::kNoise});
    port.pass(102ms);
    EXPECT_EQ(port.training.speed(), LinkSpeed::kSdr) << i;
  }
  port.pass(102ms);
  EXPECT_EQ(port.training.speed(), LinkSpeed::kDdr) << "there is noise all the time";
}

TEST(LinkTrainingSpeed, OfWhichOneWasTriedInVainIsForgottenWhenPollingBeginsAnew) {
  Puppet port({.speeds = 0x3});
  for (int i = 0; i < 2; ++i) {
    port.poll();
    port.pass(102ms);
    port.hear(0, {.signal = LaneSignal::kNoise});
    port.hear(0, {});
    port.pass(102ms);
    EXPECT_EQ(port.training.speed(), LinkSpeed::kDdr) << i;
    port.pass(102ms);
    EXPECT_EQ(port.training.speed(), LinkSpeed::kSdr) << i;
  }
}

TEST(LinkTrainingSpeed, IsNotTriedWhenItIsCommandedOrNotEnabled) {
  for (const bool commanded : {false, true}) {
    Puppet port(commanded ? TrainingOptions{.speeds = 0x3} : TrainingOptions{});
    if (commanded) port.training.set_speed(LinkSpeed::kSdr, port.now);
    port.poll();
    port.hear(0, {.signal = LaneSignal::kNoise});
    for (int i = 0; i < 10; ++i) {
      port.pass(51ms);
      EXPECT_EQ(port.training.speed(), LinkSpeed::kSdr);
    }
  }
}

}  // namespace
}  // namespace weft::phy
