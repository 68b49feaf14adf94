// SPDX-License-Identifier: Apache-2.0
// Paths, as programs ask for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "administered_lab.h"
#include "fabric/lab_generate.h"
#include "sa_records.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/sa/path_record.h"
#include "wire/sa/rate.h"

namespace weft::sm {
namespace {

using wire::MadMethod;
using wire::PathRecord;
using wire::SaAttribute;
using wire::SaStatus;
using wire::SaValue;

std::vector<PathRecord> paths_of(const Answer& answer) {
  std::vector<PathRecord> paths;
  for (const auto& record : answer.records)
    paths.push_back(*PathRecord::parse(record));
  return paths;
}

constexpr std::uint64_t kSaPathsEnds = PathRecord::kHasSgid | PathRecord::kHasDgid;

AdministeredLab::Query between(AdministeredLab& sa, const std::string& from, const std::string& to,
                               std::uint64_t more = 0, PathRecord record = {}) {
  record.sgid = sa.gid(from);
  record.dgid = sa.gid(to);
  return {.method = MadMethod::kGet,
          .attribute = SaAttribute::kPathRecord,
          .mask = kSaPathsEnds | more,
          .data = bytes_of(record)};
}

TEST(SaPaths, LeadFromOnePortToAnother) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Answer answer = sa.ask("b", between(sa, "b", "d"));
  ASSERT_EQ(answer.status, 0);
  const PathRecord path = paths_of(answer).at(0);
  EXPECT_EQ(path.slid, sa.lab.lid("b"));
  EXPECT_EQ(path.dlid, sa.lab.lid("d"));
  EXPECT_EQ(path.sgid, sa.gid("b"));
  EXPECT_EQ(path.dgid, sa.gid("d"));
  EXPECT_EQ(path.pkey, PKey{0xFFFF});
  EXPECT_TRUE(path.reversible);
  EXPECT_EQ(path.hop_limit, 0);
  const wire::PortInfo info = sa.lab.running.fabric.find_node("b")->port(1).port_info();
  EXPECT_EQ(path.mtu.value, info.neighbor_mtu);
  EXPECT_EQ(path.mtu.selector, SaValue::Selector::kExactly);
  EXPECT_EQ(path.rate.value, wire::rate_code(info));
}

TEST(SaPaths, AreBoundByTheirNarrowestLink) {
  AdministeredLab sa(fabric::lab_of(R"(
[switch]
s1 = { ports = 2 }
s2 = { ports = 2, mtu = 1024 }
[node]
a = {}
b = {}
[[link]]
ends = ["a:1", "s1:1"]
[[link]]
ends = ["b:1", "s2:1"]
[[link]]
ends = ["s1:2", "s2:2"]
width = "1x"
speed = "sdr"
)"),
                     "a");
  const PathRecord path = paths_of(sa.ask("a", between(sa, "a", "b"))).at(0);
  EXPECT_EQ(path.mtu.value, 3);
  EXPECT_EQ(path.rate.value, 2);  // 2.5 Gb/s
}

TEST(SaPaths, TellAllOfOnePort) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Answer answer = sa.ask("b", {.attribute = SaAttribute::kPathRecord,
                                     .mask = PathRecord::kHasSgid,
                                     .data = bytes_of(PathRecord{.sgid = sa.gid("b")})});
  std::set<Lid> lids;
  for (const PathRecord& path : paths_of(answer))
    lids.insert(path.dlid);
  EXPECT_EQ(lids.size(), 6u);  // itself and the switches too
}

TEST(SaPaths, AreNotToldOfPortsThatThereAreNot) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  AdministeredLab::Query query = between(sa, "b", "d");
  query.data = bytes_of(
      PathRecord{.dgid = make_gid(AdministeredLab::kPrefix, Guid{0x1234}), .sgid = sa.gid("b")});
  EXPECT_EQ(sa.ask("b", query).status, status_of(SaStatus::kInvalidGid));
  // A GID and a LID that are not of one port.
  EXPECT_EQ(
      sa.ask("b", between(sa, "b", "d", PathRecord::kHasDlid, {.dlid = sa.lab.lid("c")})).status,
      status_of(SaStatus::kNoRecords));
}

