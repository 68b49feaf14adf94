// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "fabric/lab_file.h"

namespace weft::fabric {
namespace {

Lab made(Expected<Lab> lab) {
  EXPECT_TRUE(lab) << lab.error().message;
  return lab.value_or(Lab{});
}

std::string generate_refusal(const Expected<Lab>& lab) {
  EXPECT_FALSE(lab);
  return lab ? "" : lab.error().message;
}

std::size_t count(const Lab& lab, NodeKind kind) {
  return static_cast<std::size_t>(std::count_if(
      lab.nodes.begin(), lab.nodes.end(), [&](const LabNode& node) { return node.kind == kind; }));
}

using Neighbours = std::map<std::uint32_t, std::multiset<std::uint32_t>>;

Neighbours neighbours(const Lab& lab) {
  Neighbours all;
  for (const LabLink& link : lab.links) {
    all[link.ends[0].node].insert(link.ends[1].node);
    all[link.ends[1].node].insert(link.ends[0].node);
  }
  return all;
}

// Hops from one node to each other one.
std::vector<int> distances(const Lab& lab, std::uint32_t from) {
  const Neighbours next = neighbours(lab);
  std::vector<int> hops(lab.nodes.size(), -1);
  std::deque<std::uint32_t> queue{from};
  hops[from] = 0;
  while (!queue.empty()) {
    const std::uint32_t at = queue.front();
    queue.pop_front();
    for (const std::uint32_t other : next.at(at)) {
      if (hops[other] >= 0) continue;
      hops[other] = hops[at] + 1;
      queue.push_back(other);
    }
  }
  return hops;
}

int diameter(const Lab& lab) {
  int most = 0;
  for (std::uint32_t node = 0; node < lab.nodes.size(); ++node) {
    const std::vector<int> hops = distances(lab, node);
    EXPECT_EQ(std::count(hops.begin(), hops.end(), -1), 0) << "all are connected";
    most = std::max(most, *std::max_element(hops.begin(), hops.end()));
  }
  return most;
}

TEST(Size, IsNumbersWithAnXBetween) {
  EXPECT_EQ(parse_size("18x36"), (std::vector<unsigned>{18, 36}));
  EXPECT_EQ(parse_size("4"), std::vector<unsigned>{4});
  for (const char* bad : {"", "x", "4x", "x4", "4x0", "4X4", "-4", "4 x4", "65536", "4x4y",
                          "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"}) {
    EXPECT_FALSE(parse_size(bad)) << bad;
  }
}

TEST(FatTree, OfOneLevelIsAStar) {
  const Lab lab = made(generate_fat_tree({4}, "star"));
  EXPECT_EQ(count(lab, NodeKind::kSwitch), 1u);
  EXPECT_EQ(count(lab, NodeKind::kChannelAdapter), 4u);
  EXPECT_EQ(diameter(lab), 2);
}

TEST(FatTree, Of36PortSwitchesOnTwoLevelsHas648Nodes) {
  const Lab lab = made(generate_fat_tree({18, 36}, "big"));
  EXPECT_EQ(count(lab, NodeKind::kChannelAdapter), 648u);
  EXPECT_EQ(count(lab, NodeKind::kSwitch), 54u);
  for (const LabNode& node : lab.nodes) {
    if (node.kind == NodeKind::kSwitch) {
      EXPECT_EQ(node.ports, 36);
    }
  }
  EXPECT_EQ(lab.links.size(), 648u * 2) << "as many up as down";
  const std::vector<int> hops = distances(lab, static_cast<std::uint32_t>(lab.nodes.size() - 1));
  EXPECT_EQ(*std::max_element(hops.begin(), hops.end()), 4);
}

TEST(FatTree, OfThreeLevelsHas5832NodesAnd972Switches) {
  const Lab lab = made(generate_fat_tree({18, 18, 18}, "big"));
  EXPECT_EQ(count(lab, NodeKind::kChannelAdapter), 5832u);
  EXPECT_EQ(count(lab, NodeKind::kSwitch), 972u);
  EXPECT_EQ(lab.links.size(), 5832u * 3);
}

TEST(FatTree, HasOneLinkBetweenTwoSwitchesAndUsesEveryPort) {
  const Lab lab = made(generate_fat_tree({2, 3, 4}, "tree"));
  EXPECT_EQ(count(lab, NodeKind::kChannelAdapter), 24u);
  EXPECT_EQ(count(lab, NodeKind::kSwitch), 12u + 2 * 4 + 2 * 3);
  EXPECT_EQ(diameter(lab), 6);
  for (const auto& [node, others] : neighbours(lab)) {
    EXPECT_EQ(others.size(), lab.nodes[node].ports) << lab.nodes[node].name;
    EXPECT_EQ(std::set<std::uint32_t>(others.begin(), others.end()).size(), others.size());
  }
}

TEST(Torus, ClosesItsRings) {
  const Lab lab = made(generate_torus({4, 3}, 1, "torus"));
  EXPECT_EQ(count(lab, NodeKind::kSwitch), 12u);
  EXPECT_EQ(lab.links.size(), 12u + 24u);
  EXPECT_EQ(diameter(lab), 2 + 2 + 1);
  EXPECT_EQ(lab.nodes[0].ports, 5);
}

TEST(Torus, HasOneLinkInARowOfTwoAndNoneInARowOfOne) {
  const Lab lab = made(generate_torus({2, 1, 2}, 2, "torus"));
  EXPECT_EQ(count(lab, NodeKind::kSwitch), 4u);
  EXPECT_EQ(lab.links.size(), 4u + 8u);
}

TEST(Torus, HasItsPortsInTheOrderOfDimensions) {
  const Lab lab = made(generate_torus({3, 3}, 1, "torus"));
  ASSERT_NE(lab.find_link("s0-0:2"), nullptr);
  EXPECT_EQ(lab.end_name(lab.find_link("s0-0:2")->ends[1]), "s1-0:1");
  EXPECT_EQ(lab.end_name(lab.find_link("s0-0:4")->ends[1]), "s0-1:3");
}

TEST(Dragonfly, LinksEachTwoGroupsOnceAndAllSwitchesOfAGroup) {
  const Lab lab = made(generate_dragonfly({2, 4, 2}, "fly"));
  EXPECT_EQ(count(lab, NodeKind::kSwitch), 36u);
  EXPECT_EQ(count(lab, NodeKind::kChannelAdapter), 72u);
  std::map<std::pair<std::string, std::string>, int> between;
  const auto group = [&](const LabEnd& end) {
    const std::string& name = lab.nodes[end.node].name;
    return name.substr(0, name.find('-'));
  };
  for (const LabLink& link : lab.links) {
    const std::string a = group(link.ends[0]), b = group(link.ends[1]);
    if (a.starts_with("g") && b.starts_with("g") && a != b) ++between[std::minmax(a, b)];
  }
  EXPECT_EQ(between.size(), 9u * 8 / 2);
  for (const auto& [pair, links] : between)
    EXPECT_EQ(links, 1) << pair.first << " " << pair.second;
  EXPECT_EQ(diameter(lab), 5);
  for (const auto& [node, others] : neighbours(lab))
    EXPECT_EQ(others.size(), lab.nodes[node].ports);
}

TEST(Line, HasItsSwitchesInARow) {
  const Lab lab = made(generate_line({5}, 1, "line"));
  EXPECT_EQ(count(lab, NodeKind::kSwitch), 5u);
  EXPECT_EQ(count(lab, NodeKind::kChannelAdapter), 5u);
  EXPECT_EQ(diameter(lab), 6);
}

TEST(Generate, GivesLabsThatALabFileHolds) {
  for (const Lab& lab :
       {made(generate_fat_tree({2, 3}, "a")), made(generate_torus({3, 2}, 2, "b")),
        made(generate_dragonfly({1, 2, 1}, "c")), made(generate_line({2}, 0, "d"))}) {
    const auto again = parse_lab(write_lab(lab), "lab.toml");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, lab);
  }
}

TEST(Generate, RefusesWhatNoSubnetHolds) {
  EXPECT_EQ(generate_refusal(generate_fat_tree({128, 2}, "x")),
            "fat-tree 128x2: a switch of level 1 would need 256 ports; 254 is the most");
  EXPECT_EQ(generate_refusal(generate_fat_tree({100, 100, 100}, "x")),
            "fat-tree 100x100x100: 30000 switches and 1000000 nodes: a subnet has 49151 LIDs");
  EXPECT_EQ(generate_refusal(generate_fat_tree({}, "x")),
            "fat-tree : the size is how many are below a switch, level by level, as in 18x36");
  EXPECT_EQ(generate_refusal(generate_torus({65535, 65535, 65535, 65535}, 1, "x")).substr(0, 5),
            "torus");
  EXPECT_EQ(generate_refusal(generate_torus({4}, 253, "x")),
            "torus 4: at most 252 nodes on a switch");
  EXPECT_EQ(generate_refusal(generate_dragonfly({2, 4}, "x")).substr(0, 26),
            "dragonfly 2x4: the size is");
  EXPECT_EQ(generate_refusal(generate_dragonfly({100, 100, 100}, "x")),
            "dragonfly 100x100x100: a switch would need 299 ports; 254 is the most");
  EXPECT_EQ(generate_refusal(generate_line({2, 2}, 1, "x")),
            "line 2x2: the size is one number, of switches");
  EXPECT_EQ(generate_refusal(generate_line({40000}, 1, "x")),
            "line 40000: 40000 switches with 1 nodes each: a subnet has 49151 LIDs");
}

}  // namespace
}  // namespace weft::fabric
