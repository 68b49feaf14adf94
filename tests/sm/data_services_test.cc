// SPDX-License-Identifier: Apache-2.0
// Instances of data services: how paths are spread over them, and who takes over.
#include "sm/policy/data_services.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Gid gid(std::uint16_t number) {
  std::array<std::uint8_t, 16> bytes{0xFE, 0x80};
  bytes[14] = static_cast<std::uint8_t>(number >> 8);
  bytes[15] = static_cast<std::uint8_t>(number);
  return Gid(bytes);
}

FlowEnds flow(std::uint16_t from, std::uint16_t to) {
  return {.first = gid(from), .first_port = Guid{from}, .second = gid(to)};
}

ServiceMember at(std::uint64_t port, std::vector<Lid> lids = {}) {
  if (lids.empty()) lids = {Lid{static_cast<std::uint16_t>(port + 1000)}};
  return {.port = Guid{port}, .lids = std::move(lids)};
}

// Ports 1 to 4, an instance each.
DataService four(Balance balance) {
  return {.name = "fw", .balance = balance, .instances = {{at(1)}, {at(2)}, {at(3)}, {at(4)}}};
}

DataService pair(PairMode mode) {
  return {.name = "fw", .pair = mode, .instances = {{at(1), at(2)}}};
}

// Each a machine of its own, but for those whose numbers have the same hundreds.
void set_ports(DataServices& services, const std::vector<std::uint64_t>& ports) {
  std::vector<PresentPort> present;
  for (const std::uint64_t port : ports)
    present.push_back({.port = Guid{port}, .system = Guid{port < 100 ? port : port / 100 * 100}});
  services.set_ports(present);
}

std::map<std::uint16_t, std::uint64_t> leads(const DataServices& services) {
  std::map<std::uint16_t, std::uint64_t> ports;
  for (const ServiceLid& each : services.lids())
    ports.emplace(each.lid.value(), each.port.value());
  return ports;
}

TEST(DataServices, SayWhichPortsHaveGone) {
  DataServices services;
  set_ports(services, {1, 2, 3});
  EXPECT_EQ(services.gone(), 0u);
  set_ports(services, {1, 3, 4});
  EXPECT_EQ(services.gone_since(0), std::vector<Guid>{Guid{2}});
  set_ports(services, {1, 2, 3, 4});
  set_ports(services, {1, 2, 4});
  EXPECT_EQ(services.gone(), 2u);
  EXPECT_EQ(services.gone_since(0), (std::vector<Guid>{Guid{2}, Guid{3}}));
  EXPECT_EQ(services.gone_since(1), std::vector<Guid>{Guid{3}});
  EXPECT_TRUE(services.gone_since(2).empty());
  EXPECT_TRUE(services.gone_since(9).empty());
}

TEST(DataServices, SpreadPathsByTheirEndsAndMoveOnlyThoseOfWhoIsGone) {
  DataServices services;
  ASSERT_TRUE(services.set({four(Balance::kHash)}));
  set_ports(services, {1, 2, 3, 4});
  std::map<std::uint16_t, Guid> before;
  std::map<Guid, int> used;
  for (std::uint16_t i = 0; i < 1000; ++i) {
    before[i] = services.choose(0, flow(i, 7), true)->port;
    ++used[before[i]];
  }
  ASSERT_EQ(used.size(), 4u);
  for (const auto& [port, paths] : used)
    EXPECT_NEAR(paths, 250, 60) << port.value();
  const std::uint64_t generation = services.generation();
  set_ports(services, {1, 2, 4});
  EXPECT_GT(services.generation(), generation);
  for (const auto& [i, port] : before) {
    const Guid now = services.choose(0, flow(i, 7), true)->port;
    if (port == Guid{3}) {
      EXPECT_NE(now, Guid{3});
    } else {
      EXPECT_EQ(now, port);
    }
  }
  set_ports(services, {1, 2, 3, 4});
  for (const auto& [i, port] : before)
    EXPECT_EQ(services.choose(0, flow(i, 7), true)->port, port);
}

