// SPDX-License-Identifier: Apache-2.0
// GUIDs that ports are given beside their own, and what they are good for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "administered_lab.h"
#include "sa_records.h"
#include "wire/endian.h"
#include "wire/sa/inform_info.h"
#include "wire/sa/member_record.h"
#include "wire/sa/path_record.h"
#include "wire/sa/service_record.h"

namespace weft::sm {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using wire::GuidBlock;
using wire::MadMethod;
using wire::SaAttribute;
using wire::SaStatus;

constexpr Guid kAlias{0x1234'5678'9ABC'DEF0};
constexpr std::uint64_t kLid = 1u << 0;
constexpr std::uint64_t kBlock = 1u << 1;

constexpr std::uint64_t entry(unsigned index) {
  return std::uint64_t{1} << (4 + index);
}

struct Guids : ::testing::Test {
  AdministeredLab sa{fabric::lab_of(fabric::kFourNodes), "a"};

  struct Wish {
    std::string of;  // whose port it is about
    std::uint64_t mask = 0;
    GuidBlock block{};
    std::uint8_t number = 0;
    std::uint64_t sm_key = 0;
  };
  Answer say(const std::string& from, MadMethod method, const Wish& wish) {
    std::vector<std::byte> data(200);
    wire::store_be16(data.data(), sa.lab.lid(wish.of).value());
    wire::store_u8(data.data() + 2, wish.number);
    wish.block.write(MutableBytes(data).subspan(8));
    return sa.ask(from, {.method = method,
                         .attribute = SaAttribute::kGuidInfoRecord,
                         .mask = kLid | kBlock | wish.mask,
                         .data = data,
                         .sm_key = wish.sm_key});
  }
  Answer give(const std::string& node, unsigned index, Guid guid) {
    Wish wish{.of = node, .mask = entry(index)};
    wish.block.guids[index] = guid;
    return say(node, MadMethod::kSet, wish);
  }
  Answer take(const std::string& node, unsigned index) {
    return say(node, MadMethod::kDelete, {.of = node, .mask = entry(index)});
  }
  static GuidBlock block_of(const Answer& answer) {
    return *GuidBlock::parse(Bytes(answer.records.at(0)).subspan(8));
  }
  // As the port itself has it.
  Guid at_port(const std::string& node, std::size_t index) {
    const auto block = static_cast<std::uint8_t>(index / 8);
    return sa.lab.running.fabric.find_node(node)->guids(1, block).guids[index % 8];
  }
  static Gid gid_of(Guid guid) { return make_gid(AdministeredLab::kPrefix, guid); }
  void plug(const std::string& end, bool plugged) {
    const std::size_t cable = *sa.lab.running.fabric.find_link(end);
    sa.lab.running.fabric.link(cable).set_plugged(plugged, sa.lab.running.now);
    sa.run_for(10ms);
  }
};

TEST_F(Guids, AreGivenToAPortThatAsksForThem) {
  const Answer answer = give("b", 2, kAlias);
  ASSERT_EQ(answer.status, 0);
  EXPECT_EQ(answer.method, MadMethod::kGetResponse);
  EXPECT_EQ(block_of(answer).guids[0], guid_of(sa.gid("b")));
  EXPECT_EQ(block_of(answer).guids[2], kAlias);
  EXPECT_EQ(at_port("b", 2), kAlias);
  EXPECT_EQ(give("b", 2, kAlias).status, 0) << "the answer may have been lost";
  const Answer shown = say("c", MadMethod::kGet, {.of = "b"});
  EXPECT_EQ(block_of(shown).guids[2], kAlias);
  // Others of the block stay what they are.
  give("b", 3, Guid{77});
  EXPECT_EQ(at_port("b", 2), kAlias);
  const Answer freed = take("b", 2);
  EXPECT_EQ(freed.method, MadMethod::kDeleteResponse);
  EXPECT_EQ(block_of(freed).guids[2], Guid{});
  EXPECT_EQ(at_port("b", 2), Guid{});
  EXPECT_EQ(at_port("b", 3), Guid{77});
}

TEST_F(Guids, AreChosenForWhoGivesNone) {
  const auto wish = [](const std::string& node) {
    return Wish{.of = node, .mask = entry(0) | entry(1), .number = 1};
  };
  const GuidBlock chosen = block_of(say("b", MadMethod::kSet, wish("b")));
  EXPECT_NE(chosen.guids[0], Guid{});
  EXPECT_NE(chosen.guids[1], Guid{});
  EXPECT_NE(chosen.guids[0], chosen.guids[1]);
  EXPECT_EQ(chosen.guids[2], Guid{});
  EXPECT_EQ(at_port("b", 8), chosen.guids[0]);
  EXPECT_EQ(block_of(say("b", MadMethod::kSet, wish("b"))), chosen);
  EXPECT_NE(block_of(say("c", MadMethod::kSet, wish("c"))).guids[0], chosen.guids[0]);
}

TEST_F(Guids, AreOfOnePort) {
  ASSERT_EQ(give("b", 1, kAlias).status, 0);
  for (const Guid taken : {kAlias, guid_of(sa.gid("d")), guid_of(sa.gid_of_switch("s1"))}) {
    const Answer answer = give("c", 1, taken);
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(block_of(answer).guids[1], Guid{}) << "0: not accepted";
    EXPECT_EQ(at_port("c", 1), Guid{});
  }
  EXPECT_EQ(block_of(give("b", 2, kAlias)).guids[2], Guid{});
  ASSERT_EQ(take("b", 1).status, 0);
  EXPECT_EQ(block_of(give("c", 1, kAlias)).guids[1], kAlias);
}

TEST_F(Guids, AreRefusedWhereThereIsNoPlaceForThem) {
  EXPECT_EQ(give("b", 0, kAlias).status, status_of(SaStatus::kRequestInvalid));
  EXPECT_EQ(take("b", 0).status, status_of(SaStatus::kRequestInvalid));
  const std::uint8_t beyond =
      sa.lab.running.fabric.find_node("b")->port(1).port_info().guid_cap / 8;
  Wish wish{.of = "b", .mask = entry(1), .number = beyond};
  EXPECT_EQ(say("b", MadMethod::kSet, wish).status, status_of(SaStatus::kRequestInvalid));
  std::vector<std::byte> data(200);
  wire::store_be16(data.data(), sa.lab.lid("b").value());
  EXPECT_EQ(sa.ask("b", {.method = MadMethod::kSet,
                         .attribute = SaAttribute::kGuidInfoRecord,
                         .mask = kLid | entry(1),
                         .data = data})
                .status,
            status_of(SaStatus::kInsufficientComponents));
}

TEST_F(Guids, AreGivenByOthersIfTheyAreTrusted) {
  Wish wish{.of = "b", .mask = entry(1)};
  wish.block.guids[1] = kAlias;
  EXPECT_EQ(say("c", MadMethod::kSet, wish).status, status_of(SaStatus::kDenied));
  wish.sm_key = 1;
  EXPECT_EQ(say("c", MadMethod::kSet, wish).status, 0);
  EXPECT_EQ(at_port("b", 1), kAlias);
}

TEST_F(Guids, AreAsManyAsThereIsRoomFor) {
  AdministeredLab small(fabric::lab_of(fabric::kFourNodes), "a", {}, {.aliases = 2});
  std::vector<std::byte> data(200);
  wire::store_be16(data.data(), small.lab.lid("b").value());
  const Answer answer = small.ask("b", {.method = MadMethod::kSet,
                                        .attribute = SaAttribute::kGuidInfoRecord,
                                        .mask = kLid | kBlock | entry(1) | entry(2) | entry(3),
                                        .data = data});
  EXPECT_NE(block_of(answer).guids[2], Guid{});
  EXPECT_EQ(block_of(answer).guids[3], Guid{});
}

TEST_F(Guids, ArePathsEnds) {
  give("d", 1, kAlias);
  const auto path = [&](const Gid& from, const Gid& to) {
    const Answer answer =
        sa.ask("b", {.method = MadMethod::kGet,
                     .attribute = SaAttribute::kPathRecord,
                     .mask = wire::PathRecord::kHasSgid | wire::PathRecord::kHasDgid,
                     .data = bytes_of(wire::PathRecord{.dgid = to, .sgid = from})});
    EXPECT_EQ(answer.status, 0);
    return *wire::PathRecord::parse(answer.records.at(0));
  };
  const wire::PathRecord there = path(sa.gid("b"), gid_of(kAlias));
  EXPECT_EQ(there.dgid, gid_of(kAlias));
  EXPECT_EQ(there.dlid, sa.lab.lid("d"));
  EXPECT_EQ(path(gid_of(kAlias), sa.gid("b")).sgid, gid_of(kAlias));
  EXPECT_EQ(path(sa.gid("b"), sa.gid("d")).dgid, sa.gid("d"));
  take("d", 1);
  EXPECT_EQ(sa.ask("b", {.method = MadMethod::kGet,
                         .attribute = SaAttribute::kPathRecord,
                         .mask = wire::PathRecord::kHasDgid,
                         .data = bytes_of(wire::PathRecord{.dgid = gid_of(kAlias)})})
                .status,
            status_of(SaStatus::kInvalidGid));
}

TEST_F(Guids, JoinGroupsBesideTheirPort) {
  using wire::MemberRecord;
  give("d", 1, kAlias);
  const Gid mgid = make_gid(0xFF12'401B'FFFF'0000, Guid{0x42});
  for (const Gid& gid : {sa.gid("d"), gid_of(kAlias)}) {
    const Answer joined =
        sa.ask("d", {.method = MadMethod::kSet,
                     .attribute = SaAttribute::kMemberRecord,
                     .mask = kToMakeGroup,
                     .data = bytes_of(MemberRecord{.mgid = mgid,
                                                   .port_gid = gid,
                                                   .pkey = PKey{0xFFFF},
                                                   .join_state = MemberRecord::kFullMember})});
    ASSERT_EQ(joined.status, 0);
    EXPECT_EQ(MemberRecord::parse(joined.records.at(0))->port_gid, gid);
    EXPECT_FALSE(MemberRecord::parse(joined.records.at(0))->proxy_join);
  }
  ASSERT_NE(sa.administrator->groups().find(mgid), nullptr);
  EXPECT_THAT(sa.administrator->groups().find(mgid)->members, SizeIs(2));
  const Guid port = guid_of(sa.gid("d"));
  EXPECT_THAT(sa.administrator->groups().forwarding().at(0).members, ElementsAre(port, port));
  take("d", 1);
  EXPECT_THAT(sa.administrator->groups().find(mgid)->members, SizeIs(1));
}

TEST_F(Guids, OfferServices) {
  using wire::ServiceRecord;
  const AdministeredLab::Query offer{
      .method = MadMethod::kSet,
      .attribute = SaAttribute::kServiceRecord,
      .mask = ServiceRecord::kHasId | ServiceRecord::kHasGid,
      .data = bytes_of(ServiceRecord{.id = 7, .gid = gid_of(kAlias)})};
  EXPECT_EQ(sa.ask("d", offer).status, status_of(SaStatus::kRequestInvalid));
  give("d", 1, kAlias);
  EXPECT_EQ(sa.ask("d", offer).status, 0);
}

TEST_F(Guids, AreToldWhenTheyComeAndGo) {
  const wire::InformInfo all{.lid_begin = wire::InformInfo::kAnyLid, .subscribe = true};
  sa.ask("c",
         {.method = MadMethod::kSet, .attribute = SaAttribute::kInformInfo, .data = bytes_of(all)});
  give("b", 1, kAlias);
  give("b", 1, Guid{55});
  std::vector<std::pair<wire::TrapNumber, Guid>> told;
  for (const wire::Notice& notice : sa.notices("c"))
    told.emplace_back(notice.trap, guid_of(weft::sm::gid_of(notice)));
  using enum wire::TrapNumber;
  EXPECT_EQ(told,
            (decltype(told){
                {kGidInService, kAlias}, {kGidOutOfService, kAlias}, {kGidInService, Guid{55}}}));
}

TEST_F(Guids, AreWrittenAgainToAPortThatHasLostThem) {
  give("d", 1, kAlias);
  sa.sweep();
  EXPECT_EQ(at_port("d", 1), kAlias);
  EXPECT_EQ(sa.lab.manager->report().writes, 0u);
  // Between two sweeps the port was away, and has forgotten everything.
  plug("d:1", false);
  sa.lab.running.fabric.find_node("d")->set_guids(1, 0, {});
  plug("d:1", true);
  EXPECT_EQ(at_port("d", 1), Guid{});
  sa.sweep();
  EXPECT_EQ(at_port("d", 1), kAlias);
}

TEST_F(Guids, AreTakenOverByTheNextManager) {
  give("b", 2, kAlias);
  Wish second{.of = "b", .mask = entry(1), .block = {}, .number = 1};
  second.block.guids[1] = Guid{77};
  ASSERT_EQ(say("b", MadMethod::kSet, second).status, 0);
  sa.restart();
  EXPECT_EQ(block_of(say("c", MadMethod::kGet, {.of = "b"})).guids[2], kAlias);
  EXPECT_EQ(block_of(say("c", MadMethod::kGet, {.of = "b", .number = 1})).guids[1], Guid{77});
  EXPECT_EQ(block_of(give("c", 1, kAlias)).guids[1], Guid{}) << "it is another's";
  sa.sweep();
  EXPECT_EQ(at_port("b", 2), kAlias);
  EXPECT_EQ(at_port("b", 9), Guid{77});
  EXPECT_EQ(take("b", 2).status, 0);
  EXPECT_EQ(at_port("b", 2), Guid{});
  EXPECT_EQ(at_port("b", 9), Guid{77});
}

TEST_F(Guids, OfTwoPortsAreLeftToOneByTheNextManager) {
  const auto leave = [&](const std::string& node, std::size_t index, Guid guid) {
    fabric::Node& at = *sa.lab.running.fabric.find_node(node);
    GuidBlock block = at.guids(1, 0);
    block.guids[index] = guid;
    at.set_guids(1, 0, block);
  };
  leave("b", 1, kAlias);
  leave("c", 2, kAlias);
  leave("d", 3, guid_of(sa.gid("b")));
  sa.restart();
  const bool has_b = at_port("b", 1) == kAlias;
  EXPECT_EQ(at_port("b", 1), has_b ? kAlias : Guid{});
  EXPECT_EQ(at_port("c", 2), has_b ? Guid{} : kAlias);
  EXPECT_EQ(at_port("d", 3), Guid{}) << "b's own";
  EXPECT_EQ(sa.administrator->view().aliases().port_of(kAlias), guid_of(sa.gid(has_b ? "b" : "c")));
}

// Its manager was not the master for a while.
TEST_F(Guids, AreWhatThePortHasWhenTheManagerIsMasterAgain) {
  give("b", 1, kAlias);
  give("c", 1, Guid{77});
  sa.administrator->set_master(false);
  GuidBlock block = sa.lab.running.fabric.find_node("b")->guids(1, 0);
  block.guids[1] = Guid{};
  block.guids[2] = Guid{55};
  sa.lab.running.fabric.find_node("b")->set_guids(1, 0, block);
  sa.restart_manager();
  sa.administrator->set_master(true);
  sa.sweep();
  EXPECT_EQ(at_port("b", 1), Guid{});
  EXPECT_EQ(at_port("b", 2), Guid{55});
  EXPECT_EQ(at_port("c", 1), Guid{77});
  EXPECT_EQ(block_of(say("d", MadMethod::kGet, {.of = "b"})), block);
  EXPECT_EQ(block_of(give("d", 1, kAlias)).guids[1], kAlias) << "it is free";
}

TEST_F(Guids, ComeWithAPortFromElsewhere) {
  plug("d:1", false);
  sa.sweep();
  GuidBlock block = sa.lab.running.fabric.find_node("d")->guids(1, 0);
  block.guids[1] = kAlias;
  sa.lab.running.fabric.find_node("d")->set_guids(1, 0, block);
  plug("d:1", true);
  sa.sweep();
  EXPECT_EQ(block_of(say("c", MadMethod::kGet, {.of = "d"})).guids[1], kAlias);
  sa.sweep();
  EXPECT_EQ(at_port("d", 1), kAlias);
  // Ports are asked once, and not in every sweep.
  EXPECT_EQ(sa.lab.manager->report().writes, 0u);
}

TEST_F(Guids, GoWithTheirPort) {
  give("d", 1, kAlias);
  plug("d:1", false);
  sa.sweep();
  EXPECT_EQ(block_of(give("c", 1, kAlias)).guids[1], kAlias);
  plug("d:1", true);
  sa.sweep();
  sa.sweep();
  EXPECT_EQ(at_port("d", 1), Guid{}) << "what it had is another's now";
  EXPECT_EQ(at_port("c", 1), kAlias);
}

}  // namespace
}  // namespace weft::sm
