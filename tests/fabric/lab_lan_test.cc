// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_lan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "fabric/lab_file.h"
#include "lab_text.h"

namespace weft::fabric {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LabLan, IsOffUnlessTheFileSaysSo) {
  EXPECT_EQ(parsed("[node.a]").nodes[0].lan, std::nullopt);
  EXPECT_EQ(parsed("lan = false\n[node.a]").nodes[0].lan, std::nullopt);
}

TEST(LabLan, IsOnAllNodesAndNoSwitchOrRouterWhereItIsOn) {
  const Lab lab = parsed("lan = true\n[node.a]\n[switch.s]\n[router.r]\n[node.b]");
  EXPECT_EQ(lab.find_node("a")->lan, LabLan{});
  EXPECT_EQ(lab.find_node("b")->lan, LabLan{});
  EXPECT_EQ(lab.find_node("s")->lan, std::nullopt);
  EXPECT_EQ(lab.find_node("r")->lan, std::nullopt);
}

TEST(LabLan, TakesOfANodeWhatItSaysAndTheRestFromTheTop) {
  const Lab lab = parsed(
      "[node.a]\nlan = false\n[node.b]\nlan = { mtu = 9000, netns = false }\n[node.c]\nlan = true\n"
      "[lan]\nnetns = '{node}'\nqueues = 4\noffloads = false");
  EXPECT_EQ(lab.nodes[0].lan, std::nullopt);
  EXPECT_EQ(lab.nodes[1].lan,
            (LabLan{.name = {}, .netns = {}, .mtu = 9000, .queues = 4, .offloads = false}));
  EXPECT_EQ(lab.nodes[2].lan,
            (LabLan{.name = {}, .netns = "{node}", .mtu = 1500, .queues = 4, .offloads = false}));
}

TEST(LabLan, IsOnANodeThatAsksForIt) {
  const Lab lab = parsed("[node.a]\nlan = { name = 'eth0' }\n[node.b]");
  EXPECT_EQ(lab.nodes[0].lan, (LabLan{.name = "eth0", .netns = {}}));
  EXPECT_EQ(lab.nodes[1].lan, std::nullopt);
}

TEST(LabLan, BridgesWhereTheFileSaysSoOrTheHostDoes) {
  const Lab lab = parsed(
      "[node.a]\n[node.b]\nlan = { bridge = false }\n[node.c]\nlan = { bridge = 'auto' }\n"
      "[lan]\nbridge = true");
  EXPECT_EQ(lab.nodes[0].lan->bridge, true);
  EXPECT_EQ(lab.nodes[1].lan->bridge, false);
  EXPECT_EQ(lab.nodes[2].lan->bridge, std::nullopt);
  EXPECT_EQ(parsed("lan = true\n[node.a]").nodes[0].lan->bridge, std::nullopt);
}

TEST(LabLan, IsWrittenAsItIsRead) {
  for (const char* const text :
       {"lan = true\n[node.a]\n[node.b]", "lan = true\n[node.a]\nlan = false\n[node.b]\n[node.c]",
        "[node.a]\nlan = true\n[node.b]\n[node.c]",
        "[node.a]\nlan = { netns = '/proc/7/ns/net', mtu = 65521 }\n[node.b]\n[switch.s]",
        "[node.a]\nlan = { netns = false }\n[node.b]\n[node.c]\n[lan]\nnetns = '{node}'\n"
        "name = 'eth{port}'\nmtu = 68\nqueues = 16\noffloads = false\nchannels = 0",
        "[node.a]\nlan = { bridge = 'auto' }\n[node.b]\n[node.c]\nlan = { bridge = false }\n"
        "[lan]\nbridge = true"}) {
    const Lab lab = parsed(text);
    EXPECT_EQ(parsed(write_lab(lab)), lab) << write_lab(lab);
  }
}

TEST(LabLan, GivesInterfacesNamesOfTheirNodesOrShortOnesInNamespacesOfTheirOwn) {
  const auto name = [](const LabLan& lan, std::string_view node, unsigned port) {
    return lan_place(lan, node, port).name;
  };
  EXPECT_EQ(name({}, "a", 1), "lan-a");
  EXPECT_EQ(name({}, "a", 2), "lan-a-2");
  EXPECT_EQ(name({.name = {}, .netns = "{node}"}, "a", 2), "lan2");
  EXPECT_EQ(name({.name = {}, .netns = "guests"}, "a", 2), "lan-a-2");
  EXPECT_EQ(name({.name = "e{port}-{node}", .netns = {}}, "a", 2), "e2-a");
}

