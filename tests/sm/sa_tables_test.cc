// SPDX-License-Identifier: Apache-2.0
// What the administrator shows of nodes, asked over the fabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "administered_lab.h"
#include "fabric/lab_generate.h"
#include "sa_records.h"
#include "wire/class_port_info.h"
#include "wire/endian.h"
#include "wire/sm/node_info.h"
#include "wire/sm/tables.h"

namespace weft::sm {
namespace {

using wire::MadMethod;
using wire::SaAttribute;
using wire::SaStatus;

std::vector<std::byte> bytes_of_lid(Lid lid, std::size_t size = 200) {
  std::vector<std::byte> data(size);
  wire::store_be16(data.data(), lid.value());
  return data;
}

TEST(SaTables, ShowEveryNodeWithItsName) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Answer answer = sa.ask("b", {.attribute = SaAttribute::kNodeRecord});
  ASSERT_TRUE(answer.came);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.record_size, 112u);
  std::map<std::string, std::uint16_t> lids;
  for (const auto& record : answer.records) {
    const auto info = wire::NodeInfo::parse(Bytes(record).subspan(4));
    const auto name = wire::NodeDescription::parse(Bytes(record).subspan(44))->to_string();
    lids[name] = wire::load_be16(record.data());
    EXPECT_EQ(info->node_guid, sa.lab.running.fabric.find_node(name)->node_info(1).node_guid);
  }
  EXPECT_EQ(lids.size(), 6u);
  for (const auto& [name, lid] : lids)
    EXPECT_EQ(lid, sa.lab.lid(name).value()) << name;
}

TEST(SaTables, GiveOneRecordToWhoAsksForOne) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Answer one = sa.ask("b", {.method = MadMethod::kGet,
                                  .attribute = SaAttribute::kNodeRecord,
                                  .mask = 1,
                                  .data = bytes_of_lid(sa.lab.lid("c"))});
  ASSERT_TRUE(one.came);
  EXPECT_EQ(one.method, MadMethod::kGetResponse);
  EXPECT_EQ(one.status, 0);
  EXPECT_EQ(wire::load_be16(one.records.at(0).data()), sa.lab.lid("c").value());
  const Answer many =
      sa.ask("b", {.method = MadMethod::kGet, .attribute = SaAttribute::kNodeRecord});
  EXPECT_EQ(many.status, status_of(SaStatus::kTooManyRecords));
  const Answer none = sa.ask("b", {.method = MadMethod::kGet,
                                   .attribute = SaAttribute::kNodeRecord,
                                   .mask = 1,
                                   .data = bytes_of_lid(Lid{0x7777})});
  EXPECT_EQ(none.status, status_of(SaStatus::kNoRecords));
}

TEST(SaTables, CompareEveryComponentThatIsAskedFor) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  std::vector<std::byte> switches(200);
  wire::store_u8(switches.data() + 6, 2);  // NodeType
  EXPECT_EQ(sa.ask("b", {.attribute = SaAttribute::kNodeRecord, .mask = 1u << 4, .data = switches})
                .records.size(),
            2u);
  // A part of a byte: PortState is the lower half of its.
  std::vector<std::byte> down(200);
  wire::store_u8(down.data() + 4 + 32, 1);
  const Answer ports =
      sa.ask("b", {.attribute = SaAttribute::kPortInfoRecord, .mask = 1u << 15, .data = down});
  EXPECT_EQ(ports.records.size(), 2u);  // port 3 of each switch
  for (const auto& record : ports.records)
    EXPECT_EQ(wire::load_u8(record.data() + 2), 3);
}

TEST(SaTables, FindPortsByCapabilitiesThatTheyHaveAtLeast) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  std::vector<std::byte> capable(200);
  wire::store_be32(capable.data() + 4 + 20, wire::kCapTrap);
  AdministeredLab::Query query{
      .attribute = SaAttribute::kPortInfoRecord, .mask = 1u << 7, .data = capable};
  EXPECT_TRUE(sa.ask("b", query).records.empty()) << "no port can do this and nothing else";
  query.modifier = 0x8000'0000;
  EXPECT_GE(sa.ask("b", query).records.size(), 6u);
}

TEST(SaTables, ShowLinksFromBothEnds) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Answer links = sa.ask("d", {.attribute = SaAttribute::kLinkRecord});
  EXPECT_EQ(links.records.size(), 10u);
  const Answer from = sa.ask(
      "d",
      {.attribute = SaAttribute::kLinkRecord, .mask = 1, .data = bytes_of_lid(sa.lab.lid("s1"))});
  EXPECT_EQ(from.records.size(), 3u);
}

