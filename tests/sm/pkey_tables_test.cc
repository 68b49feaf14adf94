// SPDX-License-Identifier: Apache-2.0
// Where P_Keys stand in the tables of ports, and what keeps partitions apart in a whole fabric.
#include "sm/pkey_tables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "managed_lab.h"

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::PKeyBlock;

PKeyBlock block_of(std::initializer_list<std::uint16_t> values) {
  PKeyBlock block;
  std::size_t at = 0;
  for (const std::uint16_t value : values)
    block.pkeys[at++] = PKey{value};
  return block;
}

Partitions::Keys keys_of(std::initializer_list<std::uint16_t> values,
                         std::optional<std::uint16_t> first = {}) {
  Partitions::Keys keys;
  for (const std::uint16_t value : values)
    keys.all.push_back(PKey{value});
  if (first) keys.first = PKey{*first};
  return keys;
}

PlacedKeys placed(const PKeyBlock& now, const Partitions::Keys& wanted, std::size_t entries = 32) {
  return place_keys(std::span(&now, 1), entries, wanted);
}

TEST(PlaceKeys, PutsTheDefaultPartitionFirst) {
  EXPECT_THAT(placed({}, keys_of({0x8001, 0xFFFF, 2})).blocks,
              ElementsAre(block_of({0xFFFF, 0x8001, 2})));
}

TEST(PlaceKeys, PutsFirstWhatTheFileSaysBelongsThere) {
  EXPECT_THAT(placed({}, keys_of({0xFFFF, 0x8001, 2}, 0x8001)).blocks,
              ElementsAre(block_of({0x8001, 0xFFFF, 2})));
}

TEST(PlaceKeys, LeavesAPKeyAtItsIndexAsLongAsItIsThere) {
  const PKeyBlock now = block_of({0xFFFF, 0x8001, 0x8002, 0, 0x8003});
  EXPECT_THAT(placed(now, keys_of({0x8003, 0xFFFF, 0x8002, 0x8005, 0x8006})).blocks,
              ElementsAre(block_of({0xFFFF, 0, 0x8002, 0, 0x8003, 0x8005, 0x8006})));
}

TEST(PlaceKeys, LeavesAPartitionAtItsIndexWhenItsMembershipChanges) {
  EXPECT_THAT(placed(block_of({0xFFFF, 1, 0x8002}), keys_of({0x7FFF, 0x8001, 2})).blocks,
              ElementsAre(block_of({0x7FFF, 0x8001, 2})));
}

TEST(PlaceKeys, KnowsTheTwoPKeysOfAPartitionApart) {
  EXPECT_THAT(placed(block_of({0xFFFF, 0x8001, 1}), keys_of({0xFFFF, 1, 0x8001})).blocks,
              ElementsAre(block_of({0xFFFF, 0x8001, 1})));
  EXPECT_THAT(placed(block_of({0xFFFF, 1}), keys_of({0xFFFF, 0x8001, 1})).blocks,
              ElementsAre(block_of({0xFFFF, 1, 0x8001})));
}

TEST(PlaceKeys, ClearsTheWayForTheFirst) {
  EXPECT_THAT(placed(block_of({0x8001, 0xFFFF}), keys_of({0x8001, 0xFFFF})).blocks,
              ElementsAre(block_of({0xFFFF, 0, 0x8001})));
}

TEST(PlaceKeys, TakesFreeEntriesLastAndSaysWhatDoesNotFit) {
  const PKeyBlock now = block_of({0xFFFF, 0, 0, 0x8003});
  const PlacedKeys full = placed(now, keys_of({0xFFFF, 0x8003, 4, 5, 6, 7}), 5);
  EXPECT_THAT(full.blocks, ElementsAre(block_of({0xFFFF, 5, 6, 0x8003, 4})));
  EXPECT_EQ(full.left_out, 1u);
}

TEST(PlaceKeys, GoesOnInTheNextBlock) {
  Partitions::Keys many = keys_of({0xFFFF});
  for (std::uint16_t number = 1; number < 40; ++number)
    many.all.emplace_back(number);
  const PlacedKeys all = place_keys({}, 64, many);
  ASSERT_EQ(all.blocks.size(), 2u);
  EXPECT_EQ(all.blocks[1].pkeys[7], PKey{39});
  EXPECT_EQ(all.blocks[1].pkeys[8], PKey{});
}

// --- whole fabrics
// ---------------------------------------------------------------------------------

std::uint64_t lab_guid_of(ManagedLab& lab, const std::string& name) {
  return lab.running.fabric.find_node(name)->node_info(1).port_guid.value();
}

// The partitions of a file in which %a, %b … stand for the port GUIDs of nodes.
Partitions partitions_of(std::string text) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  for (const char* name : {"a", "b", "c", "d"}) {
    const std::string place = std::string("%") + name;
    for (auto at = text.find(place); at != text.npos; at = text.find(place))
      text.replace(at, place.size(), fmt::format("{:#x}", lab_guid_of(lab, name)));
  }
  auto partitions = Partitions::parse(text, "p.conf");
  EXPECT_TRUE(partitions) << partitions.error().message;
  return partitions.value_or(Partitions::standard());
}

const PKeyBlock table(ManagedLab& lab, const std::string& name) {
  return lab.running.fabric.find_node(name)->pkeys(1, 0);
}

// Whether a packet with this P_Key gets from one adapter as far as to another.
bool passes(ManagedLab& lab, const std::string& from, const std::string& to, std::uint16_t pkey) {
  const auto total = [&] {
    return lab.running.count(to, fabric::NodeCounter::kNoQueuePair) +
           lab.running.count(to, fabric::NodeCounter::kBadPKey);
  };
  const auto before = total();
  lab.running.inject(from, {.slid = lab.lid(from), .dlid = lab.lid(to), .pkey = PKey{pkey}});
  return total() > before;
}

