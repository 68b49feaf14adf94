// SPDX-License-Identifier: Apache-2.0
#include "sm/lid_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

LidPlan::Port port(std::uint64_t guid, std::uint16_t current = 0, bool is_switch = false) {
  return {.guid = Guid{guid}, .current = Lid{current}, .is_switch = is_switch};
}
std::vector<Lid> assign(LidPlan& plan, const std::vector<LidPlan::Port>& ports,
                        std::uint8_t lmc = 0) {
  return plan.assign(ports, lmc);
}

TEST(LidPlan, GivesTheLowestThatAreFree) {
  LidPlan plan;
  EXPECT_THAT(assign(plan, {port(1), port(2), port(3)}), ElementsAre(Lid{1}, Lid{2}, Lid{3}));
}

TEST(LidPlan, LetsPortsKeepWhatTheyHave) {
  LidPlan plan;
  EXPECT_THAT(assign(plan, {port(1), port(2, 7), port(3)}), ElementsAre(Lid{1}, Lid{7}, Lid{2}));
}

TEST(LidPlan, GivesAnotherToTheSecondThatHasTheSame) {
  LidPlan plan;
  EXPECT_THAT(assign(plan, {port(1, 5), port(2, 5)}), ElementsAre(Lid{5}, Lid{1}));
}

TEST(LidPlan, RemembersWhatItGaveAndKeepsItForWhoIsAway) {
  LidPlan plan;
  assign(plan, {port(1), port(2), port(3)});
  EXPECT_THAT(assign(plan, {port(3), port(4)}), ElementsAre(Lid{3}, Lid{4}));
  EXPECT_THAT(assign(plan, {port(2), port(1, 4), port(4)}), ElementsAre(Lid{2}, Lid{1}, Lid{4}));
  LidPlan later(plan.given());
  EXPECT_THAT(assign(later, {port(3), port(5)}), ElementsAre(Lid{3}, Lid{5}));
}

TEST(LidPlan, ForgetsWhatOthersHaveByNow) {
  LidPlan plan(std::map<Guid, LidRange>{{Guid{1}, {Lid{4}, 1}}, {Guid{2}, {Lid{6}, 0}}});
  assign(plan, {port(3, 5)});
  EXPECT_THAT(plan.given(),
              ElementsAre(Pair(Guid{2}, LidRange{Lid{6}, 0}), Pair(Guid{3}, LidRange{Lid{5}, 0})));
  EXPECT_THAT(plan.take_changed(), ElementsAre(Guid{1}, Guid{3}));
  assign(plan, {port(3, 5), port(2)});
  EXPECT_THAT(plan.take_changed(), IsEmpty());
}

TEST(LidPlan, AlignsThemToTheMaskButForSwitches) {
  LidPlan plan;
  EXPECT_THAT(assign(plan, {port(1, 0, true), port(2), port(3, 6), port(4, 0, true)}, 2),
              ElementsAre(Lid{1}, Lid{4}, Lid{8}, Lid{2}));
}

TEST(LidPlan, RefusesLidsThatNoPortCanHave) {
  LidPlan plan;
  EXPECT_THAT(assign(plan, {port(1, 0xC000), port(2, 0xFFFF)}), ElementsAre(Lid{1}, Lid{2}));
}

TEST(LidPlan, TakesThoseOfPortsThatAreAwayWhenNothingElseIsLeft) {
  LidPlan plan;
  std::vector<LidPlan::Port> all;
  for (std::uint64_t guid = 1; guid < 0xC000; ++guid)
    all.push_back(port(guid));
  assign(plan, all);
  all.pop_back();
  all.push_back(port(0x10000));
  EXPECT_EQ(assign(plan, all).back(), Lid{0xBFFF});
  all.push_back(port(0x10001));
  EXPECT_EQ(assign(plan, all).back(), Lid{});
}

}  // namespace
}  // namespace weft::sm
