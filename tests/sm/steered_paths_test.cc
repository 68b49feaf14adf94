// SPDX-License-Identifier: Apache-2.0
// Paths that lead through data services, as programs ask for them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "steered_paths_fixture.h"
#include "wire/endian.h"
#include "wire/sa/path_record.h"

namespace weft::sm {
namespace {

using wire::MadMethod;
using wire::PathRecord;
using wire::SaAttribute;
using wire::SaStatus;

TEST_F(SteeredPaths, LeadToTheServiceAndFromThereOn) {
  begin(
      {.services = {service("fw", {"fw1"}, Lid{0xF})}, .rules = {through("fw", at("a"), at("b"))}});
  const auto there = ask("a", "a", "b");
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there[0].dlid, Lid{0xF});
  EXPECT_EQ(there[0].slid, lid("a"));
  EXPECT_EQ(there[0].sgid, gid("a"));
  EXPECT_EQ(there[0].dgid, gid("b")) << "by which the service knows where it goes";
  EXPECT_GT(there[0].hop_limit, 1) << "it needs a GRH";
  EXPECT_TRUE(there[0].reversible);
  EXPECT_EQ(arrives(Lid{0xF}), "fw1");
  const auto on =
      ask("fw1", "a", "b", {.more = PathRecord::kHasSlid, .record = {.slid = Lid{0xF}}});
  ASSERT_EQ(on.size(), 1u);
  EXPECT_EQ(on[0].dlid, lid("b"));
  EXPECT_EQ(on[0].slid, Lid{0xF}) << "answers come back through it";
  EXPECT_EQ(on[0].sgid, gid("a"));
  const auto back = ask("b", "b", "a");
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].dlid, Lid{0xF});
  // What no rule is for goes as it ever did.
  const auto direct = ask("a", "a", "fw2");
  ASSERT_EQ(direct.size(), 1u);
  EXPECT_EQ(direct[0].dlid, lid("fw2"));
  EXPECT_EQ(direct[0].hop_limit, 0);
}

TEST_F(SteeredPaths, AreAsNarrowAndAsLongAsTheWholeWay) {
  begin(
      {.services = {service("fw", {"fw2"}, Lid{40})}, .rules = {through("fw", at("a"), at("b"))}});
  const auto there = ask("a", "a", "b");
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there[0].mtu.value, 4) << "2048: the service is behind a switch that takes no more";
  EXPECT_EQ(there[0].packet_life.value, PathOptions{}.packet_life + 1);
  const auto direct = ask("a", "a", "m");
  EXPECT_EQ(direct.at(0).mtu.value, 5);
  EXPECT_EQ(direct.at(0).packet_life.value, PathOptions{}.packet_life);
}

// The first leg could carry 4 KiB.
TEST_F(SteeredPaths, AreAsNarrowAsWhatIsBehindTheService) {
  begin({.services = {service("fw", {"fw1"}, Lid{40})}, .rules = {through("fw", {}, at("fw2"))}});
  const auto there = ask("a", "a", "fw2");
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there[0].dlid, Lid{40});
  EXPECT_EQ(there[0].mtu.value, 4);
}

TEST_F(SteeredPaths, AreNotThereIfARuleSaysSo) {
  begin({.rules = {{.to = at("b"), .action = PathAction::kNone}}});
  EXPECT_TRUE(ask("a", "a", "b").empty());
  EXPECT_EQ(ask("a", "a", "fw1").size(), 1u);
  // From one run to the next.
  ASSERT_TRUE(management->steering().remove(0));
  EXPECT_EQ(ask("a", "a", "b").size(), 1u);
}

// Isolation by partitions: both ends are limited members, and talk through who is a full one.
TEST_F(SteeredPaths, JoinLimitedMembersThroughAFullOne) {
  begin({.services = {service("fw", {"fw1"}, Lid{40})}, .rules = {through("fw", at("a"), at("b"))}},
        fmt::format("Default=0x7fff : ALL=limited, SELF=full, 0x{:x}=full;", guid("fw1").value()));
  EXPECT_TRUE(ask("a", "a", "fw2").empty());
  const auto there = ask("a", "a", "b");
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there[0].pkey, PKey{0x7FFF});
  EXPECT_EQ(there[0].dlid, Lid{40});
  const auto on = ask("fw1", "a", "b");
  ASSERT_EQ(on.size(), 1u);
  EXPECT_EQ(on[0].pkey, PKey{0xFFFF});
  EXPECT_EQ(on[0].dlid, lid("b"));
  // Of what it is in no partition with, nobody else is told more than before.
  EXPECT_TRUE(ask("fw2", "a", "b").empty());
}

