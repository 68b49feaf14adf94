// SPDX-License-Identifier: Apache-2.0
// What becomes of paths through a data service when an instance of it is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "steered_paths_fixture.h"
#include "wire/sa/inform_info.h"
#include "wire/sm/notice.h"

namespace weft::sm {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using wire::MadMethod;
using wire::SaAttribute;

struct FailOver : SteeredPaths {
  void begin_pair(PairMode mode = PairMode::kStandby) {
    DataService fw = service("fw", {"fw1", "fw2"}, Lid{40});
    fw.pair = mode;
    begin({.services = {fw}, .rules = {through("fw", at("a"), at("b"))}});
  }
  // Virtual time until packets for a LID arrive at a node.
  Duration until(Lid to, const std::string& node) {
    const Time begun = running.now;
    while (arrives(to) != node && running.now - begun < 1s)
      run_for(1ms);
    return running.now - begun;
  }
};

TEST_F(FailOver, LeadsWhatIsConnectedToTheStandbyAndNewPathsToo) {
  begin_pair();
  wire::InformInfo everything{.lid_begin = wire::InformInfo::kAnyLid, .subscribe = true};
  std::vector<std::byte> data(200);
  everything.write(data);
  ask("a", MadMethod::kSet, SaAttribute::kInformInfo, 0, data);
  ASSERT_EQ(status_, 0);
  EXPECT_EQ(ask("a", "a", "b").at(0).dlid, Lid{40});
  EXPECT_EQ(arrives(Lid{40}), "fw1");
  plug("fw1:1", false);
  EXPECT_LT(until(Lid{40}, "fw2"), 100ms);
  EXPECT_THAT(events, Contains(HasSubstr("takes over")));
  const auto there = ask("a", "a", "b");
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(arrives(there[0].dlid), "fw2");
  const auto traps = [&] {
    std::vector<wire::TrapNumber> numbers;
    for (const wire::Notice& notice : notices)
      numbers.push_back(notice.trap);
    return numbers;
  };
  EXPECT_THAT(traps(), Contains(wire::TrapNumber::kRePath));
  EXPECT_THAT(traps(), Contains(wire::TrapNumber::kGidOutOfService));
  // It is the active one, whoever comes back.
  plug("fw1:1", true);
  run_for(1s);
  EXPECT_EQ(arrives(Lid{40}), "fw2");
  EXPECT_EQ(ask("fw2", "a", "b").at(0).dlid, lid("b")) << "it asks for the way on";
}

TEST_F(FailOver, ComesWhenASwitchGoes) {
  begin_pair();
  plug("fw1:1", false);
  ASSERT_LT(until(Lid{40}, "fw2"), 100ms);
  plug("fw1:1", true);
  run_for(1s);
  plug("trunk", false);
  EXPECT_LT(until(Lid{40}, "fw1"), 100ms);
  EXPECT_EQ(ask("a", "a", "b").size(), 1u);
}

TEST_F(FailOver, ComesWhenSomebodySaysThatAnInstanceIsNotWell) {
  begin_pair();
  management->steering().services().set_health(guid("fw1"), false);
  EXPECT_LT(until(Lid{40}, "fw2"), 10ms);
  management->steering().services().set_health(guid("fw2"), false);
  run_for(10ms);
  EXPECT_TRUE(ask("a", "a", "b").empty());
}

TEST_F(FailOver, OfAPairThatBothWorkBringsTheirLidsHome) {
  begin_pair(PairMode::kBoth);
  EXPECT_EQ(arrives(Lid{40}), "fw1");
  EXPECT_EQ(arrives(Lid{41}), "fw2");
  plug("fw1:1", false);
  EXPECT_LT(until(Lid{40}, "fw2"), 100ms);
  EXPECT_EQ(arrives(Lid{41}), "fw2");
  plug("fw1:1", true);
  EXPECT_LT(until(Lid{40}, "fw1"), 200ms);
}

}  // namespace
}  // namespace weft::sm
