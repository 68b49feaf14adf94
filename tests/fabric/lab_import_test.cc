// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "fabric/lab_file.h"
#include "text_file.h"

namespace weft::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ImportedLab imported(std::string_view text) {
  const auto lab = import_listing(text, "net", "lab");
  EXPECT_TRUE(lab) << lab.error().message;
  return lab.value_or(ImportedLab{});
}

std::string import_refusal(std::string_view text) {
  const auto lab = import_listing(text, "net", "lab");
  EXPECT_FALSE(lab) << text;
  return lab ? "" : lab.error().message;
}

std::vector<std::string> link_texts(const Lab& lab) {
  std::vector<std::string> texts;
  for (const LabLink& link : lab.links) {
    const bool in_order = link.ends[0].node <= link.ends[1].node;
    texts.push_back(lab.end_name(link.ends[in_order ? 0 : 1]) + " " +
                    lab.end_name(link.ends[in_order ? 1 : 0]) +
                    (link.width ? " " + std::string(to_string(*link.width)) : ""));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

// What ibnetdiscover printed of the fabric that ibsim ran from four.net, with OpenSM on it.
TEST(LabImport, TakesOverWhatIbnetdiscoverPrints) {
  const auto [lab, notes] = imported(read_text(WEFT_TEST_DATA "/fabric/four.ibnetdiscover"));
  EXPECT_THAT(notes, IsEmpty());
  ASSERT_EQ(lab.nodes.size(), 5u);
  const LabNode& rack2 = *lab.find_node("rack2");
  EXPECT_EQ(rack2.kind, NodeKind::kSwitch);
  EXPECT_EQ(rack2.ports, 8);
  EXPECT_EQ(rack2.description, "rack2 switch");
  EXPECT_EQ(rack2.guid, Guid{0x2c90300a20000});
  EXPECT_TRUE(rack2.enhanced_port0);
  EXPECT_EQ(rack2.device_id, 0x1013);
  EXPECT_EQ(rack2.limits.speed, LinkSpeed::kSdr);
  EXPECT_FALSE(lab.find_node("rack1")->enhanced_port0);
  const LabNode& db = *lab.find_node("db");
  EXPECT_EQ(db.kind, NodeKind::kChannelAdapter);
  EXPECT_EQ(db.guid, Guid{0x2c90300b10000});
  EXPECT_THAT(db.port_guids, ElementsAre(Guid{0x2c90300b10001}, Guid{0x2c90300b10002}));
  EXPECT_THAT(link_texts(lab),
              ElementsAre("rack1:1 db:1", "rack1:2 web:1", "rack2:1 backup:1", "rack2:2 db:2",
                          "rack2:7 rack1:7", "rack2:8 rack1:8 1x"));
}

TEST(LabImport, FindsTheSameFabricInTheNetFileOfIbsim) {
  const ImportedLab net = imported(read_text(WEFT_TEST_DATA "/fabric/four.net"));
  const ImportedLab listing = imported(read_text(WEFT_TEST_DATA "/fabric/four.ibnetdiscover"));
  EXPECT_THAT(net.notes, IsEmpty());
  ASSERT_EQ(net.lab.nodes.size(), listing.lab.nodes.size());
  for (const LabNode& node : listing.lab.nodes) {
    const LabNode* same = net.lab.find_node(node.name);
    ASSERT_NE(same, nullptr) << node.name;
    EXPECT_EQ(same->guid, node.guid);
    EXPECT_EQ(same->port_guids, node.port_guids);
    EXPECT_EQ(same->description, node.description);
  }
  EXPECT_EQ(net.lab.links.size(), listing.lab.links.size());
}

TEST(LabImport, GivesALabThatALabFileHolds) {
  const Lab lab = imported(read_text(WEFT_TEST_DATA "/fabric/four.ibnetdiscover")).lab;
  const auto again = parse_lab(write_lab(lab), "lab.toml");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, lab);
}

TEST(LabImport, CallsNodesByTheShortestNameThatIsTheirsAlone) {
  const Lab lab = imported(
                      "Ca 1 \"H-0000000000000010\" # \"host1 mlx5_0\"\n\n"
                      "Ca 1 \"H-0000000000000020\" # \"host1 mlx5_1\"\n\n"
                      "Ca 1 \"H-0000000000000030\" # \"InfiniHost\"\n\n"
                      "Ca 1 \"H-0000000000000040\" # \"InfiniHost\"\n\n"
                      "Switch 36 \"S-0000000000000050\" # \"MF0;sw1:MSB7700/U1\"\n")
                      .lab;
  std::vector<std::string> names;
  for (const LabNode& node : lab.nodes)
    names.push_back(node.name);
  EXPECT_THAT(names, ElementsAre("MF0-sw1-MSB7700-U1", "host1-mlx5_0", "host1-mlx5_1",
                                 "H-0000000000000030", "H-0000000000000040"));
  EXPECT_EQ(lab.nodes[3].guid, Guid{0x30}) << "from the identifier";
}

TEST(LabImport, TakesALinkThatOnlyOneEndLists) {
  const Lab lab = imported("Switch 8 \"S\"\n[3] \"H\"[1] w=1 s=3\n\nHca 2 \"H\"\n").lab;
  EXPECT_THAT(link_texts(lab), ElementsAre("S:3 H:1"));
  EXPECT_EQ(lab.links[0].speed, std::nullopt) << "no less than the ends can";
  EXPECT_EQ(lab.find_node("S")->limits.speed, LinkSpeed::kDdr) << "all that was seen of it";
  EXPECT_EQ(lab.find_node("S")->limits.width, LinkWidth::k1x);
}

TEST(LabImport, SaysWhatItLeavesOut) {
  const auto [lab, notes] = imported("do Error \"S\"\nSwitch 8 \"S\"\n[1] \"H-9\"[1]\n");
  EXPECT_THAT(notes, ElementsAre("net:1: left out: do Error \"S\"",
                                 "net:3: H-9 is not in the listing: the link to it is left out"));
  EXPECT_THAT(lab.links, IsEmpty());
}

TEST(LabImport, TakesOverRouters) {
  const auto [lab, notes] = imported(
      "switchguid=0x50(50)\nSwitch 8 \"S-50\" # \"s\"\n"
      "[2] \"R-20\"[1](21) # \"gate to the west\" lid 3 4xDDR\n\n"
      "vendid=0x2c9\nrtguid=0x20\nRt 2 \"R-20\" # \"gate to the west\"\n"
      "[1](21) \"S-50\"[2] # lid 3 lmc 0 \"s\" lid 1 4xDDR\n\n"
      "caguid=0x30\nCa 1 \"H-30\" # \"h\"\n");
  EXPECT_THAT(notes, IsEmpty());
  const LabNode& router = *lab.find_node("gate");
  EXPECT_EQ(router.kind, NodeKind::kRouter);
  EXPECT_EQ(router.ports, 2);
  EXPECT_EQ(router.description, "gate to the west");
  EXPECT_EQ(router.vendor_id, 0x2c9u);
  EXPECT_EQ(router.guid, Guid{0x20});
  EXPECT_THAT(router.port_guids, ElementsAre(Guid{0x21}, Guid{0x22}));
  EXPECT_EQ(router.limits.speed, LinkSpeed::kDdr);
  EXPECT_THAT(link_texts(lab), ElementsAre("s:2 gate:1"));
  EXPECT_EQ(lab.nodes.back().name, "gate") << "in the order in which labs are written";
  EXPECT_EQ(parse_lab(write_lab(lab), "lab.toml"), lab);
}

TEST(LabImport, UnderstandsGroupingByChassis) {
  const auto [lab, notes] = imported(
      "Non-Chassis Nodes\n\nSwitch 8 \"S\" # \"a\"\n[3][ext 7] \"H\"[1][ext 2](10) # \"h\" lid 1 "
      "4xFDR10\n\nChassis 1 (guid 0x1)\nCa 1 \"H\" # \"h\"\n[1](10) \"S\"[3] # lid 1 lmc 0 \"a\" "
      "lid 2 4xFDR10\n");
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_THAT(link_texts(lab), ElementsAre("a:3 h:1"));
  EXPECT_EQ(lab.find_node("h")->port_guids[0], Guid{0x10});
  EXPECT_EQ(lab.find_node("h")->limits.speed, LinkSpeed::kQdr);
}

TEST(LabImport, GivesAnEnhancedPortZeroToSwitchesAlone) {
  const Lab lab = imported(
                      "Switch 8 \"S\" # \"s\" enhanced port 0 lid 1 lmc 0\n"
                      "Ca 1 \"H\" # \"h\" enhanced port 0 lid 2 lmc 0\n")
                      .lab;
  EXPECT_TRUE(lab.find_node("s")->enhanced_port0);
  EXPECT_FALSE(lab.find_node("h")->enhanced_port0);
  EXPECT_TRUE(parse_lab(write_lab(lab), "lab.toml"));
}

TEST(LabImport, RefusesWhatCannotBeWithItsLine) {
  EXPECT_EQ(import_refusal(""), "net: there is no node in it");
  EXPECT_EQ(import_refusal("[1] \"S\"[2]\n"),
            "net:1: a port, but no Switch, Ca, Hca or Rt above it");
  EXPECT_EQ(import_refusal("\nSwitch 0 \"S\"\n"),
            "net:2: must be a number of ports from 1 to 254 and an identifier, as in Switch 36 "
            "\"S-0002c9020040d6a8\"");
  EXPECT_EQ(import_refusal("Switch 8 \"S\"\n[9] \"T\"[1]\n"),
            "net:2: S: must begin with a port from [1] to [8]");
  EXPECT_EQ(import_refusal("Switch 8 \"S\"\n[1] \"T\"[1]\n[1] \"T\"[2]\n"),
            "net:3: S: port 1 is listed twice");
  EXPECT_EQ(import_refusal("Switch 8 \"S\"\n\nSwitch 8 \"S\"\n"), "net:3: S is listed twice");
  EXPECT_EQ(import_refusal("Switch 8 \"S\"\n[1]\n"),
            "net:2: S: the node at the other end is missing, as in \"S-0002c9020040d6a8\"[4]");
  EXPECT_EQ(import_refusal("Switch 8 \"S\"\n[1] \"T\"[1]\n\nSwitch 8 \"T\"\n[1] \"S\"[2]\n"),
            "net:2: S: port 1 leads to T[1], which line 5 connects to S[2]");
  EXPECT_EQ(import_refusal("Switch 8 \"S\"\n[1] \"H\"[3]\n\nCa 2 \"H\"\n"),
            "net:2: S: H:3: H has ports 1 to 2");
  EXPECT_EQ(import_refusal("caguid=x\n"), "net:1: caguid: must be a number, as in 0x2c9");
  EXPECT_EQ(import_refusal("include \"more\"\n"),
            "net:1: include: put the files together first: labs have no include");
}

TEST(LabImport, SurvivesWhateverStandsInAListing) {
  const std::string good = read_text(WEFT_TEST_DATA "/fabric/four.ibnetdiscover");
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    std::string text = good;
    for (std::uint64_t change = random.between(1, 6); change > 0; --change) {
      const std::size_t at = random.below(text.size());
      if (random.chance(0.5)) {
        text[at] = static_cast<char>(random.below(256));
      } else {
        text.erase(at, random.between(1, 60));
      }
    }
    const auto lab = import_listing(text, "net", "lab");
    if (lab) {
      const auto again = parse_lab(write_lab(lab->lab), "lab.toml");
      EXPECT_TRUE(again) << "seed " << seed << ": " << again.error().message;
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 50u);
}

}  // namespace
}  // namespace weft::fabric
