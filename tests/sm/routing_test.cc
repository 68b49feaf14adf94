// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "graphs.h"
#include "sim/seeds.h"
#include "sm/routing/check.h"

namespace weft::sm {
namespace {

using ::testing::HasSubstr;

Routes routed(Engine engine, const SwitchGraph& graph, const RoutingOptions& options = {}) {
  auto routes = route(engine, graph, options);
  EXPECT_TRUE(routes) << (routes ? "" : routes.error().message);
  return routes ? std::move(*routes) : Routes(graph.switches(), graph.lid_end());
}

std::string why_not(Engine engine, const SwitchGraph& graph, const RoutingOptions& options = {}) {
  auto routes = route(engine, graph, options);
  return routes ? "" : routes.error().message;
}

std::string words(const RoutingCheck& check) {
  std::string text = check.first_unreachable;
  for (const std::string& step : check.credit_loop)
    text += "\n" + step;
  return text;
}

// The hops of the way from the switch of one host to another.
std::vector<HopIndex> way(const SwitchGraph& graph, const Routes& routes, SwitchIndex from,
                          Lid lid) {
  std::vector<HopIndex> hops;
  const SwitchIndex to = graph.ends()[graph.owner(lid)].at;
  for (SwitchIndex at = from; at != to && hops.size() <= graph.switches();) {
    HopIndex hop = graph.first_hop(at);
    while (graph.hops()[hop].port != routes.port(at, lid))
      ++hop;
    hops.push_back(hop);
    at = graph.hops()[hop].to;
  }
  return hops;
}

std::vector<EndPort> hosts_of(const SwitchGraph& graph) {
  std::vector<EndPort> hosts;
  for (const EndPort& end : graph.ends()) {
    if (end.port != 0) hosts.push_back(end);
  }
  return hosts;
}

TEST(Routing, GoesEverywhereWithoutDeadlockOnEveryShape) {
  const std::map<std::string, SwitchGraph> shapes{
      {"tree of two levels", fat_tree({4, 8})}, {"tree of three levels", fat_tree({3, 3, 3})},
      {"648 hosts", fat_tree({18, 36})},        {"torus", torus({4, 5, 3}, 2)},
      {"hypercube", torus({2, 2, 2, 2})},       {"dragonfly", dragonfly({2, 4, 2})}};
  for (const auto& [name, graph] : shapes) {
    for (const Engine engine : {Engine::kUpDown, Engine::kLayered}) {
      SCOPED_TRACE(name + ", " + std::string(to_string(engine)));
      const RoutingCheck found = check(graph, routed(engine, graph));
      EXPECT_TRUE(found.good()) << words(found);
      EXPECT_GT(found.ways, 0u);
    }
  }
}

TEST(Routing, GoesEverywhereWithoutDeadlockOnAnyFabric) {
  for (const std::uint64_t seed : sim::seeds(200)) {
    SCOPED_TRACE(seed);
    const SwitchGraph graph = random_graph(seed);
    for (const std::uint8_t lanes : std::array<std::uint8_t, 3>{1, 2, 8}) {
      const RoutingCheck found = check(graph, routed(Engine::kLayered, graph, {.lanes = lanes}));
      ASSERT_TRUE(found.good()) << int{lanes} << " lanes: " << words(found);
    }
    const RoutingCheck up_down = check(graph, routed(Engine::kUpDown, graph));
    ASSERT_TRUE(up_down.good()) << words(up_down);
    const RoutingCheck min_hop = check(graph, routed(Engine::kMinHop, graph));
    ASSERT_EQ(min_hop.unreachable, 0u) << words(min_hop);
    ASSERT_EQ(min_hop.detours, 0u);
  }
}

TEST(Routing, SpreadsLidsEvenlyOverLinksOfATree) {
  const SwitchGraph graph = fat_tree({6, 12});
  for (const Engine engine : {Engine::kMinHop, Engine::kUpDown, Engine::kFatTree}) {
    SCOPED_TRACE(to_string(engine));
    const Routes routes = routed(engine, graph);
    std::map<HopIndex, unsigned> lids;
    for (const EndPort& host : hosts_of(graph)) {
      for (SwitchIndex at = 0; at < graph.switches(); ++at) {
        for (HopIndex i = graph.first_hop(at); i < graph.first_hop(at + 1); ++i)
          lids[i] += graph.hops()[i].port == routes.port(at, host.lid) && at != host.at;
      }
    }
    for (SwitchIndex at = 0; at < graph.switches(); ++at) {
      if (!graph.has_hosts(at)) continue;
      for (HopIndex i = graph.first_hop(at); i < graph.first_hop(at + 1); ++i)
        EXPECT_EQ(lids[i], 66u / 6u) << "up link of switch " << at;  // 72 hosts but its own 6
    }
  }
}

// Zahavi 2010: what collectives of message passing are made of.
TEST(Routing, LetsShiftsShareNoLinkOfAFatTree) {
  for (const auto& shape : {std::vector<unsigned>{6, 12}, {4, 4, 4}}) {
    const SwitchGraph graph = fat_tree(shape);
    const Routes routes = routed(Engine::kFatTree, graph);
    const RoutingCheck found = check(graph, routes);
    EXPECT_TRUE(found.good()) << words(found);
    EXPECT_EQ(found.detours, 0u);
    const auto hosts = hosts_of(graph);
    for (std::size_t shift = 1; shift < hosts.size(); ++shift) {
      std::map<HopIndex, unsigned> flows;
      for (std::size_t i = 0; i < hosts.size(); ++i) {
        const EndPort& to = hosts[(i + shift) % hosts.size()];
        for (const HopIndex hop : way(graph, routes, hosts[i].at, to.lid))
          ASSERT_EQ(++flows[hop], 1u) << "shift by " << shift;
      }
    }
  }
}

TEST(Routing, GivesEachLidOfAPortAWayOfItsOwn) {
  const SwitchGraph graph = fat_tree({4, 8}, 2);
  for (const Engine engine :
       {Engine::kMinHop, Engine::kUpDown, Engine::kFatTree, Engine::kLayered}) {
    SCOPED_TRACE(to_string(engine));
    const Routes routes = routed(engine, graph);
    EXPECT_TRUE(check(graph, routes).good());
    const auto hosts = hosts_of(graph);
    std::vector<std::uint8_t> ports;
    for (unsigned i = 0; i < 4; ++i) {
      const Lid lid{static_cast<std::uint16_t>(hosts.back().lid.value() + i)};
      ports.push_back(routes.port(hosts.front().at, lid));
    }
    std::sort(ports.begin(), ports.end());
    EXPECT_EQ(std::unique(ports.begin(), ports.end()), ports.end());
  }
}

TEST(Routing, KeepsToTheOrderOfDimensions) {
  for (const auto& sizes : {std::vector<unsigned>{7}, {4, 4}, {5, 6}, {2, 3, 4}, {4, 4, 4, 4}}) {
    const SwitchGraph graph = torus(sizes);
    const RoutingCheck found = check(graph, routed(Engine::kDimensionOrder, graph));
    EXPECT_TRUE(found.good()) << words(found);
    EXPECT_EQ(found.detours, 0u);
  }
}

TEST(Routing, SaysWhereAGridIsNone) {
  EXPECT_THAT(why_not(Engine::kDimensionOrder, fat_tree({3, 6})), HasSubstr("no grid: switch 0x"));
  EXPECT_THAT(why_not(Engine::kDimensionOrder, dragonfly({1, 3, 1})), HasSubstr("no grid"));
  EXPECT_THAT(why_not(Engine::kDimensionOrder, torus({4, 4}), {.lanes = 1}),
              HasSubstr("needs two lanes"));
}

TEST(Routing, SaysWhereAFatTreeIsNone) {
  EXPECT_THAT(why_not(Engine::kFatTree, torus({5})), HasSubstr("no fat tree: port"));
}

TEST(Routing, TakesTheRootsThatItIsGiven) {
  const SwitchGraph graph = torus({3, 3});
  const Guid root = graph.guid(4);
  const Routes routes = routed(Engine::kUpDown, graph, {.roots = {root}});
  EXPECT_TRUE(check(graph, routes).good());
  EXPECT_THAT(why_not(Engine::kUpDown, graph, {.roots = {Guid{77}}}),
              HasSubstr("root 0x000000000000004d is no switch of this fabric"));
}

TEST(Routing, RoutesWithinEachPartOfAFabricThatIsCut) {
  SwitchGraph graph;
  for (std::uint16_t i = 0; i < 4; ++i) {
    graph.add_switch(Guid{i + 1u}, 4);
    ASSERT_TRUE(graph.attach({.at = i, .port = 1, .lid = Lid{static_cast<std::uint16_t>(i + 1)}}));
  }
  ASSERT_TRUE(graph.connect(0, 2, 1, 2));
  ASSERT_TRUE(graph.connect(2, 2, 3, 2));
  graph.finish();
  for (const Engine engine : {Engine::kMinHop, Engine::kUpDown, Engine::kLayered}) {
    SCOPED_TRACE(to_string(engine));
    const Routes routes = routed(engine, graph);
    EXPECT_TRUE(check(graph, routes).good());
    EXPECT_EQ(check(graph, routes).ways, 8u);
    EXPECT_EQ(routes.port(0, Lid{3}), kNoPort);
  }
}

TEST(Routing, RoutesNothingWhereThereIsNothing) {
  SwitchGraph graph;
  graph.finish();
  for (const Engine engine : {Engine::kMinHop, Engine::kUpDown, Engine::kFatTree,
                              Engine::kDimensionOrder, Engine::kLayered}) {
    EXPECT_EQ(routed(engine, graph).lid_end(), 0u);
  }
}

TEST(Routing, NamesItsEnginesAsTheyAreRead) {
  for (const Engine engine : {Engine::kMinHop, Engine::kUpDown, Engine::kFatTree,
                              Engine::kDimensionOrder, Engine::kLayered}) {
    EXPECT_EQ(parse_engine(to_string(engine)), engine);
  }
  EXPECT_EQ(parse_engine("lash"), std::nullopt);
}

}  // namespace
}  // namespace weft::sm