TEST(DataServices, GiveNewPathsToTheInstanceWithTheLeastToDo) {
  DataServices services;
  ASSERT_TRUE(services.set({four(Balance::kLoad)}));
  set_ports(services, {1, 2, 3, 4});
  const auto port = [&](std::uint16_t i) {
    return services.choose(0, flow(i, 7), true)->port.value();
  };
  EXPECT_EQ(port(10), 1u);
  EXPECT_EQ(port(11), 2u);
  EXPECT_EQ(port(12), 3u);
  EXPECT_EQ(port(13), 4u);
  EXPECT_EQ(port(11), 2u) << "the same ends keep theirs";
  services.set_load(Guid{1}, 2);
  services.set_load(Guid{2}, 0);
  // 2 has nothing by what it says; 3 and 4 have one path each, 1 has two.
  EXPECT_EQ(port(14), 2u);
  EXPECT_EQ(port(15), 2u);
  EXPECT_EQ(port(16), 3u);
  // Who only looks changes nothing.
  EXPECT_EQ(services.choose(0, flow(17, 7), false)->port, Guid{4});
  EXPECT_EQ(services.choose(0, flow(18, 7), false)->port, Guid{4});
  services.set_health(Guid{3}, false);
  EXPECT_NE(port(12), 3u);
}

TEST(DataServices, GiveNewPathsByWhatInstancesAreSaidToHaveToDo) {
  DataServices services;
  ASSERT_TRUE(
      services.set({{.name = "fw", .balance = Balance::kLoad, .instances = {{at(1)}, {at(2)}}}}));
  set_ports(services, {1, 2});
  std::uint16_t next = 10;
  const auto given = [&](int paths) {  // how many of so many new ones 1 gets
    int first = 0;
    for (int i = 0; i < paths; ++i)
      first += services.choose(0, flow(next++, 7), true)->port == Guid{1} ? 1 : 0;
    return first;
  };
  EXPECT_EQ(given(20), 10);
  const std::uint64_t generation = services.generation();
  // Of nothing nobody has more; nor by numbers for others than there are.
  services.set_rates(0, std::array<std::uint64_t, 2>{0, 0});
  services.set_rates(0, std::array<std::uint64_t, 3>{1, 0, 0});
  EXPECT_EQ(given(20), 10);
  // All of the traffic is 1's: that counts as 40 paths, of which it has been given 20.
  services.set_rates(0, std::array<std::uint64_t, 2>{1'000'000, 0});
  EXPECT_EQ(given(20), 0) << "30 to 10";
  EXPECT_EQ(given(20), 10);
  // What is connected stays where it is.
  EXPECT_EQ(services.generation(), generation);
  EXPECT_EQ(services.choose(0, flow(10, 7), true)->port, Guid{1});
  // The measure does not matter.
  services.set_rates(0, std::array<std::uint64_t, 2>{3, 5});
  services.set_rates(0, std::array<std::uint64_t, 2>{30, 50});
  EXPECT_EQ(given(5), 5) << "30 of 80 paths, and 30 that it has been given; the other one 50, 50";
}

TEST(DataServices, RememberSoManyPathsAndNoMore) {
  DataServices services({.remembered = 3});
  ASSERT_TRUE(
      services.set({{.name = "fw", .balance = Balance::kLoad, .instances = {{at(1)}, {at(2)}}}}));
  set_ports(services, {1, 2});
  const auto port = [&](std::uint16_t i) {
    return services.choose(0, flow(i, 7), true)->port.value();
  };
  EXPECT_EQ(port(10), 1u);
  EXPECT_EQ(port(11), 2u);
  EXPECT_EQ(port(12), 1u);
  EXPECT_EQ(port(10), 1u);  // asked for again: 11 is the oldest now
  EXPECT_EQ(port(13), 2u);  // 11 is forgotten
  EXPECT_EQ(port(10), 1u);
  EXPECT_EQ(port(12), 1u);
  // Those that are remembered count, and no others: both go on getting about as many.
  int first = 0;
  for (std::uint16_t i = 100; i < 1000; ++i)
    first += port(i) == 1 ? 1 : 0;
  EXPECT_NEAR(first, 450, 150);
}

