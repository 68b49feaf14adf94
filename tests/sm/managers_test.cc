// SPDX-License-Identifier: Apache-2.0
// Several managers on one fabric, in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "managed_lab.h"

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = wire::SmState;

constexpr Duration kLong = 60s;

ManagerOptions with_priority(std::uint8_t priority) {
  return {.mastership = {.priority = priority}};
}
ManagedLab::Place place(const std::string& node, std::uint8_t priority) {
  return {.node = node, .options = with_priority(priority)};
}
void sweep_all(ManagedLab& lab) {
  for (const auto& manager : lab.managers) {
    if (manager) manager->sweep();
  }
}
std::size_t link_of(ManagedLab& lab, const std::string& name) {
  return *lab.running.fabric.find_link(name);
}
void plug(ManagedLab& lab, const std::string& name, bool plugged) {
  lab.running.fabric.link(link_of(lab, name)).set_plugged(plugged, lab.running.now);
}
// The four nodes, one of them far away.
std::string with_delay(const std::string& port, const std::string& delay) {
  std::string text = fabric::kFourNodes;
  const std::size_t link = text.find("ends = [\"" + port);
  text.insert(text.find('\n', link) + 1, "delay = \"" + delay + "\"\n");
  return text;
}

TEST(Managers, TheHigherPriorityBecomesMaster) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), {place("a", 3), place("d", 7)});
  sweep_all(lab);
  lab.run_for(kLong);
  EXPECT_EQ(lab.state(0), State::kStandby);
  EXPECT_EQ(lab.state(1), State::kMaster);
  EXPECT_EQ(lab.active_links(), 5u);
  EXPECT_TRUE(lab.reaches("a", "d"));
}

TEST(Managers, AmongEqualsTheLowerGuidBecomesMaster) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), {place("d", 5), place("a", 5)});
  const auto guid = [&](const char* name) {
    return lab.running.fabric.find_node(name)->node_info(1).port_guid;
  };
  const bool first_is_lower = guid("d") < guid("a");
  sweep_all(lab);
  lab.run_for(kLong);
  EXPECT_EQ(lab.state(0), first_is_lower ? State::kMaster : State::kStandby);
  EXPECT_EQ(lab.state(1), first_is_lower ? State::kStandby : State::kMaster);
}

// It began when the other one had looked at its port already, and nobody was there.
TEST(Managers, OneThatIsAskedWhileItLooksAroundLooksAgainBeforeItBecomesMaster) {
  ManagedLab lab(fabric::lab_of(with_delay("c:1", "50ms")), {place("a", 3), place("d", 7)});
  lab.stop(1);
  lab.stop(0);
  lab.run_for(1s);  // until all links are there
  std::vector<std::string> said;
  lab.on_event = [&](std::size_t who, const ManagerEvent& event) {
    if (who == 0 && event.kind == ManagerEvent::Kind::kState) said.push_back(event.text);
  };
  lab.start(0);
  lab.manager->sweep();
  lab.run_for(10ms);
  ASSERT_EQ(lab.manager->sweeps(), 0u) << "it waits for c";
  lab.start(1);
  lab.managers[1]->sweep();
  lab.run_for(kLong);
  EXPECT_EQ(lab.state(0), State::kStandby);
  EXPECT_EQ(lab.state(1), State::kMaster);
  EXPECT_THAT(said, ElementsAre(HasSubstr("STANDBY")));
  EXPECT_EQ(lab.manager->report().writes, 0u);
}

TEST(Managers, AMasterHandsOverToAHigherOneThatComes) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), {place("a", 3), place("d", 7)});
  lab.stop(1);
  lab.manager->sweep();
  lab.run_for(kLong);
  ASSERT_EQ(lab.state(0), State::kMaster);
  const Lid before = lab.lid("c");
  lab.start(1);
  lab.managers[1]->sweep();
  lab.run_for(5s);
  EXPECT_EQ(lab.state(0), State::kStandby);
  EXPECT_EQ(lab.state(1), State::kMaster);
  EXPECT_EQ(lab.lid("c"), before);
  EXPECT_EQ(lab.running.fabric.find_node("c")->port(1).port_info().master_sm_lid, lab.lid("d"));
  EXPECT_EQ(lab.active_links(), 5u);
}