constexpr const char* kTwoPartitions = R"(
Default=0x7fff : ALL=limited, SELF=full;
Blue=0x10 : %a=full, %b=full;
Red=0x20 : %c=full, %d=limited;
)";

TEST(PKeyTables, AreWrittenAsTheFileSays) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a",
                 {.setup = {.partitions = partitions_of(kTwoPartitions)}});
  EXPECT_THAT(lab.sweep().problems, IsEmpty());
  EXPECT_EQ(table(lab, "a"), block_of({0xFFFF, 0x8010}));
  EXPECT_EQ(table(lab, "b"), block_of({0x7FFF, 0x8010}));
  EXPECT_EQ(table(lab, "d"), block_of({0x7FFF, 0x0020}));
  EXPECT_EQ(lab.sweep().writes, 0u);
  const Subnet& subnet = lab.manager->subnet();
  EXPECT_EQ(subnet.port({0, 1}).tables.pkeys.at(0), block_of({0xFFFF, 0x8010}));
}

TEST(PKeyTables, KeepPartitionsApartAtTheSwitchesToo) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a",
                 {.setup = {.partitions = partitions_of(kTwoPartitions)}});
  lab.sweep();
  EXPECT_TRUE(passes(lab, "a", "b", 0x8010));
  EXPECT_TRUE(passes(lab, "c", "d", 0x8020));
  EXPECT_FALSE(passes(lab, "a", "c", 0x8010));
  EXPECT_FALSE(passes(lab, "a", "c", 0x8020));
  EXPECT_EQ(lab.running.count("s2", fabric::NodeCounter::kOutboundPKey, 1), 1u);
  EXPECT_EQ(lab.running.count("s1", fabric::NodeCounter::kInboundPKey, 1), 1u);
  EXPECT_TRUE(passes(lab, "a", "c", 0xFFFF));
}

TEST(PKeyTables, LeaveItToTheAdaptersWhereSwitchesAreNotToEnforce) {
  for (const Enforcement enforcement : {Enforcement::kOff, Enforcement::kIn, Enforcement::kOut}) {
    ManagedLab lab(
        fabric::lab_of(fabric::kFourNodes), "a",
        {.setup = {.partitions = partitions_of(kTwoPartitions), .enforcement = enforcement}});
    lab.sweep();
    EXPECT_EQ(passes(lab, "a", "c", 0x8010), enforcement != Enforcement::kOut);
    EXPECT_EQ(passes(lab, "a", "c", 0x8020), enforcement != Enforcement::kIn);
  }
}

// What a manager before has left is taken over: indices stay, and nobody is enforced between
// switches.
TEST(PKeyTables, TakeOverWhatIsThere) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a",
                 {.setup = {.partitions = partitions_of(kTwoPartitions)}});
  fabric::Node& node = *lab.running.fabric.find_node("b");
  node.set_pkeys(1, 0, block_of({0x8077, 0xFFFF, 0, 0, 0, 0x8010}));
  node.set_pkeys(1, 3, block_of({0x8099}));
  fabric::Node& trunk = *lab.running.fabric.find_node("s1");
  wire::PortInfo info = trunk.port_info(4);
  info.enforce_partition_inbound = true;
  trunk.set_port_info(4, info, lab.running.now);
  lab.sweep();
  EXPECT_EQ(table(lab, "b"), block_of({0x7FFF, 0, 0, 0, 0, 0x8010}));
  EXPECT_EQ(node.pkeys(1, 3), PKeyBlock{});
  EXPECT_FALSE(trunk.port_info(4).enforce_partition_inbound);
  EXPECT_TRUE(trunk.port_info(1).enforce_partition_inbound);
  EXPECT_TRUE(passes(lab, "a", "c", 0xFFFF));
}

// An adapter that was away may have forgotten its table.
TEST(PKeyTables, AreReadAgainWhenALinkWasDown) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a",
                 {.setup = {.partitions = partitions_of(kTwoPartitions)}});
  lab.sweep();
  const std::size_t cable = *lab.running.fabric.find_link("d:1");
  lab.running.fabric.link(cable).set_plugged(false, lab.running.now);
  lab.running.fabric.find_node("d")->set_pkeys(1, 0, block_of({0xFFFF}));
  lab.running.fabric.link(cable).set_plugged(true, lab.running.now);
  lab.running.run_for(10ms);
  lab.sweep();
  EXPECT_EQ(table(lab, "d"), block_of({0x7FFF, 0x0020}));
}

TEST(PKeyTables, SayWhenThereAreTooManyPKeysForAPort) {
  std::string text;
  for (int number = 1; number < 140; ++number)
    text += fmt::format("{:#x} : ALL=full;\n", number);
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a",
                 {.setup = {.partitions = *Partitions::parse(text, "p.conf")}});
  const SweepReport& report = lab.sweep();
  EXPECT_THAT(report.problems, IsEmpty());
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_THAT(report.warnings.front(), HasSubstr("128 entries, 12 P_Keys are left out"));
  EXPECT_THAT(report.warnings, ::testing::Contains(HasSubstr("does not enforce partitions")));
  EXPECT_FALSE(lab.running.fabric.find_node("s1")->port_info(1).enforce_partition_inbound);
  EXPECT_EQ(lab.active_links(), 5u);
}

}  // namespace
}  // namespace weft::sm