TEST(DataServices, StandbyTakesTheLidsOverAndKeepsThem) {
  DataServices services;
  ASSERT_TRUE(services.set({pair(PairMode::kStandby)}));
  set_ports(services, {1, 2, 5});
  EXPECT_EQ(leads(services), (std::map<std::uint16_t, std::uint64_t>{{1001, 1}, {1002, 1}}));
  EXPECT_THAT(services.choose(0, flow(5, 7), true)->lids, ElementsAre(Lid{1001}));
  EXPECT_THAT(services.take_events(), IsEmpty());
  const std::uint64_t generation = services.generation();
  set_ports(services, {2, 5});
  EXPECT_GT(services.generation(), generation);
  EXPECT_EQ(leads(services), (std::map<std::uint16_t, std::uint64_t>{{1001, 2}, {1002, 2}}));
  const auto hop = services.choose(0, flow(5, 7), true);
  EXPECT_EQ(hop->port, Guid{2});
  EXPECT_THAT(hop->lids, ElementsAre(Lid{1002}));
  EXPECT_THAT(services.take_events(), ElementsAre(HasSubstr("takes over")));
  // It has the state of what is connected.
  set_ports(services, {1, 2, 5});
  EXPECT_EQ(leads(services), (std::map<std::uint16_t, std::uint64_t>{{1001, 2}, {1002, 2}}));
  services.set_health(Guid{2}, false);
  EXPECT_EQ(leads(services), (std::map<std::uint16_t, std::uint64_t>{{1001, 1}, {1002, 1}}));
  // Nobody is well: LIDs stay, and there are no new paths.
  services.set_health(Guid{1}, false);
  EXPECT_EQ(leads(services), (std::map<std::uint16_t, std::uint64_t>{{1001, 1}, {1002, 1}}));
  EXPECT_FALSE(services.choose(0, flow(5, 7), true));
  services.set_health(Guid{2}, true);
  EXPECT_EQ(services.choose(0, flow(5, 7), true)->port, Guid{2});
}

// A fabric comes up in any order, and what is asked without being used changes nothing.
TEST(DataServices, FirstOfAStandbyPairWorksWhicheverIsSeenFirst) {
  DataServices services;
  ASSERT_TRUE(services.set({pair(PairMode::kStandby)}));
  set_ports(services, {2, 5});
  EXPECT_EQ(services.choose(0, flow(5, 7), false)->port, Guid{2});
  set_ports(services, {1, 2, 5});
  EXPECT_EQ(leads(services), (std::map<std::uint16_t, std::uint64_t>{{1001, 1}, {1002, 1}}));
}

TEST(DataServices, DrainedPortsGetNothingUntilTheyArePutBack) {
  DataServices services;
  ASSERT_TRUE(services.set({pair(PairMode::kStandby)}));
  set_ports(services, {1, 2});
  services.set_drained(Guid{1}, true);
  EXPECT_TRUE(services.is_drained(Guid{1}));
  EXPECT_FALSE(services.is_well(Guid{1}));
  EXPECT_EQ(leads(services), (std::map<std::uint16_t, std::uint64_t>{{1001, 2}, {1002, 2}}));
  // What is said of the work there, and a port that goes and comes, do not put it back.
  services.set_health(Guid{1}, false);
  services.set_health(Guid{1}, true);
  set_ports(services, {2});
  set_ports(services, {1, 2});
  EXPECT_FALSE(services.is_well(Guid{1}));
  services.set_drained(Guid{1}, false);
  EXPECT_TRUE(services.is_well(Guid{1}));
  EXPECT_EQ(services.choose(0, flow(5, 7), true)->port, Guid{2});
}