TEST(Managers, ALowerOneThatComesStandsByAndWritesNothing) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), {place("a", 7), place("d", 3)});
  lab.stop(1);
  lab.manager->sweep();
  lab.run_for(kLong);
  lab.start(1);
  lab.managers[1]->sweep();
  lab.run_for(kLong);
  EXPECT_EQ(lab.state(0), State::kMaster);
  EXPECT_EQ(lab.state(1), State::kStandby);
  EXPECT_EQ(lab.managers[1]->report().writes, 0u);
  EXPECT_EQ(lab.managers[1]->sweeps(), 1u);
}

TEST(Managers, AStandbyTakesOverWhenTheMasterIsGone) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), {place("a", 3), place("d", 7)});
  sweep_all(lab);
  lab.run_for(kLong);
  const Lid before = lab.lid("c");
  lab.stop(1);
  lab.run_for(15s);
  EXPECT_EQ(lab.state(0), State::kMaster);
  EXPECT_EQ(lab.lid("c"), before);
  EXPECT_EQ(lab.running.fabric.find_node("c")->port(1).port_info().master_sm_lid, lab.lid("a"));
  EXPECT_THAT(lab.manager->report().problems, IsEmpty());
  // And gives it back.
  lab.start(1);
  lab.managers[1]->sweep();
  lab.run_for(15s);
  EXPECT_EQ(lab.state(0), State::kStandby);
  EXPECT_EQ(lab.state(1), State::kMaster);
}

TEST(Managers, OfThreeTheNextHighestTakesOver) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), {place("a", 1), place("b", 2), place("d", 3)});
  sweep_all(lab);
  lab.run_for(kLong);
  EXPECT_EQ(lab.state(2), State::kMaster);
  lab.stop(2);
  lab.run_for(kLong);
  EXPECT_EQ(lab.state(0), State::kStandby);
  EXPECT_EQ(lab.state(1), State::kMaster);
  lab.start(2);
  lab.managers[2]->sweep();
  lab.run_for(kLong);
  EXPECT_EQ(lab.state(0), State::kStandby);
  EXPECT_EQ(lab.state(1), State::kStandby);
  EXPECT_EQ(lab.state(2), State::kMaster);
  EXPECT_EQ(lab.active_links(), 5u);
}

TEST(Managers, EachPartOfASplitSubnetHasAMasterAndTheLowerYieldsWhenItHeals) {
  for (const bool first_is_higher : {true, false}) {
    SCOPED_TRACE(first_is_higher);
    const auto first = static_cast<std::uint8_t>(first_is_higher ? 5 : 2);
    ManagedLab lab(fabric::lab_of(fabric::kFourNodes), {place("a", first), place("d", 3)});
    plug(lab, "trunk", false);
    sweep_all(lab);
    lab.run_for(kLong);
    ASSERT_EQ(lab.state(0), State::kMaster);
    ASSERT_EQ(lab.state(1), State::kMaster);
    EXPECT_EQ(lab.active_links(), 4u);
    EXPECT_EQ(lab.lid("a"), lab.lid("d"));  // both began with the first
    plug(lab, "trunk", true);
    lab.run_for(5s);
    EXPECT_EQ(lab.state(first_is_higher ? 0 : 1), State::kMaster);
    EXPECT_EQ(lab.state(first_is_higher ? 1 : 0), State::kStandby);
    EXPECT_EQ(lab.active_links(), 5u);
    EXPECT_NE(lab.lid("a"), lab.lid("d"));
    EXPECT_TRUE(lab.reaches("a", "d"));
    EXPECT_TRUE(lab.reaches("c", "b"));
  }
}