// Ends that are in no partition with each other, and both in one with the service.
TEST_F(SteeredPaths, JoinPartitionsThroughWhoIsInBoth) {
  const auto full = [&](const std::string& node) {
    return fmt::format("0x{:x}=full", guid(node).value());
  };
  begin({.services = {service("fw", {"fw1"}, Lid{40})}, .rules = {through("fw", at("a"), at("b"))}},
        fmt::format("Default=0x7fff : ALL=limited, SELF=full; blue=0x11 : {0}, {1}, {2}; "
                    "red=0x12 : {0}, {3};",
                    full("fw1"), full("a"), full("fw2"), full("b")));
  EXPECT_EQ(ask("a", "a", "b").at(0).pkey, PKey{0x8011});
  EXPECT_EQ(ask("fw1", "a", "b").at(0).pkey, PKey{0x8012});
  EXPECT_EQ(ask("fw1", "b", "a").at(0).pkey, PKey{0x8011});
  // It knows the source and the service, and nothing of the destination.
  EXPECT_TRUE(ask("fw2", "a", "b").empty());
}

// A partition all of whose traffic passes the service beside one that goes direct.
TEST_F(SteeredPaths, DifferByPartition) {
  PathRule blue = through("fw");
  blue.pkey = PKey{0x11};
  begin({.services = {service("fw", {"fw1"}, Lid{40})}, .rules = {blue}},
        "Default=0x7fff : ALL=full; blue=0x11 : ALL=full; red=0x12 : ALL=full;");
  const auto by = [&](std::uint16_t pkey) {
    return ask("a", "a", "b", {.more = PathRecord::kHasPKey, .record = {.pkey = PKey{pkey}}});
  };
  ASSERT_EQ(by(0x8011).size(), 1u);
  EXPECT_EQ(by(0x8011)[0].dlid, Lid{40});
  EXPECT_EQ(by(0x8011)[0].pkey, PKey{0x8011});
  EXPECT_EQ(by(0x8012).at(0).dlid, lid("b"));
  EXPECT_EQ(ask("a", "a", "b").at(0).dlid, Lid{40}) << "the partition with the lowest number";
}

TEST_F(SteeredPaths, HaveTheSlOfTheirRuleOnEveryLegAndOnTheWayBack) {
  PathRule gold = through("fw", at("a"), at("b"));
  gold.answer_sl = Sl{3};
  begin({.services = {service("fw", {"fw1"}, Lid{40})}, .rules = {gold}});
  const Asked as_service{.more = PathRecord::kHasSlid, .record = {.slid = Lid{40}}};
  for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "a")}) {
    const auto there = ask(from, from, to);
    ASSERT_EQ(there.size(), 1u);
    EXPECT_EQ(there[0].dlid, Lid{40});
    EXPECT_EQ(there[0].sl, Sl{3});
    const auto on = ask("fw1", from, to, as_service);
    ASSERT_EQ(on.size(), 1u);
    EXPECT_EQ(on[0].dlid, lid(to));
    EXPECT_EQ(on[0].sl, Sl{3});
  }
  EXPECT_EQ(ask("a", "a", "fw2").at(0).sl, Sl{0});
  const auto by = [&](std::uint8_t sl) {
    return ask("a", "a", "b", {.more = PathRecord::kHasSl, .record = {.sl = Sl{sl}}}).size();
  };
  EXPECT_EQ(by(3), 1u);
  EXPECT_EQ(by(0), 0u) << "it is not the path that is asked for";
}

TEST_F(SteeredPaths, LeadOnWhatAQueryOfOneServiceHasLedThere) {
  PathRule web = through("fw", at("a"), at("b"));
  web.service_ids = ServiceIdRange{.first = 80, .last = 80};
  PathRule gold = through("fw", at("a"), at("fw2"));
  gold.sl = Sl{3};
  PathRule long_way = through("fw", at("m"), at("b"));
  long_way.through.push_back("mon");
  begin({.services = {service("fw", {"fw1"}, Lid{40}), service("mon", {"fw2"}, Lid{50})},
         .rules = {web, gold, long_way}});
  const Asked as_service{.more = PathRecord::kHasSlid, .record = {.slid = Lid{40}}};
  const auto there =
      ask("a", "a", "b", {.more = PathRecord::kHasServiceId, .record = {.service_id = 80}});
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there[0].dlid, Lid{40});
  EXPECT_EQ(ask("a", "a", "b").at(0).dlid, lid("b"));
  const auto on = ask("fw1", "a", "b", as_service);
  ASSERT_EQ(on.size(), 1u);
  EXPECT_EQ(on[0].dlid, lid("b"));
  EXPECT_EQ(on[0].slid, Lid{40});
  EXPECT_EQ(ask("fw1", "b", "a", as_service).at(0).dlid, lid("a"));
  const auto asked = ask("a", "a", "fw2", {.more = PathRecord::kHasSl, .record = {.sl = Sl{3}}});
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].dlid, Lid{40});
  EXPECT_EQ(ask("fw1", "a", "fw2", as_service).at(0).sl, Sl{3});
  // A service gets no way on around another one that is not well.
  EXPECT_EQ(ask("fw1", "m", "b", as_service).at(0).dlid, Lid{50});
  management->steering().services().set_health(guid("fw2"), false);
  EXPECT_TRUE(ask("fw1", "m", "b", as_service).empty());
}