TEST(SaTables, ShowMKeysToTheTrustedAlone) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a",
                     {.setup = {.mkey = 0xABCD}, .smps = {.mkey = 0xABCD}});
  const AdministeredLab::Query query{
      .attribute = SaAttribute::kPortInfoRecord, .mask = 1, .data = bytes_of_lid(sa.lab.lid("c"))};
  const Answer veiled = sa.ask("b", query);
  ASSERT_EQ(veiled.records.size(), 1u);
  EXPECT_EQ(wire::PortInfo::parse(Bytes(veiled.records[0]).subspan(4))->mkey, 0u);
  AdministeredLab::Query trusted = query;
  trusted.sm_key = 1;
  const Answer shown = sa.ask("b", trusted);
  ASSERT_EQ(shown.records.size(), 1u);
  EXPECT_EQ(wire::PortInfo::parse(Bytes(shown.records[0]).subspan(4))->mkey, 0xABCDu);
  // Nobody answers a wrong key.
  trusted.sm_key = 2;
  EXPECT_FALSE(sa.ask("b", trusted).came);
  EXPECT_GT(sa.administrator->counters().get(SaCounter::kDroppedKey), 0u);
}

TEST(SaTables, ShowPKeysToTheTrustedAlone) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  AdministeredLab::Query query{.attribute = SaAttribute::kPKeyRecord};
  EXPECT_EQ(sa.ask("b", query).status, status_of(SaStatus::kRequestInvalid));
  query.sm_key = 1;
  EXPECT_FALSE(sa.ask("b", query).records.empty());
}

TEST(SaTables, ShowWhatPortsAreLikeAndNotWhatTheyWereTold) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Answer ports = sa.ask("b", {.attribute = SaAttribute::kPortInfoRecord});
  ASSERT_FALSE(ports.records.empty());
  for (const auto& record : ports.records)
    EXPECT_FALSE(wire::PortInfo::parse(Bytes(record).subspan(4))->client_reregister);
}

TEST(SaTables, ShowForwardingTablesAsSwitchesHaveThem) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Answer answer = sa.ask(
      "b",
      {.attribute = SaAttribute::kLinearRecord, .mask = 1, .data = bytes_of_lid(sa.lab.lid("s2"))});
  ASSERT_FALSE(answer.records.empty());
  const auto block = wire::LinearBlock::parse(Bytes(answer.records[0]).subspan(8));
  EXPECT_EQ(block->ports[sa.lab.lid("c").value()], 1);
  EXPECT_EQ(block->ports[sa.lab.lid("d").value()], 2);
  EXPECT_EQ(block->ports[sa.lab.lid("a").value()], 4);
}

TEST(SaTables, AnswerLongTables) {
  const auto tree = fabric::generate_fat_tree({6, 12}, "tree");
  AdministeredLab sa(*tree, tree->nodes.back().name);
  const Answer answer =
      sa.ask(tree->nodes[tree->nodes.size() - 2].name, {.attribute = SaAttribute::kPortInfoRecord});
  ASSERT_TRUE(answer.came);
  std::size_t ports = 0;
  for (const fabric::LabNode& node : tree->nodes)
    ports += node.kind == fabric::NodeKind::kSwitch ? node.ports + 1u : 1u;
  EXPECT_EQ(answer.records.size(), ports);
  EXPECT_GT(answer.records.size() * answer.record_size, 10'000u);
}

TEST(SaTables, RefuseWhatThereIsNot) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  constexpr std::uint16_t kNotSupported = 0x000C;
  for (const MadMethod method : {MadMethod::kGet, MadMethod::kGetTable, MadMethod::kSet,
                                 MadMethod::kDelete, MadMethod::kGetMulti}) {
    const Answer answer =
        sa.ask("b", {.method = method, .attribute = static_cast<SaAttribute>(0x7654)});
    ASSERT_TRUE(answer.came);
    EXPECT_EQ(answer.status, kNotSupported);
  }
  EXPECT_EQ(sa.ask("b", {.method = MadMethod::kSet, .attribute = SaAttribute::kNodeRecord}).status,
            kNotSupported);
}

TEST(SaTables, SayWhatTheAdministratorCan) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Answer answer =
      sa.ask("b", {.method = MadMethod::kGet, .attribute = SaAttribute::kClassPortInfo});
  ASSERT_EQ(answer.status, 0);
  const auto info = wire::ClassPortInfo::parse(answer.records.at(0));
  EXPECT_EQ(info->class_version, 2);
  EXPECT_NE(info->capability_mask, 0);
}

// One port asks without end; another one's question does not wait behind all of that.
TEST(SaTables, ServeOthersBesideAFlood) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a", {}, {.queue = 16});
  for (int i = 0; i < 500; ++i)
    sa.ask_later("c", {.attribute = SaAttribute::kNodeRecord});
  EXPECT_EQ(sa.ask("b", {.attribute = SaAttribute::kNodeRecord}).records.size(), 6u);
  EXPECT_GT(sa.administrator->counters().get(SaCounter::kDroppedFlood), 0u);
}

}  // namespace
}  // namespace weft::sm