// d looks around for seconds: it is far away, and asks one thing after the other.
TEST(Managers, OneThatDiscoversForLongKeepsNoLowerMasterFromYielding) {
  ManagedLab::Place slow = place("d", 9);
  slow.options.smps.window = 1;
  ManagedLab lab(fabric::lab_of(with_delay("d:1", "50ms")), {place("a", 3), place("c", 5), slow});
  lab.stop(2);
  plug(lab, "trunk", false);
  sweep_all(lab);
  lab.run_for(kLong);
  ASSERT_EQ(lab.state(0), State::kMaster);
  ASSERT_EQ(lab.state(1), State::kMaster);
  lab.start(2);
  lab.managers[2]->sweep();
  lab.run_for(1s);
  plug(lab, "trunk", true);
  lab.run_for(2s);
  EXPECT_EQ(lab.state(0), State::kStandby);
  EXPECT_EQ(lab.manager->report().writes, 0u);
  EXPECT_EQ(lab.state(1), State::kMaster);
  EXPECT_EQ(lab.state(2), State::kDiscovering);
  lab.run_for(kLong);
  EXPECT_EQ(lab.state(0), State::kStandby);
  EXPECT_EQ(lab.state(1), State::kStandby);
  EXPECT_EQ(lab.state(2), State::kMaster);
  EXPECT_EQ(lab.active_links(), 5u);
}

TEST(Managers, OneWhoseNodeLeavesAndComesBackIsAStandby) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), {place("a", 3), place("d", 7)});
  sweep_all(lab);
  lab.run_for(kLong);
  plug(lab, "d:1", false);
  lab.run_for(kLong);
  EXPECT_EQ(lab.state(0), State::kMaster);
  EXPECT_EQ(lab.state(1), State::kDiscovering);
  plug(lab, "d:1", true);
  lab.run_for(kLong);
  // Which the master then sees to be higher.
  EXPECT_EQ(lab.state(0), State::kStandby);
  EXPECT_EQ(lab.state(1), State::kMaster);
  EXPECT_EQ(lab.active_links(), 5u);
}

TEST(Managers, OneWithAnotherKeyIsLeftOutOfAccountAndSaid) {
  ManagerOptions keyed = with_priority(3);
  keyed.mastership.sm_key = 77;
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes),
                 {{.node = "a", .options = keyed}, place("d", 7)});
  sweep_all(lab);
  lab.run_for(kLong);
  EXPECT_EQ(lab.state(0), State::kMaster);
  ASSERT_FALSE(lab.manager->report().problems.empty());
  EXPECT_THAT(lab.manager->report().problems.front(), HasSubstr("SM_Key"));
}

// It may be the master: only what asked it may have been lost.
TEST(Managers, OneThatIsThereButDoesNotAnswerIsAskedAgainBeforeAnotherBecomesMaster) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), {place("a", 3), place("d", 7)});
  lab.manager->sweep();  // the other has not begun
  lab.run_for(2s);
  EXPECT_EQ(lab.state(0), State::kDiscovering);
  EXPECT_EQ(lab.active_links(), 0u);
  lab.run_for(10s);
  EXPECT_EQ(lab.state(0), State::kMaster);
  EXPECT_EQ(lab.active_links(), 5u);
}

// Whoever asks may be the master of what was another subnet until now.
TEST(Managers, AMasterSweepsWhenItIsAskedByAWayThatNobodyHasAskedByBefore) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  lab.run_for(20s);
  lab.running.from = "c";
  const auto ask = [&] {
    const auto answer =
        lab.running.directed(wire::MadMethod::kGet, wire::SmAttribute::kSmInfo, 0, {1, 4, 1});
    ASSERT_TRUE(answer);
    const auto info = wire::SmInfo::parse(wire::smp::data(wire::MadBytes(*answer)));
    EXPECT_EQ(info->state, State::kMaster);
    EXPECT_EQ(info->guid, lab.running.fabric.find_node("a")->port(1).guid());
    lab.run_for(1s);
  };
  const std::uint64_t before = lab.manager->sweeps();
  ask();
  EXPECT_EQ(lab.manager->sweeps(), before + 1);
  ask();
  EXPECT_EQ(lab.manager->sweeps(), before + 1);
}

}  // namespace
}  // namespace weft::sm