TEST_F(SteeredPaths, BetweenSeveralPortsHaveTheLidAndTheSlOfTheirOwnPair) {
  PathRule gold = through("fw", at("a"), at("b"));
  gold.answer_sl = Sl{3};
  PathRule silver{.from = at("a"), .to = at("fw2"), .answer_sl = Sl{2}};
  begin({.services = {service("fw", {"fw1"}, Lid{40})}, .rules = {gold, silver}});
  std::vector<std::byte> data(200);
  wire::store_u8(data.data() + 5, 4);   // NumbPath
  wire::store_u8(data.data() + 15, 1);  // SGIDCount
  wire::store_u8(data.data() + 16, 3);  // DGIDCount
  wire::store_gid(data.data() + 24, gid("a"));
  wire::store_gid(data.data() + 40, gid("b"));
  wire::store_gid(data.data() + 56, gid("fw2"));
  wire::store_gid(data.data() + 72, gid("m"));
  using Told = std::vector<std::tuple<Gid, Lid, Sl>>;
  const auto told = [&](std::uint64_t more) {
    Told each;
    for (const PathRecord& path : ask("a", MadMethod::kGetMulti, SaAttribute::kMultiPathRecord,
                                      1u << 6 | 1u << 19 | 1u << 20 | more, data)) {
      each.emplace_back(path.dgid, path.dlid, path.sl);
    }
    return each;
  };
  EXPECT_EQ(told(0), (Told{{gid("b"), Lid{40}, Sl{3}},
                           {gid("fw2"), lid("fw2"), Sl{2}},
                           {gid("m"), lid("m"), Sl{0}}}));
  // By an SL that is asked for, those that have it, or that no rule gives another one.
  wire::store_u8(data.data() + 9, 2);
  EXPECT_EQ(told(1u << 9), (Told{{gid("fw2"), lid("fw2"), Sl{2}}, {gid("m"), lid("m"), Sl{2}}}));
}