TEST(SaPaths, KeepToTheBoundsOfTheQuestion) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const std::uint8_t mtu = paths_of(sa.ask("b", between(sa, "b", "d"))).at(0).mtu.value;
  const auto asked = [&](SaValue::Selector selector, std::uint8_t value) {
    return sa.ask("b", between(sa, "b", "d", PathRecord::kHasMtuSelector | PathRecord::kHasMtu,
                               {.mtu = {.selector = selector, .value = value}}));
  };
  EXPECT_EQ(paths_of(asked(SaValue::Selector::kExactly, 2)).at(0).mtu.value, 2);
  EXPECT_EQ(paths_of(asked(SaValue::Selector::kBelow, mtu)).at(0).mtu.value, mtu - 1);
  EXPECT_EQ(paths_of(asked(SaValue::Selector::kLargest, 0)).at(0).mtu.value, mtu);
  EXPECT_EQ(asked(SaValue::Selector::kAbove, mtu).status, status_of(SaStatus::kNoRecords));
  EXPECT_EQ(asked(SaValue::Selector::kExactly, static_cast<std::uint8_t>(mtu + 1)).status,
            status_of(SaStatus::kNoRecords));
  EXPECT_EQ(sa.ask("b", between(sa, "b", "d", PathRecord::kHasPKey, {.pkey = PKey{0x8123}})).status,
            status_of(SaStatus::kNoRecords));
}

TEST(SaPaths, AreOnTheLevelThatIsAskedForWhereRoutingNeedsNone) {
  const auto ring = fabric::generate_torus({5}, 1, "ring");
  const auto level = [&](Engine engine, std::optional<Sl> asked) -> std::optional<Sl> {
    AdministeredLab sa(*ring, ring->nodes.back().name, {.engine = engine});
    const std::string& from = ring->nodes[5].name;
    const Answer answer = sa.ask(
        from, between(sa, from, ring->nodes[7].name, asked ? PathRecord::kHasSl : std::uint64_t{0},
                      {.sl = asked.value_or(Sl{})}));
    if (answer.status != 0) return std::nullopt;
    return paths_of(answer).at(0).sl;
  };
  EXPECT_EQ(level(Engine::kMinHop, Sl{3}), Sl{3});
  const auto own = level(Engine::kLayered, {});
  ASSERT_TRUE(own);
  EXPECT_EQ(level(Engine::kLayered, own), own);
  EXPECT_EQ(level(Engine::kLayered, Sl{9}), std::nullopt);
}

TEST(SaPaths, AreOnTheLevelOfTheirPartitionWhereRoutingNeedsNone) {
  const auto partitions =
      Partitions::parse("Default: ALL=full; blue=0x11, sl=5: ALL=full;", "file");
  const auto ring = fabric::generate_torus({5}, 1, "ring");
  const auto level = [&](Engine engine, PKey pkey) {
    AdministeredLab sa(*ring, ring->nodes.back().name,
                       {.engine = engine, .setup = {.partitions = *partitions}},
                       {.paths = {.levels = {{0x11, Sl{5}}}}});
    const std::string& from = ring->nodes[5].name;
    const Answer answer =
        sa.ask(from, between(sa, from, ring->nodes[7].name, PathRecord::kHasPKey, {.pkey = pkey}));
    EXPECT_EQ(answer.status, 0);
    return paths_of(answer).at(0).sl;
  };
  EXPECT_EQ(level(Engine::kMinHop, PKey{0x8011}), Sl{5});
  EXPECT_EQ(level(Engine::kMinHop, PKey{0x0011}), Sl{5});
  EXPECT_EQ(level(Engine::kMinHop, PKey{0xFFFF}), Sl{0});
  // What keeps the fabric free of deadlock comes first.
  EXPECT_EQ(level(Engine::kLayered, PKey{0x8011}), level(Engine::kLayered, PKey{0xFFFF}));
}

struct GivenLevels : ::testing::Test {
  struct Told {
    std::optional<Sl> sl{};   // nothing: there is no such path
    PathDecision decision{};  // that explains it
  };
  Told ask(AdministeredLab& sa, const std::string& from, const std::string& to,
           std::optional<Sl> asked = {}) {
    const auto query = between(sa, from, to, asked ? PathRecord::kHasSl : std::uint64_t{0},
                               {.sl = asked.value_or(Sl{})});
    const Answer answer = sa.ask(from, query);
    Told told;
    if (answer.status == 0) told.sl = paths_of(answer).at(0).sl;
    SaRequest request{.data = query.data};
    request.header.method = MadMethod::kGet;
    request.sa.component_mask = query.mask;
    request.requester = sa.administrator->view().end_of(sa.gid(from));
    told.decision = sa.administrator->steered(request).value().decision;
    return told;
  }
  static EndMatch at(AdministeredLab& sa, const std::string& node) {
    return {.ports = {guid_of(sa.gid(node))}};
  }
  PathSteering steering;
};

