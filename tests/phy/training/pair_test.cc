// SPDX-License-Identifier: Apache-2.0
// Two ports and a cable.
#include <gtest/gtest.h>

#include "world.h"

namespace weft::phy {
namespace {

using Physical = wire::PortPhysicalState;

constexpr TrainingOptions kFourLanes{};
constexpr TrainingOptions kTwelveLanes{.lanes = 12, .widths = 0xF};

Time trained_at(World& world, Duration within = 1s) {
  const Time end = world.now() + within;
  world.run_while([&] { return !world.agree(); }, end);
  return world.now();
}

TEST(Pair, ComesUpAtItsFullWidthInLittleMoreThanTheDebounceTime) {
  World world(kFourLanes, kFourLanes, {}, 1);
  world.begin();
  const Time began = world.now();
  const Time up = trained_at(world);
  ASSERT_TRUE(world.agree()) << world.report();
  EXPECT_EQ(world.a().width(), LinkWidth::k4x);
  EXPECT_GT(up - began, 100ms);
  EXPECT_LT(up - began, 101ms);
  for (const std::size_t end : {0U, 1U})
    EXPECT_EQ(world.station(end).ups, 1U);
}

TEST(Pair, ComesUpWheneverTheOtherEndIsThere) {
  World world(kFourLanes, kFourLanes, {}, 2);
  world.change([&] { world.a().command(Physical::kPolling, world.now()); });
  world.run_for(1051ms);
  EXPECT_EQ(world.a().physical_state(), Physical::kPolling);
  world.change([&] { world.b().command(Physical::kPolling, world.now()); });
  trained_at(world, 300ms);
  EXPECT_TRUE(world.agree()) << world.report();
}

TEST(Pair, HasTheWidestCommonWidth) {
  World world(kTwelveLanes, kFourLanes, {}, 3);
  world.begin();
  trained_at(world);
  EXPECT_TRUE(world.agree()) << world.report();
  EXPECT_EQ(world.b().width(), LinkWidth::k4x);
}

TEST(Pair, FallsTo1xWithADeadLaneInOneDirection) {
  Medium medium;
  medium.strands[0].dead[2] = true;
  World world(kFourLanes, kFourLanes, medium, 4);
  world.begin();
  trained_at(world);
  EXPECT_TRUE(world.agree()) << world.report();
  EXPECT_EQ(world.a().width(), LinkWidth::k1x);
}

TEST(Pair, StaysDownWithADeadLaneWhere1xIsNotEnabled) {
  Medium medium;
  medium.strands[0].dead[2] = true;
  World world(kFourLanes, {.widths = 0x2}, medium, 5);
  world.begin();
  world.run_for(3s);
  EXPECT_EQ(world.station(0).ups + world.station(1).ups, 0U);
  EXPECT_GT(world.b().counters().get(TrainingCounter::kTrainingFailed), 3U);
}

TEST(Pair, TrainsOverReversedLanesByWhicheverEndCan) {
  for (const bool by_receiver : {false, true}) {
    Medium medium;
    medium.strands[0].reversed = true;
    const TrainingOptions receiver{.reverses_receive = by_receiver};
    const TrainingOptions sender{.reverses_transmit = !by_receiver};
    World world(sender, receiver, medium, 6);
    world.begin();
    trained_at(world);
    EXPECT_TRUE(world.agree()) << world.report();
    EXPECT_EQ(world.a().width(), LinkWidth::k4x);
    EXPECT_EQ(world.a().transmit_map()->mirror, by_receiver ? 0 : 4);
    EXPECT_EQ(world.b().receive_map()->mirror, by_receiver ? 4 : 0);
  }
}

TEST(Pair, StaysDownOverReversedLanesWhereNeitherEndCan) {
  Medium medium;
  medium.strands[0].reversed = true;
  World world({.reverses_transmit = false}, {.reverses_receive = false}, medium, 7);
  world.begin();
  world.run_for(3s);
  EXPECT_EQ(world.station(0).ups + world.station(1).ups, 0U);
}

TEST(Pair, TrainsOverLanesWithSwappedPolarity) {
  Medium medium;
  medium.strands[0].inverted = {true, false, true};
  medium.strands[1].inverted = {false, true, false, true};
  World world(kFourLanes, kFourLanes, medium, 8);
  world.begin();
  trained_at(world);
  EXPECT_TRUE(world.agree()) << world.report();
  EXPECT_EQ(world.a().width(), LinkWidth::k4x);
}

TEST(Pair, RecoversFromABurstOfErrorsWithoutGoingDown) {
  World world(kFourLanes, kFourLanes, {}, 9);
  world.begin();
  trained_at(world);
  world.change([&] { world.a().symbol_errors(1, 20, world.now()); });
  EXPECT_FALSE(world.agree());
  const Time began = world.now();
  EXPECT_LT(trained_at(world) - began, 1ms);
  EXPECT_TRUE(world.agree()) << world.report();
  for (LinkTraining* const each : {&world.a(), &world.b()}) {
    EXPECT_EQ(each->counters().get(TrainingCounter::kLinkErrorRecoveries), 1U);
    EXPECT_EQ(each->counters().get(TrainingCounter::kLinkDowned), 0U);
  }
}

TEST(Pair, GoesDownAndTrainsAnewWithoutTheLaneThatHasDied) {
  World world(kFourLanes, kFourLanes, {}, 10);
  world.begin();
  trained_at(world);
  world.change([&] { world.medium().strands[1].dead[3] = true; });
  world.run_for(10ms);
  EXPECT_EQ(world.station(0).downs, 1U);
  EXPECT_EQ(world.station(1).downs, 1U);
  trained_at(world);
  EXPECT_TRUE(world.agree()) << world.report();
  EXPECT_EQ(world.b().width(), LinkWidth::k1x);
  EXPECT_EQ(world.a().counters().get(TrainingCounter::kLinkDowned), 1U);
}

TEST(Pair, PollsAgainSoonAfterTheCableIsOut) {
  World world(kFourLanes, kFourLanes, {}, 11);
  world.begin();
  trained_at(world);
  world.change([&] {
    for (Strand& strand : world.medium().strands)
      strand.dead.fill(true);
  });
  world.run_for(2100us);
  for (LinkTraining* const each : {&world.a(), &world.b()}) {
    EXPECT_EQ(each->physical_state(), Physical::kPolling);
    EXPECT_EQ(each->counters().get(TrainingCounter::kLinkDowned), 1U);
  }
}

TEST(Pair, GoesDownAtBothEndsWhenOneIsDisabledOrPutToSleep) {
  for (const Physical command : {Physical::kDisabled, Physical::kSleep}) {
    World world(kFourLanes, kFourLanes, {}, 12);
    world.begin();
    trained_at(world);
    world.change([&] { world.a().command(command, world.now()); });
    world.run_for(10ms);
    EXPECT_EQ(world.a().physical_state(), command);
    EXPECT_EQ(world.b().physical_state(), Physical::kPolling);
    EXPECT_EQ(world.b().counters().get(TrainingCounter::kLinkDowned), 1U);
    EXPECT_EQ(world.a().counters().get(TrainingCounter::kLinkDowned), 0U);
    world.change([&] { world.a().command(Physical::kPolling, world.now()); });
    trained_at(world);
    EXPECT_TRUE(world.agree()) << world.report();
  }
}

TEST(Pair, WakesASleepingPortByPolling) {
  World world(kFourLanes, kFourLanes, {}, 13);
  world.change([&] { world.a().command(Physical::kSleep, world.now()); });
  world.run_for(1s);
  EXPECT_EQ(world.a().state(), TrainingState::kSleepQuiet);
  world.change([&] { world.b().command(Physical::kPolling, world.now()); });
  trained_at(world);
  EXPECT_TRUE(world.agree()) << world.report();
}

TEST(Pair, GoesToDdrAndBackWhenBothEndsAreTold) {
  const TrainingOptions both{.speeds = 0x3};
  World world(both, both, {}, 14);
  world.begin();
  trained_at(world);
  for (const LinkSpeed speed : {LinkSpeed::kDdr, LinkSpeed::kSdr}) {
    world.change([&] { world.a().set_speed(speed, world.now()); });
    world.run_for(300us);
    world.change([&] { world.b().set_speed(speed, world.now()); });
    const Time began = world.now();
    EXPECT_LT(trained_at(world) - began, 400ms);
    EXPECT_TRUE(world.agree()) << world.report();
    EXPECT_EQ(world.a().speed(), speed);
    EXPECT_EQ(world.a().width(), LinkWidth::k4x);
  }
}

TEST(Pair, IsDownWhileOnlyOneEndIsAtDdr) {
  const TrainingOptions both{.speeds = 0x3};
  World world(both, both, {}, 15);
  world.begin();
  trained_at(world);
  world.change([&] {
    world.a().set_speed(LinkSpeed::kDdr, world.now());
    world.b().set_speed(LinkSpeed::kSdr, world.now());
  });
  world.run_for(3s);
  EXPECT_EQ(world.b().physical_state(), Physical::kPolling);
  EXPECT_EQ(world.longest_disagreement(), 0ns);
}

TEST(Pair, MeetsAPortOfDdrOnly) {
  World world({.speeds = 0x3}, {.speeds = 0x2}, {}, 16);
  world.begin();
  trained_at(world, 1s);
  EXPECT_TRUE(world.agree()) << world.report();
  EXPECT_EQ(world.a().speed(), LinkSpeed::kDdr);
}

}  // namespace
}  // namespace weft::phy