// A service that is the one thing that joins two subnets: bump on the wire.
TEST_F(SteeredPaths, LeadBeyondTheSubnetThroughTheServiceThatJoinsIt) {
  const Gid far = make_gid(0xFD00'0000'0000'0002, Guid{0xB});
  begin({.services = {service("bump", {"fw1"}, Lid{40})},
         .rules = {through("bump", {}, {.gids = {GidPrefix(0xFD00'0000'0000'0002)}})}});
  const auto to = [&](const Gid& gid_there) {
    return ask("a", MadMethod::kGet, SaAttribute::kPathRecord, kSteeredPathsEnds,
               bytes_of(PathRecord{.dgid = gid_there, .sgid = gid("a")}));
  };
  const auto there = to(far);
  EXPECT_EQ(status_, 0);
  ASSERT_FALSE(there.empty());
  EXPECT_EQ(there[0].dlid, Lid{40});
  EXPECT_EQ(there[0].dgid, far);
  EXPECT_GT(there[0].hop_limit, 1);
  to(make_gid(0xFD00'0000'0000'0003, Guid{0xB}));
  EXPECT_EQ(status_, status_of(SaStatus::kInvalidGid));
  // MultiPathRecord.
  std::vector<std::byte> data(200);
  wire::store_u8(data.data() + 5, 3);   // NumbPath
  wire::store_u8(data.data() + 15, 1);  // SGIDCount
  wire::store_u8(data.data() + 16, 2);  // DGIDCount
  wire::store_gid(data.data() + 24, gid("a"));
  wire::store_gid(data.data() + 40, far);
  wire::store_gid(data.data() + 56, gid("b"));
  const auto both = ask("a", MadMethod::kGetMulti, SaAttribute::kMultiPathRecord,
                        1u << 6 | 1u << 19 | 1u << 20, data);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].dlid, Lid{40});
  EXPECT_EQ(both[1].dlid, lid("b"));
}

// And the other way: of what has come from beyond, the service says so by its LID.
TEST_F(SteeredPaths, LeadWhatAServiceHasBroughtIntoTheSubnet) {
  const Gid far = make_gid(0xFD00'0000'0000'0002, Guid{0xB});
  PathRule rule = through("mon", {}, {.gids = {GidPrefix(0xFD00'0000'0000'0002)}});
  rule.through.push_back("bump");
  begin({.services = {service("bump", {"fw1"}, Lid{40}), service("mon", {"fw2"}, Lid{50})},
         .rules = {rule}},
        "Default=0x7fff : ALL=full; blue=0x11 : ALL=full;");
  const auto from = [&](const char* asker, Lid slid, const char* to) {
    return ask(
        asker, MadMethod::kGet, SaAttribute::kPathRecord,
        kSteeredPathsEnds | PathRecord::kHasSlid | PathRecord::kHasPKey,
        bytes_of(PathRecord{.dgid = gid(to), .sgid = far, .slid = slid, .pkey = PKey{0x8011}}));
  };
  const auto on = from("fw1", Lid{40}, "b");
  ASSERT_EQ(status_, 0);
  ASSERT_FALSE(on.empty());
  EXPECT_EQ(on[0].dlid, Lid{50}) << "by the other services of the rule, backwards";
  EXPECT_EQ(on[0].slid, Lid{40});
  EXPECT_EQ(on[0].sgid, far);
  EXPECT_EQ(on[0].pkey, PKey{0x8011});
  const auto last = from("fw2", Lid{50}, "b");
  ASSERT_FALSE(last.empty());
  EXPECT_EQ(last[0].dlid, lid("b"));
  EXPECT_EQ(last[0].slid, Lid{50});
  // One that does not know its LID asks without any.
  const auto unnamed = [&](const char* asker) {
    return ask(asker, MadMethod::kGet, SaAttribute::kPathRecord,
               kSteeredPathsEnds | PathRecord::kHasPKey,
               bytes_of(PathRecord{.dgid = gid("b"), .sgid = far, .pkey = PKey{0x8011}}));
  };
  EXPECT_EQ(unnamed("fw1"), on);
  // Nobody else speaks for other subnets.
  unnamed("a");
  EXPECT_EQ(status_, status_of(SaStatus::kInvalidGid));
  from("fw1", lid("fw1"), "b");
  EXPECT_EQ(status_, status_of(SaStatus::kInvalidGid));
  from("a", Lid{40}, "b");
  EXPECT_EQ(status_, status_of(SaStatus::kInvalidGid));
  ASSERT_TRUE(management->steering().remove(0));
  from("fw1", Lid{40}, "b");
  EXPECT_EQ(status_, status_of(SaStatus::kInvalidGid)) << "no rule leads by it any more";
}

TEST_F(SteeredPaths, GetServiceLidsFromTheManager) {
  DataService fw = service("fw", {"fw1"}, Lid{1});
  fw.instances[0][0].lids.clear();
  begin({.services = {fw}, .rules = {through("fw", at("a"), at("b"))}});
  const auto there = ask("a", "a", "b");
  ASSERT_EQ(there.size(), 1u);
  EXPECT_GE(there[0].dlid.value(), 64);
  EXPECT_EQ(arrives(there[0].dlid), "fw1");
}

TEST_F(SteeredPaths, AreKeptWithTheRuleThatGaveThem) {
  PathRule gold = through("fw", at("a"), at("b"));
  gold.name = "gold";
  begin({.services = {service("fw", {"fw1"}, Lid{40})},
         .rules = {gold, {.to = at("fw2"), .action = PathAction::kNone}}});
  const auto kept = [&] { return management->steering().answers().back(); };
  ask("a", "a", "b", {.more = PathRecord::kHasServiceId, .record = {.service_id = 80}});
  EXPECT_EQ(kept().rule, "gold");
  EXPECT_EQ(kept().decision.rule, 0u);
  EXPECT_EQ(kept().query.service_id, 80u);
  EXPECT_EQ(kept().query.requester.port, guid("a"));
  EXPECT_EQ(kept().paths, 1u);
  const std::uint64_t first = kept().number;
  ask("a", "a", "fw2");
  EXPECT_EQ(kept().decision.rule, 1u);
  EXPECT_EQ(kept().decision.action, PathAction::kNone);
  EXPECT_EQ(kept().paths, 0u);
  ask("b", "b", "m");
  EXPECT_EQ(kept().decision.rule, std::nullopt);
  EXPECT_EQ(kept().paths, 1u);
  EXPECT_EQ(kept().number, first + 2);
  EXPECT_LE(kept().when, running.now);
  EXPECT_GT(kept().when + 1s, running.now);
  for (std::size_t i = 0; i < PathSteering::kAnswersKept; ++i)
    ask("a", "a", "m");
  EXPECT_EQ(management->steering().answers().size(), PathSteering::kAnswersKept);
  EXPECT_GT(management->steering().answers().front().number, first + 2);
}

}  // namespace
}  // namespace weft::sm
