// SPDX-License-Identifier: Apache-2.0
// Trees of groups, by a checker that lets a packet run from each member: everybody else gets it
// once, and nobody besides.
#include "sm/routing/multicast_tree.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "graphs.h"
#include "sim/seeds.h"

namespace weft::sm {
namespace {

constexpr std::uint16_t kFirst = 0xC000;

// Where the copies of a packet leave the switches that `from` sends; nothing: it goes round, or in
// vain to a switch.
using Copies = std::map<std::pair<SwitchIndex, std::uint8_t>, int>;
std::optional<Copies> run(const SwitchGraph& graph, const std::vector<MulticastHop>& hops,
                          const MulticastEnd& from) {
  std::map<SwitchIndex, PortSet> tables;
  for (const MulticastHop& hop : hops)
    tables[hop.at] = hop.ports;
  Copies copies;
  std::set<SwitchIndex> visited;
  std::deque<std::pair<SwitchIndex, std::uint8_t>> queue{{from.at, from.port}};
  while (!queue.empty()) {
    const auto [at, in] = queue.front();
    queue.pop_front();
    if (!visited.insert(at).second) return std::nullopt;
    PortSet out = tables[at];
    out.reset(in);
    if (out.none() && at != from.at) return std::nullopt;
    for (unsigned port = 0; port < 256; ++port) {
      if (!tables[at].test(port) || port == in) continue;
      const auto hop_list = graph.hops_of(at);
      const auto hop = std::find_if(hop_list.begin(), hop_list.end(),
                                    [&](const Hop& one) { return one.port == port; });
      if (hop == hop_list.end()) {
        ++copies[{at, static_cast<std::uint8_t>(port)}];
      } else {
        queue.emplace_back(hop->to, hop->peer_port);
      }
    }
  }
  return copies;
}

void expect_right(const SwitchGraph& graph, const std::vector<MulticastHop>& hops,
                  const std::vector<MulticastEnd>& ends) {
  for (const MulticastEnd& from : ends) {
    Copies expected;
    for (const MulticastEnd& to : ends) {
      if (to.receives && !(to == from)) expected[{to.at, to.port}] = 1;
    }
    const auto copies = run(graph, hops, from);
    ASSERT_TRUE(copies) << "goes round, or in vain";
    ASSERT_EQ(*copies, expected) << "from switch " << from.at << " port " << unsigned{from.port};
  }
}

std::vector<MulticastEnd> some_ends(const SwitchGraph& graph, Random& random) {
  std::vector<MulticastEnd> ends;
  const double share = random.chance(0.5) ? 0.1 : 0.6;
  for (const EndPort& end : graph.ends()) {
    if (!random.chance(share)) continue;
    ends.push_back({.at = end.at, .port = end.port, .receives = !random.chance(0.2)});
  }
  return ends;
}

TEST(MulticastTree, ReachesEachMemberOnceFromEachMember) {
  for (const std::uint64_t seed : sim::seeds(200)) {
    SCOPED_TRACE(seed);
    const SwitchGraph graph = random_graph(seed);
    const MulticastTrees trees(graph);
    Random random(seed);
    for (std::uint16_t group = 0; group < 10; ++group) {
      const auto ends = some_ends(graph, random);
      expect_right(graph, trees.hops(Lid{static_cast<std::uint16_t>(kFirst + group)}, ends), ends);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(MulticastTree, IsThereForEachPartOfAFabric) {
  SwitchGraph graph;
  std::vector<MulticastEnd> ends;
  std::uint16_t lid = 1;
  for (SwitchIndex at = 0; at < 4; ++at) {
    graph.add_switch(Guid{at + 1u}, 8);
    ASSERT_TRUE(graph.attach({.at = at, .port = 1, .lid = Lid{lid++}}));
    ends.push_back({.at = at, .port = 1});
  }
  ASSERT_TRUE(graph.connect(0, 2, 1, 2));
  ASSERT_TRUE(graph.connect(2, 2, 3, 2));
  graph.finish();
  const auto hops = MulticastTrees(graph).hops(Lid{kFirst}, ends);
  expect_right(graph, hops, {ends[0], ends[1]});
  expect_right(graph, hops, {ends[2], ends[3]});
}

TEST(MulticastTree, IsAsShallowAsTheFabricAllows) {
  const SwitchGraph graph = fat_tree({4, 8});
  std::vector<MulticastEnd> ends;
  for (const EndPort& end : graph.ends()) {
    if (end.port != 0) ends.push_back({.at = end.at, .port = end.port});
  }
  for (std::uint16_t group = 0; group < 16; ++group) {
    // All leaves and one switch of the top: two hops from anywhere to anywhere.
    std::size_t leaves = 0;
    for (SwitchIndex at = 0; at < graph.switches(); ++at)
      leaves += graph.has_hosts(at) ? 1 : 0;
    const auto hops =
        MulticastTrees(graph).hops(Lid{static_cast<std::uint16_t>(kFirst + group)}, ends);
    EXPECT_EQ(hops.size(), leaves + 1);
  }
}

TEST(MulticastTree, UsesOtherLinksForOtherGroups) {
  const SwitchGraph graph = fat_tree({4, 8});
  std::vector<MulticastEnd> ends;
  for (const EndPort& end : graph.ends()) {
    if (end.port != 0) ends.push_back({.at = end.at, .port = end.port});
  }
  const MulticastTrees trees(graph);
  std::map<std::pair<SwitchIndex, std::size_t>, int> uses;
  unsigned tops = 0;
  for (SwitchIndex at = 0; at < graph.switches(); ++at)
    tops += graph.has_hosts(at) ? 0 : 1;
  for (unsigned group = 0; group < 4 * tops; ++group) {
    for (const auto& hop : trees.hops(Lid{static_cast<std::uint16_t>(kFirst + group)}, ends)) {
      for (const Hop& link : graph.hops_of(hop.at)) {
        if (hop.ports.test(link.port)) ++uses[{hop.at, link.port}];
      }
    }
  }
  // Every link between switches, and each as often as the others.
  EXPECT_EQ(uses.size(), graph.hops().size());
  for (const auto& [link, count] : uses)
    EXPECT_EQ(count, uses.begin()->second) << link.first << ' ' << link.second;
}

TEST(MulticastTree, DoesNotMoveTheWaysOfOthersWhenOneJoins) {
  for (const std::uint64_t seed : sim::seeds(20)) {
    SCOPED_TRACE(seed);
    const SwitchGraph graph = random_graph(seed);
    const MulticastTrees trees(graph);
    Random random(seed);
    auto ends = some_ends(graph, random);
    if (ends.size() < 2) continue;
    const auto all = trees.hops(Lid{kFirst}, ends);
    ends.pop_back();
    std::map<SwitchIndex, PortSet> with_one_more;
    for (const MulticastHop& hop : all)
      with_one_more[hop.at] = hop.ports;
    for (const MulticastHop& hop : trees.hops(Lid{kFirst}, ends))
      EXPECT_EQ(hop.ports & with_one_more[hop.at], hop.ports);
  }
}

}  // namespace
}  // namespace weft::sm