TEST(LabLan, GivesInterfacesOfLongNodeNamesDifferentNamesOfFifteenCharacters) {
  std::set<std::string> names;
  for (unsigned node = 0; node < 1000; ++node)
    names.insert(lan_place({}, "compute-rack-12-" + std::to_string(node), 1).name);
  EXPECT_EQ(names.size(), 1000u);
  for (const std::string& name : names)
    EXPECT_TRUE(good_interface_name(name)) << name;
}

TEST(LabLan, FindsTheNamespaceOfANodeByItsName) {
  EXPECT_EQ(lan_place({.name = {}, .netns = "lab-{node}-{port}"}, "a", 2).netns, "lab-a-2");
  EXPECT_EQ(lan_place({}, "a", 2).netns, "");
}

TEST(LabLan, RefusesWhatItIsNotWithLineAndKey) {
  EXPECT_THAT(refusal("lan = 1\n[node.a]"), HasSubstr("lab.toml:1: lan: must be true or false"));
  EXPECT_THAT(refusal("[node.a]\nlan = { mtu = 67 }"),
              HasSubstr("lab.toml:2: node.a.lan.mtu: must be a number from 68 to 65521"));
  EXPECT_THAT(refusal("[lan]\nmtu = 65522\n[node.a]"), HasSubstr("lab.toml:2: lan.mtu"));
  EXPECT_THAT(refusal("[lan]\nqueues = 17\n[node.a]"), HasSubstr("lan.queues: must be a number"));
  EXPECT_THAT(refusal("[lan]\noffloads = 1\n[node.a]"), HasSubstr("lan.offloads: must be true"));
  EXPECT_THAT(refusal("[lan]\nchannels = 1025\n[node.a]"), HasSubstr("lan.channels: must be"));
  EXPECT_THAT(refusal("[lan]\nspeed = 1\n[node.a]"),
              AllOf(HasSubstr("lan.speed: there is no such key"), HasSubstr("netns")));
  for (const char* const bridge : {"1", "'on'", "''"}) {
    EXPECT_THAT(refusal(std::string("[lan]\nbridge = ") + bridge + "\n[node.a]"),
                HasSubstr("lan.bridge: must be true, false or \"auto\""));
  }
  for (const char* const name : {"''", "'a b'", "'{nod}'", "'a/b'", "'{node'", "'lan%d'", "7"}) {
    EXPECT_THAT(refusal(std::string("[lan]\nname = ") + name + "\n[node.a]"),
                HasSubstr("lab.toml:2: lan.name: must be the name of an interface"));
  }
  for (const char* const netns : {"''", "'a/b'", "'../a'", "'{x}'", "true", "'..'", "'/run/{x}'"}) {
    EXPECT_THAT(refusal(std::string("[lan]\nnetns = ") + netns + "\n[node.a]"),
                HasSubstr("lab.toml:2: lan.netns: must be a network namespace"));
  }
  EXPECT_THAT(refusal("[switch.s]\nlan = true"), HasSubstr("there is no such key"));
}

TEST(LabLan, RefusesInterfacesThatNoKernelMakes) {
  EXPECT_THAT(refusal("[node.a]\n[node.host-one-of-many]\nlan = { name = 'lan-{node}' }"),
              AllOf(HasSubstr("lab.toml:2: node.host-one-of-many.lan: no interface can be called "
                              "lan-host-one-of-many"),
                    HasSubstr("15")));
}

TEST(LabLan, RefusesTwoInterfacesOfOneNameInOneNamespace) {
  EXPECT_THAT(refusal("lan = { name = 'eth0' }\n[node.a]\n[node.b]"),
              AllOf(HasSubstr("lab.toml:3: node.b.lan: a:1 and b:1"), HasSubstr("interface eth0")));
  EXPECT_THAT(refusal("[lan]\nname = 'eth0'\nnetns = 'one'\n[node.a]\nports = 2"),
              HasSubstr("a:1 and a:2 would both have the interface eth0 in namespace one"));
  EXPECT_TRUE(parse_lab("lan = { name = 'eth0', netns = '{node}' }\n[node.a]\n[node.b]", "x"));
  EXPECT_TRUE(
      parse_lab("lan = { name = 'eth0' }\n[part]\none = {}\ntwo = {}\n[node.a]\n"
                "[node.b]\npart = 'two'",
                "x"))
      << "each part makes its own interfaces, which may be on different machines";
}

}  // namespace
}  // namespace weft::fabric
