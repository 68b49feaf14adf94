// SPDX-License-Identifier: Apache-2.0
#include "sm/lid_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/random.h"
#include "managed_lab.h"
#include "memory_store.h"

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<LidRange> ranges(const std::vector<std::uint16_t>& lids, std::uint8_t lmc = 0) {
  std::vector<LidRange> all;
  for (const std::uint16_t lid : lids)
    all.push_back({.first = Lid{lid}, .lmc = lmc});
  return all;
}
bool any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

TEST(LidMoves, NeedNoOrderWhereNobodyWantsWhatAnotherHas) {
  EXPECT_THAT(first_moves(ranges({0, 2, 3}), ranges({1, 2, 4})), IsEmpty());
  EXPECT_FALSE(any(blocked(ranges({0, 2, 3}), ranges({1, 2, 4}))));
}

TEST(LidMoves, LetTheOneGoFirstWhoHasWhatAnotherIsToGet) {
  EXPECT_THAT(blocked(ranges({1, 2}), ranges({2, 3})), ElementsAre(true, false));
  EXPECT_THAT(first_moves(ranges({1, 2}), ranges({2, 3})),
              ElementsAre(LidMove{.port = 1, .to = Lid{3}}));
}

TEST(LidMoves, GoByWayOfAFreeLidWhereTwoWantEachOthers) {
  EXPECT_THAT(first_moves(ranges({1, 2}), ranges({2, 1})),
              ElementsAre(LidMove{.port = 0, .to = Lid{3}}, LidMove{.port = 1, .to = Lid{4}}));
}

TEST(LidMoves, SeeWhoHasTheSame) {
  EXPECT_THAT(in_common(ranges({1, 2, 1, 0, 0})), ElementsAre(true, false, true, false, false));
  EXPECT_THAT(in_common({{{.first = Lid{4}, .lmc = 2}, {.first = Lid{7}}, {.first = Lid{8}}}}),
              ElementsAre(true, true, false));
}

// Whatever is to become of which LIDs: after every single change no two ports have the same one,
// but for those that had before.
TEST(LidMoves, NeverMakeTwoPortsHaveTheSame) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    const auto count = static_cast<std::size_t>(random.between(1, 12));
    std::vector<LidRange> now;
    std::vector<LidRange> then;
    for (std::size_t i = 0; i < count; ++i) {
      LidRange range{.lmc = static_cast<std::uint8_t>(random.below(3))};
      const auto place = [&] {
        const std::uint64_t step = 1u << range.lmc;
        range.first = Lid{static_cast<std::uint16_t>(random.between(1, 6) * step)};
        return range;
      };
      now.push_back(random.chance(0.2) ? LidRange{} : place());
      const auto taken = [&](const LidRange& one) { return one.overlaps(range); };
      do {
        place();
      } while (std::any_of(then.begin(), then.end(), taken) && random.chance(0.9));
      then.push_back(std::any_of(then.begin(), then.end(), taken) ? LidRange{} : range);
    }
    const auto shared = [&] {
      const auto flags = in_common(now);
      return std::count(flags.begin(), flags.end(), true);
    };
    const auto check = [&, before = shared()] { EXPECT_LE(shared(), before); };
    for (const LidMove& move : first_moves(now, then)) {
      now[move.port] = {.first = move.to, .lmc = then[move.port].lmc};
      check();
    }
    const auto must_wait = blocked(now, then);
    for (std::size_t i = 0; i < count; ++i) {
      if (then[i].first == Lid{} || must_wait[i]) continue;
      now[i] = then[i];
      check();
    }
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round;
  }
}

// What all of this is for: one sweep is enough, and nobody ever has what another one has.
TEST(LidMoves, AreMadeInOneSweepWithoutADuplicate) {
  MemoryStore store;
  const auto guid = [](const fabric::Lab& lab, const std::string& name) {
    return lab.find_node(name)->port_guids.at(0);
  };
  const fabric::Lab model = fabric::lab_of(fabric::kFourNodes);
  const std::map<std::string, std::uint16_t> now{{"b", 10}, {"c", 11}, {"d", 12}};
  // b and c want each other's, d what nobody has; and who comes last, d's.
  const std::map<std::string, std::uint16_t> then{{"b", 11}, {"c", 10}, {"d", 13}, {"a", 12}};
  for (const auto& [name, lid] : then)
    store.record_lid(guid(model, name), {.first = Lid{lid}});
  ManagedLab lab(model, "a", {}, &store);
  for (const auto& [name, lid] : now) {
    fabric::Node& node = *lab.running.fabric.find_node(name);
    wire::PortInfo info = node.port_info(1);
    info.lid = Lid{lid};
    node.set_port_info(1, info, lab.running.now);
  }
  lab.watch = [&] {
    std::map<Lid, unsigned> holders;
    for (const std::string name : {"a", "b", "c", "d"})
      ++holders[lab.lid(name)];
    holders.erase(Lid{});
    for (const auto& [lid, count] : holders)
      EXPECT_EQ(count, 1u) << lid.value();
  };
  EXPECT_THAT(lab.sweep().problems, IsEmpty());
  EXPECT_EQ(lab.manager->report().failures, 0u);
  for (const auto& [name, lid] : then)
    EXPECT_EQ(lab.lid(name), Lid{lid}) << name;
  EXPECT_EQ(lab.active_links(), 5u);
}

}  // namespace
}  // namespace weft::sm