TEST_F(GivenLevels, AreThoseOfThePairsRuleBeforeThatOfThePartition) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a", {},
                     {.paths = {.levels = {{0x7FFF, Sl{2}}}, .adapter_levels = 0x7FFF}});
  sa.administrator->steer_by(&steering);
  ASSERT_TRUE(steering.add({.from = at(sa, "b"), .to = at(sa, "d"), .answer_sl = Sl{3}}));
  EXPECT_EQ(ask(sa, "b", "d").sl, Sl{3});
  EXPECT_EQ(ask(sa, "b", "d").decision.sl, Sl{3});
  EXPECT_EQ(ask(sa, "d", "b").sl, Sl{2}) << "the rule is for one direction";
  EXPECT_EQ(ask(sa, "b", "c").sl, Sl{2});
  EXPECT_EQ(ask(sa, "b", "d", Sl{3}).sl, Sl{3});
  const Told other = ask(sa, "b", "d", Sl{2});
  EXPECT_EQ(other.sl, std::nullopt);
  EXPECT_EQ(other.decision.action, PathAction::kNone);
  EXPECT_EQ(other.decision.reason, "SL 2 is asked for, and the rule gives SL 3");
  EXPECT_EQ(ask(sa, "d", "b", Sl{5}).sl, Sl{5});
  // Where the rule gives none, all is as without it; a level without a lane leads nowhere.
  ASSERT_TRUE(steering.insert(0, {.from = at(sa, "b"), .to = at(sa, "d")}));
  EXPECT_EQ(ask(sa, "b", "d").sl, Sl{2});
  ASSERT_TRUE(steering.insert(0, {.to = at(sa, "d"), .answer_sl = Sl{15}}));
  EXPECT_EQ(ask(sa, "b", "d").sl, std::nullopt);
}

TEST_F(GivenLevels, AreOfBothDirectionsOfASymmetricRule) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  sa.administrator->steer_by(&steering);
  ASSERT_TRUE(steering.add(
      {.from = at(sa, "b"), .to = at(sa, "d"), .answer_sl = Sl{3}, .symmetric = true}));
  EXPECT_EQ(ask(sa, "b", "d").sl, Sl{3});
  EXPECT_EQ(ask(sa, "d", "b").sl, Sl{3});
}

// What keeps the fabric free of deadlock comes first.
TEST_F(GivenLevels, DoNotCountWhereRoutingNeedsItsOwn) {
  const auto ring = fabric::generate_torus({5}, 1, "ring");
  AdministeredLab sa(*ring, ring->nodes.back().name, {.engine = Engine::kLayered});
  sa.administrator->steer_by(&steering);
  const std::string& from = ring->nodes[5].name;
  const std::string& to = ring->nodes[7].name;
  ASSERT_TRUE(steering.add({}));
  const auto own = ask(sa, from, to).sl;
  ASSERT_TRUE(own);
  ASSERT_TRUE(steering.insert(0, {.answer_sl = Sl{9}}));
  const Told told = ask(sa, from, to);
  EXPECT_EQ(told.sl, own);
  EXPECT_EQ(told.decision.sl, std::nullopt);
  EXPECT_EQ(told.decision.reason, "routing needs the SLs itself: SL 9 of the rule does not count");
  EXPECT_EQ(ask(sa, from, to, own).sl, own);
  EXPECT_EQ(ask(sa, from, to, Sl{9}).sl, std::nullopt);
}

TEST(SaPaths, AreNotToldOfLevelsThatHaveNoLane) {
  const auto status = [](const PathOptions& options, const std::string& from, const std::string& to,
                         Sl sl) {
    AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a", {}, {.paths = options});
    return sa.ask(from, between(sa, from, to, PathRecord::kHasSl, {.sl = sl})).status;
  };
  const PathOptions adapters{.adapter_levels = 0xFFF7};
  EXPECT_EQ(status(adapters, "b", "d", Sl{2}), 0);
  EXPECT_EQ(status(adapters, "b", "d", Sl{3}), status_of(SaStatus::kNoRecords));
  EXPECT_EQ(status(adapters, "b", "b", Sl{3}), 0);  // on no link
  const PathOptions switches{.switch_levels = 0x7FFF};
  EXPECT_EQ(status(switches, "b", "d", Sl{14}), 0);
  EXPECT_EQ(status(switches, "b", "d", Sl{15}), status_of(SaStatus::kNoRecords));
}