TEST(DataServices, BothOfAPairWorkAndLendEachOtherTheirLids) {
  DataServices services;
  ASSERT_TRUE(services.set({pair(PairMode::kBoth)}));
  set_ports(services, {1, 2});
  EXPECT_EQ(leads(services), (std::map<std::uint16_t, std::uint64_t>{{1001, 1}, {1002, 2}}));
  set_ports(services, {2});
  EXPECT_EQ(leads(services), (std::map<std::uint16_t, std::uint64_t>{{1001, 2}, {1002, 2}}));
  set_ports(services, {1, 2});
  EXPECT_EQ(leads(services), (std::map<std::uint16_t, std::uint64_t>{{1001, 1}, {1002, 2}}));
}

// One path of a node goes on when a member, and what leads to it, is gone.
TEST(DataServices, GiveThePortsOfANodeToDifferentMembers) {
  DataServices services;
  ASSERT_TRUE(services.set({pair(PairMode::kBoth)}));
  set_ports(services, {1, 2, 100, 101, 102, 103, 200, 201, 300, 301, 400, 401, 500, 501});
  const auto member = [&](std::uint16_t port) {
    return services
        .choose(0, {.first = gid(port), .first_port = Guid{port}, .second = gid(7)}, true)
        ->member;
  };
  EXPECT_NE(member(100), member(101));
  EXPECT_EQ(member(100), member(102));
  EXPECT_NE(member(102), member(103));
  int first = 0;
  for (std::uint16_t machine = 100; machine <= 500;
       machine = static_cast<std::uint16_t>(machine + 100)) {
    EXPECT_NE(member(machine), member(static_cast<std::uint16_t>(machine + 1)));
    first += member(machine) == 0 ? 1 : 0;
  }
  EXPECT_GT(first, 0) << "machines do not all begin with the same one";
  EXPECT_LT(first, 5);
}

// Nodes 1 to 3 with a port in the west, 11 to 31, and one in the east, 12 to 32.
DataService joining(PairMode mode, const std::vector<std::vector<std::uint64_t>>& instances) {
  DataService made{.name = "router", .pair = mode, .joins = true};
  for (const auto& ports : instances) {
    auto& members = made.instances.emplace_back();
    for (const std::uint64_t port : ports) {
      members.push_back(at(port));
      members.back().node = Guid{port / 10};
    }
  }
  return made;
}

TEST(DataServices, ThatJoinSubnetsAreTheSameNodeForBothManagers) {
  for (const PairMode mode : {PairMode::kStandby, PairMode::kBoth}) {
    const auto made = mode == PairMode::kBoth ? joining(mode, {{11, 21}, {12, 22}})
                                              : joining(mode, {{11}, {12}, {21}, {22}, {31}, {32}});
    DataServices west;
    DataServices east;
    ASSERT_TRUE(west.set({made}));
    ASSERT_TRUE(east.set({made}));
    set_ports(west, {5, 11, 21, 31});
    set_ports(east, {7, 12, 22, 32});
    std::map<std::uint64_t, int> used;
    const auto check = [&] {
      for (std::uint16_t i = 0; i < 60; ++i) {
        const FlowEnds in_west{.first = gid(i), .first_port = Guid{5}, .second = gid(999)};
        const FlowEnds in_east{.first = gid(i), .second = gid(999)};
        const std::uint64_t there = west.choose(0, in_west, true)->port.value() / 10;
        EXPECT_EQ(there, east.choose(0, in_east, true)->port.value() / 10);
        ++used[there];
      }
    };
    check();
    EXPECT_EQ(used.size(), mode == PairMode::kBoth ? 2u : 3u);
    for (DataServices* const each : {&west, &east})
      each->set_drained(Guid{11}, true);
    used.clear();
    check();
    EXPECT_FALSE(used.contains(1)) << "the whole node is out of service";
  }
}

