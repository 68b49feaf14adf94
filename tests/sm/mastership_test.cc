// SPDX-License-Identifier: Apache-2.0
#include "sm/mastership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sm {
namespace {

using State = wire::SmState;
using Verdict = Mastership::Verdict;

OtherManager other(std::uint64_t guid, unsigned priority, State state, std::uint32_t activity = 0) {
  return {.info = {.guid = Guid{guid},
                   .sm_key = 0,
                   .activity = activity,
                   .priority = static_cast<std::uint8_t>(priority),
                   .state = state},
          .route = {1},
          .lid = Lid{9}};
}
// At the port of GUID 100, with priority 5.
Mastership some_manager(const MastershipOptions& options = {.priority = 5, .poll_misses = 3}) {
  Mastership manager(options);
  manager.identify(Guid{100});
  return manager;
}
Verdict judge(Mastership& manager, const std::vector<OtherManager>& others) {
  return manager.judge(others);
}
Mastership standby_of(const OtherManager& master) {
  Mastership manager = some_manager();
  EXPECT_EQ(judge(manager, {master}), Verdict::kStandBy);
  return manager;
}

TEST(Mastership, BelongsToWhoeverIsAlone) {
  Mastership manager = some_manager();
  EXPECT_EQ(manager.state(), State::kDiscovering);
  EXPECT_EQ(judge(manager, {}), Verdict::kManage);
  EXPECT_EQ(manager.state(), State::kMaster);
}

TEST(Mastership, IsLeftToAMasterEvenALowerOne) {
  Mastership manager = some_manager();
  EXPECT_EQ(judge(manager, {other(1, 0, State::kMaster)}), Verdict::kStandBy);
  ASSERT_NE(manager.peer(), nullptr);
  EXPECT_TRUE(manager.should_call_peer());
}

TEST(Mastership, GoesByPriorityThenByTheLowerGuid) {
  for (const State state : {State::kDiscovering, State::kStandby}) {
    Mastership manager = some_manager();
    EXPECT_EQ(judge(manager, {other(1, 6, state)}), Verdict::kStandBy);
    manager = some_manager();
    EXPECT_EQ(judge(manager, {other(99, 5, state)}), Verdict::kStandBy);
    manager = some_manager();
    EXPECT_EQ(judge(manager, {other(101, 5, state), other(1, 4, state)}), Verdict::kManage);
  }
}

TEST(Mastership, TakesNoAccountOfOnesThatAreNotActive) {
  Mastership manager = some_manager();
  EXPECT_EQ(judge(manager, {other(1, 9, State::kNotActive)}), Verdict::kManage);
}

TEST(Mastership, IsHandedOverToTheHighest) {
  Mastership manager = some_manager();
  judge(manager, {});
  EXPECT_EQ(judge(manager, {other(1, 6, State::kStandby), other(2, 8, State::kStandby)}),
            Verdict::kHandOver);
  EXPECT_EQ(manager.peer()->info.guid, Guid{2});
  EXPECT_EQ(manager.state(), State::kMaster);
  manager.handed_over();
  EXPECT_EQ(manager.state(), State::kStandby);
}

// OpenSM answers a HANDOVER then, but looks once more and stands by for the master it has seen.
TEST(Mastership, IsHandedOverToNobodyWhoStillDiscovers) {
  Mastership manager = some_manager();
  judge(manager, {});
  const OtherManager higher = other(1, 6, State::kDiscovering);
  EXPECT_EQ(judge(manager, {higher, other(2, 4, State::kStandby)}), Verdict::kWait);
  EXPECT_EQ(manager.peer()->info.guid, Guid{1});
  EXPECT_FALSE(manager.should_call_peer());
  EXPECT_FALSE(manager.polled(higher.info));
  EXPECT_TRUE(manager.polled(other(1, 6, State::kStandby).info));
  EXPECT_EQ(judge(manager, {other(1, 6, State::kStandby)}), Verdict::kHandOver);
}

// It has seen a higher master, and must not write: whoever else discovers is that one's matter.
TEST(Mastership, IsHandedOverWhateverAYetHigherOneDiscovers) {
  for (const State state : {State::kMaster, State::kStandby}) {
    Mastership manager = some_manager();
    judge(manager, {});
    EXPECT_EQ(judge(manager, {other(1, 9, State::kDiscovering), other(2, 6, state)}),
              Verdict::kHandOver);
    EXPECT_EQ(manager.peer()->info.guid, Guid{2});
  }
}

TEST(Mastership, DoesNotWaitForEverForOneThatDiscovers) {
  Mastership manager = some_manager();
  judge(manager, {});
  const OtherManager higher = other(1, 6, State::kDiscovering);
  EXPECT_EQ(judge(manager, {higher}), Verdict::kWait);
  EXPECT_FALSE(manager.polled(higher.info));
  EXPECT_FALSE(manager.polled(higher.info));
  EXPECT_TRUE(manager.polled(higher.info));
  EXPECT_EQ(judge(manager, {higher}), Verdict::kManage);
  EXPECT_EQ(judge(manager, {other(1, 6, State::kStandby)}), Verdict::kHandOver);
}

TEST(Mastership, WaitsForALowerMasterButNotForEver) {
  Mastership manager = some_manager();
  judge(manager, {});
  const OtherManager lower = other(1, 2, State::kMaster);
  EXPECT_EQ(judge(manager, {lower}), Verdict::kWait);
  EXPECT_TRUE(manager.should_call_peer());
  EXPECT_FALSE(manager.polled(lower.info));
  EXPECT_FALSE(manager.polled(lower.info));
  EXPECT_TRUE(manager.polled(lower.info));
  EXPECT_EQ(judge(manager, {lower}), Verdict::kManage);
  // Once it has yielded, it counts like any other.
  EXPECT_EQ(judge(manager, {other(1, 2, State::kStandby)}), Verdict::kManage);
  EXPECT_EQ(judge(manager, {lower}), Verdict::kWait);
  EXPECT_TRUE(manager.polled(other(1, 2, State::kStandby).info));
}

TEST(Mastership, WaitsForOneAfterTheOtherButForNoneTwice) {
  Mastership manager = some_manager();
  judge(manager, {});
  const std::vector<OtherManager> others{other(1, 6, State::kDiscovering),
                                         other(2, 3, State::kMaster), other(3, 2, State::kMaster)};
  for (const OtherManager& awaited : others) {
    EXPECT_EQ(judge(manager, others), Verdict::kWait);
    EXPECT_EQ(manager.peer()->info.guid, awaited.info.guid);
    for (const bool last : {false, false, true})
      EXPECT_EQ(manager.polled(awaited.info), last);
  }
  EXPECT_EQ(judge(manager, others), Verdict::kManage);
  EXPECT_EQ(judge(manager, others), Verdict::kManage);
  // Whoever has changed meanwhile is waited for once more.
  EXPECT_EQ(judge(manager, {others[1], others[2]}), Verdict::kManage);
  EXPECT_EQ(judge(manager, others), Verdict::kWait);
  EXPECT_EQ(manager.peer()->info.guid, Guid{1});
}

TEST(Mastership, IsTakenOverWhenTheMasterDoesNotAnswer) {
  const OtherManager master = other(1, 9, State::kMaster);
  Mastership manager = standby_of(master);
  EXPECT_FALSE(manager.polled(std::nullopt));
  EXPECT_FALSE(manager.polled(std::nullopt));
  EXPECT_FALSE(manager.polled(other(1, 9, State::kMaster, 1).info));
  EXPECT_FALSE(manager.polled(std::nullopt));
  EXPECT_FALSE(manager.polled(std::nullopt));
  EXPECT_TRUE(manager.polled(std::nullopt));
  EXPECT_EQ(manager.state(), State::kDiscovering);
  EXPECT_EQ(judge(manager, {}), Verdict::kManage);
}

TEST(Mastership, IsTakenOverWhenTheMasterAnswersButDoesNothing) {
  const OtherManager master = other(1, 9, State::kMaster, 7);
  Mastership manager = standby_of(master);
  EXPECT_FALSE(manager.polled(master.info));
  EXPECT_FALSE(manager.polled(master.info));
  EXPECT_TRUE(manager.polled(master.info));
  EXPECT_EQ(judge(manager, {master}), Verdict::kManage);
  // When it does something again, it is the higher one again.
  EXPECT_EQ(judge(manager, {other(1, 9, State::kMaster, 8)}), Verdict::kHandOver);
}

TEST(Mastership, DoesNotTakeTheAnswerOfAnotherForThatOfTheMaster) {
  const OtherManager master = other(1, 9, State::kMaster);
  Mastership manager = standby_of(master);
  for (const bool last : {false, false, true})
    EXPECT_EQ(manager.polled(other(2, 9, State::kMaster).info), last);
}

TEST(Mastership, FollowsAHigherOneButLooksAnewWhenALowerOneIsMasterNoMore) {
  Mastership manager = standby_of(other(1, 9, State::kMaster));
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(manager.polled(other(1, 9, State::kStandby).info));
  manager = standby_of(other(1, 2, State::kMaster));
  EXPECT_TRUE(manager.polled(other(1, 2, State::kStandby).info));
  manager = standby_of(other(1, 9, State::kMaster));
  EXPECT_TRUE(manager.polled(other(1, 9, State::kNotActive).info));
}

TEST(Mastership, IsTakenWhenItIsHandedOver) {
  const OtherManager master = other(1, 2, State::kMaster);
  Mastership manager = standby_of(master);
  EXPECT_EQ(manager.command(SmControl::kHandover, master.info), true);
  EXPECT_EQ(manager.state(), State::kMaster);
}

// IBA 14.4.1, what each state obeys.
TEST(Mastership, ObeysWhatIsLegalInItsState) {
  const wire::SmInfo master = other(1, 9, State::kMaster).info;
  const wire::SmInfo standby = other(1, 9, State::kStandby).info;
  Mastership manager = some_manager();
  for (const SmControl control :
       {SmControl::kDisable, SmControl::kStandby, SmControl::kDiscover, SmControl{0}, SmControl{6}})
    EXPECT_FALSE(manager.command(control, master).has_value());
  EXPECT_EQ(manager.command(SmControl::kHandover, master), true);
  EXPECT_EQ(manager.state(), State::kDiscovering);

  judge(manager, {});
  for (const SmControl control : {SmControl::kDisable, SmControl::kStandby, SmControl::kDiscover})
    EXPECT_FALSE(manager.command(control, master).has_value());
  EXPECT_FALSE(manager.command(SmControl::kAcknowledge, standby).has_value());
  EXPECT_EQ(manager.command(SmControl::kHandover, master), true);
  EXPECT_EQ(manager.state(), State::kMaster);

  judge(manager, {other(1, 9, State::kStandby)});
  EXPECT_FALSE(manager.command(SmControl::kAcknowledge, master).has_value());
  EXPECT_EQ(manager.command(SmControl::kAcknowledge, standby), false);
  EXPECT_EQ(manager.state(), State::kStandby);

  EXPECT_FALSE(manager.command(SmControl::kStandby, master).has_value());
  EXPECT_FALSE(manager.command(SmControl::kDisable, standby).has_value());
  EXPECT_EQ(manager.command(SmControl::kDisable, master), false);
  EXPECT_EQ(manager.state(), State::kNotActive);
  EXPECT_FALSE(manager.may_sweep());

  EXPECT_FALSE(manager.command(SmControl::kHandover, master).has_value());
  EXPECT_EQ(manager.command(SmControl::kStandby, master), false);
  EXPECT_EQ(manager.state(), State::kStandby);
  EXPECT_EQ(manager.peer()->info.guid, Guid{1});
  EXPECT_EQ(manager.command(SmControl::kDiscover, master), true);
  EXPECT_EQ(manager.state(), State::kDiscovering);
}

TEST(Mastership, ObeysNobodyWithoutItsKey) {
  Mastership manager = some_manager({.priority = 5, .sm_key = 77});
  OtherManager master = other(1, 9, State::kMaster);
  master.info.sm_key = 77;
  judge(manager, {master});
  master.info.sm_key = 78;
  EXPECT_FALSE(manager.command(SmControl::kHandover, master.info).has_value());
  EXPECT_EQ(manager.state(), State::kStandby);
  for (const bool last : {false, false, true})
    EXPECT_EQ(manager.polled(master.info), last);
}

TEST(Mastership, LooksForItselfWhenItStandsByForNobodyItKnows) {
  Mastership manager = standby_of(other(1, 9, State::kMaster));
  const wire::SmInfo stranger = other(3, 9, State::kMaster).info;
  EXPECT_EQ(manager.command(SmControl::kDisable, stranger), false);
  EXPECT_EQ(manager.command(SmControl::kStandby, stranger), false);
  EXPECT_EQ(manager.peer(), nullptr);
  for (const bool last : {false, false, true})
    EXPECT_EQ(manager.polled(std::nullopt), last);
}

}  // namespace
}  // namespace weft::sm