TEST(SaPaths, AreOneForWhoAsksForOneWhateverNumberItSays) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  EXPECT_EQ(sa.ask("b", between(sa, "b", "d", PathRecord::kHasNumbPath, {.paths = 0})).status, 0);
}

TEST(SaPaths, AreAnEmptyTableWhereThereAreNone) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Answer none = sa.ask("b", {.attribute = SaAttribute::kPathRecord,
                                   .mask = PathRecord::kHasDlid,
                                   .data = bytes_of(PathRecord{.dlid = Lid{0x7777}})});
  ASSERT_TRUE(none.came);
  EXPECT_EQ(none.status, 0);
  EXPECT_TRUE(none.records.empty());
}

TEST(SaPaths, GoByAllLidsOfAPort) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a", {.setup = {.lmc = 2}});
  AdministeredLab::Query query = between(sa, "b", "d");
  query.method = MadMethod::kGetTable;
  std::set<std::pair<Lid, Lid>> pairs;
  for (const PathRecord& path : paths_of(sa.ask("b", query)))
    pairs.insert({path.slid, path.dlid});
  EXPECT_EQ(pairs.size(), 16u);
  query = between(sa, "b", "d", PathRecord::kHasNumbPath, {.paths = 4});
  query.method = MadMethod::kGetTable;
  std::set<Lid> sources;
  std::set<Lid> destinations;
  for (const PathRecord& path : paths_of(sa.ask("b", query))) {
    sources.insert(path.slid);
    destinations.insert(path.dlid);
  }
  // As different as can be.
  EXPECT_EQ(sources.size(), 4u);
  EXPECT_EQ(destinations.size(), 4u);
}

// Of several partitions that both ends are in the one with the lowest number, wherever in their
// tables it stands.
TEST(SaPaths, HaveTheLowestPKeyThatBothEndsShare) {
  const fabric::Lab model = fabric::lab_of(fabric::kFourNodes);
  const auto guid = [&](const char* node) {
    return fabric::to_string(model.find_node(node)->port_guids.at(0));
  };
  const std::string b = guid("b"), c = guid("c"), d = guid("d");
  const std::string file = "Default=0x7fff : ALL=full;\nred=0x300 : " + b + "=full, " + c +
                           "=full;\nblue=0x201 : " + b + "=full, " + d + ", " + c +
                           ";\ngreen=0x1 : " + d + "=full, " + c + "=full;\n";
  AdministeredLab sa(model, "a", {.setup = {.partitions = *Partitions::parse(file, "file")}});
  const auto pkey = [&](const char* from, const char* to, std::uint64_t more = 0,
                        const PathRecord& record = {}) {
    const Answer answer = sa.ask("a", [&] {
      AdministeredLab::Query query = between(sa, from, to, more, record);
      query.sm_key = 1;
      return query;
    }());
    return answer.records.empty() ? PKey{} : paths_of(answer).at(0).pkey;
  };
  EXPECT_EQ(pkey("b", "c"), PKey{0x8201});
  EXPECT_EQ(pkey("c", "b"), PKey{0x0201}) << "as the one who sends has it";
  EXPECT_EQ(pkey("c", "d"), PKey{0x8001}) << "by blue, limited members may not talk";
  EXPECT_EQ(pkey("b", "a"), PKey{0xFFFF});
  EXPECT_EQ(pkey("b", "c", PathRecord::kHasPKey, {.pkey = PKey{0x8300}}), PKey{0x8300});
}

TEST(SaPaths, HaveTheLevelThatRoutingNeeds) {
  const auto ring = fabric::generate_torus({6}, 1, "ring");
  AdministeredLab sa(*ring, ring->nodes.back().name, {.engine = Engine::kLayered});
  std::set<Sl> levels;
  const Answer answer =
      sa.ask(ring->nodes.back().name, {.attribute = SaAttribute::kPathRecord, .sm_key = 1});
  for (const PathRecord& path : paths_of(answer))
    levels.insert(path.sl);
  EXPECT_GT(levels.size(), 1u);
}