TEST(DataServices, ThatJoinSubnetsGoBackToTheFirstOfAPair) {
  DataServices services;
  ASSERT_TRUE(services.set({joining(PairMode::kStandby, {{11, 21}, {12, 22}})}));
  set_ports(services, {11, 21});
  EXPECT_EQ(leads(services)[1011], 11u);
  EXPECT_THAT(services.choose(0, flow(5, 6), true)->lids, ElementsAre(Lid{1011}));
  services.set_health(Guid{11}, false);
  EXPECT_EQ(leads(services)[1011], 21u);
  EXPECT_EQ(services.choose(0, flow(5, 6), true)->port, Guid{21});
  EXPECT_THAT(services.choose(0, flow(5, 6), true)->lids, ElementsAre(Lid{1011}))
      << "by which those who are connected know it";
  services.set_health(Guid{11}, true);
  EXPECT_EQ(leads(services)[1011], 11u) << "as in the other subnet, whatever came first there";
}

TEST(DataServices, GetLidsAboveThoseOfPortsAlwaysTheSame) {
  const std::vector<DataService> wanted{
      {.name = "fw", .instances = {{{.port = Guid{1}}, {.port = Guid{2}}}}},
      {.name = "mon", .instances = {{{.port = Guid{3}, .lids = {Lid{65}}}}, {{.port = Guid{4}}}}}};
  DataServices services;
  ASSERT_TRUE(services.set(wanted));
  EXPECT_TRUE(services.wants_lids());
  EXPECT_FALSE(services.choose(0, flow(5, 7), true)) << "it has no LID";
  ASSERT_TRUE(services.assign_lids({Lid{1}, Lid{5}, Lid{20}}));
  EXPECT_FALSE(services.wants_lids());
  EXPECT_EQ(leads(services),
            (std::map<std::uint16_t, std::uint64_t>{{64, 1}, {65, 3}, {66, 1}, {67, 4}}));
  EXPECT_EQ(services.owner_of(Lid{66}), 0u);
  EXPECT_EQ(services.owner_of(Lid{65}), 1u);
  EXPECT_EQ(services.owner_of(Lid{20}), std::nullopt);
  DataServices larger;
  ASSERT_TRUE(larger.set(wanted));
  ASSERT_TRUE(larger.assign_lids({Lid{200}}));
  EXPECT_EQ(larger.lids().front().lid, Lid{512});
  DataServices full;
  ASSERT_TRUE(full.set(wanted));
  EXPECT_FALSE(full.assign_lids({Lid{0xBFFE}})) << "one LID is left";
}

TEST(DataServices, AreRefusedWhereTheyMakeNoSense) {
  DataServices services;
  const auto refused = [&](std::vector<DataService> wanted) {
    const auto set = services.set(std::move(wanted));
    return set ? std::string() : set.error().message;
  };
  EXPECT_EQ(refused({four(Balance::kHash)}), "");
  EXPECT_THAT(refused({{.name = ""}}), HasSubstr("without a name"));
  EXPECT_THAT(refused({{.name = "x"}}), HasSubstr("no port"));
  EXPECT_THAT(refused({{.name = "x", .instances = {{at(1), at(2), at(3)}}}}), HasSubstr("a pair"));
  EXPECT_THAT(refused({{.name = "x", .instances = {{at(1), at(1, {Lid{9}})}}}}),
              HasSubstr("twice"));
  EXPECT_THAT(refused({{.name = "x", .instances = {{at(1, {Lid{0xC000}})}}}}),
              HasSubstr("unicast"));
  EXPECT_THAT(refused({{.name = "x", .instances = {{at(1, {Lid{7}})}, {at(2, {Lid{7}})}}}}),
              HasSubstr("LID 7 is there twice"));
  EXPECT_THAT(refused({four(Balance::kHash), four(Balance::kLoad)}), HasSubstr("two services fw"));
  EXPECT_EQ(services.services().size(), 1u) << "nothing has changed";
}

}  // namespace
}  // namespace weft::sm
