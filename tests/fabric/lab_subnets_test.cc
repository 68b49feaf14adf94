// SPDX-License-Identifier: Apache-2.0
// Labs that are several subnets: who manages which, and what cannot be.
#include "fabric/lab_subnets.h"

#include <gtest/gtest.h>

#include "fabric/lab_file.h"
#include "lab_text.h"

namespace weft::fabric {
namespace {

constexpr const char* kManagers = R"(
[[sm]]
node = "west"
subnet_prefix = "fd00:0:0:1::/64"
[[sm]]
node = "east"
subnet_prefix = "fd00:0:0:2::/64"
)";
constexpr const char* kLabSubnetsNodes = R"(
[switch]
west = {}
east = {}
[node]
a = {}
b = {}
gate = { ports = 2 }
[[link]]
ends = ["a", "west"]
[[link]]
ends = ["gate:1", "west"]
[[link]]
ends = ["gate:2", "east"]
[[link]]
ends = ["b", "east"]
)";

std::string text_with(const std::string& more) {
  return std::string(kManagers) + kLabSubnetsNodes + more;
}

std::size_t index_of(const Lab& lab, std::string_view name) {
  return static_cast<std::size_t>(lab.find_node(name) - lab.nodes.data());
}

TEST(LabSubnets, AreWhatSwitchesAndLinksJoin) {
  const Lab lab = parsed(text_with(""));
  ASSERT_EQ(lab.more_subnets.size(), 1u);
  EXPECT_EQ(lab.managing_node(0)->name, "west");
  EXPECT_EQ(lab.managing_node(1)->name, "east");
  EXPECT_EQ(lab.management_of(1).subnet_prefix, 0xFD00'0000'0000'0002u);
  const LabSubnets subnets(lab);
  EXPECT_EQ(subnets.of(index_of(lab, "a"), 1), 0u);
  EXPECT_EQ(subnets.of(index_of(lab, "west"), 3), 0u);
  EXPECT_EQ(subnets.of(index_of(lab, "gate"), 1), 0u);
  EXPECT_EQ(subnets.of(index_of(lab, "gate"), 2), 1u);
  EXPECT_EQ(subnets.of(index_of(lab, "b"), 1), 1u);
  EXPECT_EQ(subnets.of(index_of(lab, "east"), 1), 1u);
}

TEST(LabSubnets, AreWrittenAsTheyAreRead) {
  const Lab lab = parsed(text_with(""));
  EXPECT_EQ(parsed(write_lab(lab)), lab);
}

TEST(LabSubnets, OfOneManagerAreOne) {
  const Lab lab = parsed(kLabSubnetsNodes);
  const LabSubnets subnets(lab);
  EXPECT_EQ(subnets.of(index_of(lab, "gate"), 2), 0u);
  EXPECT_EQ(subnets.of(index_of(lab, "b"), 1), 0u);
}

TEST(LabSubnets, RefuseWhatCannotBe) {
  EXPECT_EQ(refusal(text_with("[[link]]\nends = [\"west\", \"east\"]\n")),
            "lab.toml:5: sm: links join east with west: they are one subnet");
  const std::string other = std::string("[[sm]]\nnode = \"west\"\n[[sm]]\n") + kLabSubnetsNodes;
  EXPECT_EQ(refusal(other),
            "lab.toml:3: sm: of several subnets, each says where its manager is, as in node = "
            "\"s1\"");
  EXPECT_EQ(
      refusal(std::string("[[sm]]\nnode = \"west\"\n[[sm]]\nnode = \"east\"\n") + kLabSubnetsNodes),
      "lab.toml:3: sm: the subnet of west has this subnet_prefix, too");
  EXPECT_EQ(refusal(std::string("[[sm]]\nnode = \"west\"\n[[sm]]\nnode = \"east\"\n"
                                "manager = \"none\"\n") +
                    kLabSubnetsNodes),
            "lab.toml:3: sm: of several subnets, each has Weft's own manager");
}

TEST(LabSubnets, RouterIsAtSeveralPortsOfANode) {
  const auto at = [](const std::string& ports) {
    return text_with("[service.router]\nat = " + ports + "\n");
  };
  EXPECT_EQ(parsed(at("[\"gate:1\", \"gate:2\"]")).data.services.size(), 1u);
  EXPECT_NE(refusal(at("\"gate:1\""))
                .find("a router is at several ports of a node, as in "
                      "at = [\"gate:1\", \"gate:2\"]"),
            std::string::npos);
  EXPECT_NE(
      refusal(at("[\"gate:1\", \"gate:2\"]\nbalance = \"load\"")).find("not balanced by load"),
      std::string::npos);
}

TEST(LabSubnets, RoutersStandInForEachOtherInEachSubnet) {
  const auto at = [](const std::string& ports) {
    std::string text = kLabSubnetsNodes;
    text.replace(text.find("gate = "), 0, "gate2 = { ports = 2 }\n");
    return std::string(kManagers) + text +
           "[[link]]\nends = [\"gate2:1\", \"west\"]\n"
           "[[link]]\nends = [\"gate2:2\", \"east\"]\n[service.router]\nat = " +
           ports + "\n";
  };
  const auto refuses = [&](const std::string& ports, const char* text) {
    const std::string why = refusal(at(ports));
    EXPECT_NE(why.find(text), std::string::npos) << why;
  };
  const Lab lab = parsed(at("[[\"gate:1\", \"gate2:1\"], [\"gate:2\", \"gate2:2\"]]"));
  EXPECT_EQ(lab.data.services.front().instances.size(), 2u);
  refuses("[[\"gate:1\", \"gate:2\"]]", "with those of one other node");
  refuses("[[\"gate:1\", \"gate2:1\"], [\"gate2:2\", \"gate:2\"]]", "in the same order");
  refuses("[[\"gate:1\", \"gate2:1\"], \"gate:2\", \"gate2:2\"]", "one other node");
  refuses("[[\"gate:1\", \"gate2:2\"], [\"gate:2\", \"gate2:1\"]]", "are in two subnets");
}

}  // namespace
}  // namespace weft::fabric