TEST(SaPaths, ToOtherSubnetsLeadToARouter) {
  constexpr std::uint64_t kElsewhere = 0xFEC0'0000'0000'0007;
  const Gid far = make_gid(kElsewhere, Guid{0x1234});
  std::string text = fabric::kFourNodes;
  text.replace(text.find("c = {}\nd = {}\n"), 14, "[router]\nc = {}\nd = {}\n");
  const fabric::Lab model = fabric::lab_of(text);
  const auto path_to_far = [&](const std::vector<PrefixRoute>& routes) {
    AdministeredLab sa(model, "a", {}, {.paths = {.prefix_routes = routes}});
    const Answer answer =
        sa.ask("b", {.method = MadMethod::kGet,
                     .attribute = SaAttribute::kPathRecord,
                     .mask = kSaPathsEnds,
                     .data = bytes_of(PathRecord{.dgid = far, .sgid = sa.gid("b")})});
    if (answer.status != 0) {
      EXPECT_EQ(answer.status, status_of(SaStatus::kInvalidGid));
      return std::string("nowhere");
    }
    const PathRecord path = paths_of(answer).at(0);
    EXPECT_EQ(path.dgid, far);
    EXPECT_EQ(path.sgid, sa.gid("b"));
    EXPECT_EQ(path.hop_limit, 255);
    EXPECT_EQ(path.slid, sa.lab.lid("b"));
    return path.dlid == sa.lab.lid("c")   ? std::string("c")
           : path.dlid == sa.lab.lid("d") ? std::string("d")
                                          : std::string("somebody else");
  };
  const auto guid = [&](const std::string& name) {
    return model.find_node(name)->port_guids.at(0);
  };
  EXPECT_THAT(path_to_far({{}}), ::testing::AnyOf("c", "d"));
  EXPECT_EQ(path_to_far({{.prefix = kElsewhere, .router = guid("c")}}), "c");
  EXPECT_EQ(path_to_far({{.prefix = 1, .router = guid("c")}, {.router = guid("d")}}), "d");
  EXPECT_EQ(path_to_far({{.prefix = kElsewhere, .router = Guid{5}}}), "nowhere");
  EXPECT_EQ(path_to_far({{.prefix = kElsewhere, .router = Guid{5}}, {.router = guid("d")}}), "d")
      << "the first one is not there";
  EXPECT_EQ(path_to_far({}), "nowhere");
}

TEST(SaPaths, PassThePolicy) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  const Lid service = sa.lab.lid("c");
  const Gid closed = sa.gid("a");
  sa.administrator->set_policy([&](const SaRequest&, PathRecord& path) {
    path.dlid = service;
    return path.dgid != closed;
  });
  EXPECT_EQ(paths_of(sa.ask("b", between(sa, "b", "d"))).at(0).dlid, service);
  EXPECT_EQ(sa.ask("b", between(sa, "b", "a")).status, status_of(SaStatus::kNoRecords));
}

TEST(SaPaths, BetweenSeveralPortsAreAsDifferentAsCanBe) {
  AdministeredLab sa(fabric::lab_of(fabric::kFourNodes), "a");
  std::vector<std::byte> data(200);
  wire::store_u8(data.data() + 5, 2);   // NumbPath
  wire::store_u8(data.data() + 15, 2);  // SGIDCount
  wire::store_u8(data.data() + 16, 2);  // DGIDCount
  wire::store_gid(data.data() + 24, sa.gid("a"));
  wire::store_gid(data.data() + 40, sa.gid("b"));
  wire::store_gid(data.data() + 56, sa.gid("c"));
  wire::store_gid(data.data() + 72, sa.gid("d"));
  const Answer answer = sa.ask("b", {.method = MadMethod::kGetMulti,
                                     .attribute = SaAttribute::kMultiPathRecord,
                                     .mask = 1u << 6 | 1u << 19 | 1u << 20,
                                     .data = data});
  ASSERT_TRUE(answer.came);
  const auto paths = paths_of(answer);
  ASSERT_EQ(paths.size(), 2u);
  EXPECT_NE(paths[0].sgid, paths[1].sgid);
  EXPECT_NE(paths[0].dgid, paths[1].dgid);
  // More GIDs than the question has.
  wire::store_u8(data.data() + 16, 200);
  EXPECT_EQ(sa.ask("b", {.method = MadMethod::kGetMulti,
                         .attribute = SaAttribute::kMultiPathRecord,
                         .mask = 1u << 6 | 1u << 19 | 1u << 20,
                         .data = data})
                .status,
            status_of(SaStatus::kInsufficientComponents));
}

}  // namespace
}  // namespace weft::sm
