// SPDX-License-Identifier: Apache-2.0
// Paths that lead through data services, as programs ask for them, and what becomes of them when a
// service moves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "running_lab.h"
#include "sa_records.h"
#include "sm/subnet_management.h"
#include "wire/endian.h"
#include "wire/sa/inform_info.h"
#include "wire/sa/path_record.h"

namespace weft::sm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::MadMethod;
using wire::PathRecord;
using wire::SaAttribute;
using wire::SaStatus;

constexpr std::uint64_t kPrefix = 0xFE80'0000'0000'0000;
constexpr std::uint64_t kSteeredPathsEnds = PathRecord::kHasSgid | PathRecord::kHasDgid;

// A node that manages, two with applications, and two for services at different switches. What
// crosses to the second one is of 2 KiB.
constexpr const char* kLab = R"(
[switch]
s1 = { ports = 8 }
s2 = { ports = 8, mtu = 2048 }
[node]
m = {}
a = {}
b = {}
fw1 = {}
fw2 = {}
[[link]]
ends = ["m:1", "s1:1"]
[[link]]
ends = ["a:1", "s1:2"]
[[link]]
ends = ["b:1", "s1:3"]
[[link]]
ends = ["fw1:1", "s1:4"]
[[link]]
ends = ["fw2:1", "s2:1"]
[[link]]
name = "trunk"
ends = ["s1:8", "s2:8"]
)";

class SteeredPaths : public ::testing::Test, private mgmt::MadClient {
 protected:
  void begin(SteeringOptions steering, const std::string& partitions = {}) {
    ManagerOptions options{.steering = std::move(steering)};
    if (!partitions.empty()) options.setup.partitions = *Partitions::parse(partitions, "p");
    management = std::make_unique<SubnetManagement>(port("m"), options);
    management->on_event([this](const ManagerEvent& event) { events.push_back(event.text); });
    const auto started = management->start();
    ASSERT_TRUE(started) << started.error().message;
    management->sweep();
    run_for(1s);
  }

  Guid guid(const std::string& node) {
    return running.fabric.find_node(node)->node_info(1).port_guid;
  }
  Gid gid(const std::string& node) { return make_gid(kPrefix, guid(node)); }
  Lid lid(const std::string& node) {
    return running.fabric.find_node(node)->port(1).port_info().lid;
  }

  void run_for(Duration time) {
    const Time end = running.now + time;
    for (;;) {
      step();
      Time next = running.fabric.deadline().value_or(Time::max());
      next = std::min(next, management->deadline().value_or(Time::max()));
      if (next > end) break;
      running.now = std::max(running.now, next);
    }
    running.now = end;
  }

  struct Asked {
    std::uint64_t more = 0;  // components besides both GIDs
    PathRecord record{};
  };
  // What `asker` is told of the path between two nodes; nothing: the status is in status_.
  std::vector<PathRecord> ask(const std::string& asker, const std::string& from,
                              const std::string& to) {
    return ask(asker, from, to, Asked{});
  }
  std::vector<PathRecord> ask(const std::string& asker, const std::string& from,
                              const std::string& to, Asked asked) {
    asked.record.sgid = gid(from);
    asked.record.dgid = gid(to);
    return ask(asker, MadMethod::kGetTable, SaAttribute::kPathRecord,
               kSteeredPathsEnds | asked.more, bytes_of(asked.record));
  }
  std::vector<PathRecord> ask(const std::string& asker, MadMethod method, SaAttribute attribute,
                              std::uint64_t mask, const std::vector<std::byte>& data) {
    if (!agents_.contains(asker)) {
      mgmt::AgentRequest request{.mgmt_class = wire::MgmtClass::kSubnAdm,
                                 .class_version = wire::kSaClassVersion,
                                 .rmpp = true};
      request.methods.set(static_cast<std::size_t>(MadMethod::kReport));
      agents_.emplace(asker, *port(asker).add_agent(request, *this));
    }
    std::vector<std::byte> mad(wire::SaHeader::kDataOffset);
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnAdm,
                    .class_version = wire::kSaClassVersion,
                    .method = method,
                    .transaction_id = ++last_question_,
                    .attribute_id = static_cast<std::uint16_t>(attribute)}
        .write(mad);
    wire::SaHeader{.component_mask = mask}.write(mad);
    mad.insert(mad.end(), data.begin(), data.end());
    paths_.clear();
    status_ = 0xFFFF;
    const wire::PortInfo info = running.fabric.find_node(asker)->port(1).port_info();
    EXPECT_TRUE(port(asker).send(agents_.at(asker),
                                 {.to = {.lid = info.master_sm_lid, .qpn = kQp1, .qkey = kGsiQKey},
                                  .mad = mad,
                                  .timeout = 200ms,
                                  .cookie = last_question_},
                                 running.now));
    running.fabric.find_node(asker)->management_used();
    run_for(500ms);
    return paths_;
  }

  // Where a packet for a LID arrives, of the nodes with services.
  std::string arrives(Lid to) {
    const auto count = [&](const char* node) {
      return running.count(node, fabric::NodeCounter::kNotMine);
    };
    const std::uint64_t first = count("fw1");
    const std::uint64_t second = count("fw2");
    running.inject("a", {.slid = lid("a"), .dlid = to});
    return count("fw1") > first ? "fw1" : count("fw2") > second ? "fw2" : "";
  }
  void plug(const std::string& link, bool plugged) {
    running.fabric.link(*running.fabric.find_link(link)).set_plugged(plugged, running.now);
  }

  DataService service(const std::string& name, std::vector<std::string> at, Lid first) {
    DataService made{.name = name, .instances = {{}}};
    for (const std::string& node : at) {
      made.instances.front().push_back({.port = guid(node), .lids = {first}});
      first = Lid{static_cast<std::uint16_t>(first.value() + 1)};
    }
    return made;
  }
  PathRule through(const std::string& service, EndMatch from = {}, EndMatch to = {}) {
    return {.from = std::move(from),
            .to = std::move(to),
            .action = PathAction::kThrough,
            .through = {service},
            .symmetric = true};
  }
  EndMatch at(const std::string& node) { return {.ports = {guid(node)}}; }

  fabric::RunningLab running{fabric::lab_of(kLab)};
  std::unique_ptr<SubnetManagement> management;
  std::vector<std::string> events;
  std::vector<wire::Notice> notices;
  std::uint16_t status_ = 0xFFFF;  // of the last answer

 private:
  mgmt::MadPort& port(const std::string& node) {
    return running.fabric.find_node(node)->management().mad_port(1);
  }
  void step() {
    for (bool again = true; again;) {
      running.settle();
      again = management->run(running.now);
      if (again) running.fabric.find_node("m")->management_used();
    }
  }
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    const auto header = *wire::MadHeader::parse(mad.mad);
    const Bytes data = mad.mad.subspan(wire::SaHeader::kDataOffset);
    if (header.method == MadMethod::kReport) return notices.push_back(*wire::Notice::parse(data));
    status_ = header.status;
    if (header.attribute_id == static_cast<std::uint16_t>(SaAttribute::kInformInfo)) return;
    for (std::size_t i = 0; i + PathRecord::kSize <= data.size(); i += PathRecord::kSize)
      paths_.push_back(*PathRecord::parse(data.subspan(i)));
  }
  void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}

  std::map<std::string, mgmt::AgentId> agents_;
  std::uint64_t last_question_ = 0;
  std::vector<PathRecord> paths_;
};

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
  // Nobody else speaks for other subnets.
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

struct FailOver : SteeredPaths {
  void begin_pair(PairMode mode = PairMode::kStandby) {
    DataService fw = service("fw", {"fw1", "fw2"}, Lid{40});
    fw.pair = mode;
    begin({.services = {fw}, .rules = {through("fw", at("a"), at("b"))}});
  }
  // Virtual time until packets for a LID arrive at a node.
  Duration until(Lid to, const std::string& node) {
    const Time begun = running.now;
    while (arrives(to) != node && running.now - begun < 1s)
      run_for(1ms);
    return running.now - begun;
  }
};

TEST_F(FailOver, LeadsWhatIsConnectedToTheStandbyAndNewPathsToo) {
  begin_pair();
  wire::InformInfo everything{.lid_begin = wire::InformInfo::kAnyLid, .subscribe = true};
  std::vector<std::byte> data(200);
  everything.write(data);
  ask("a", MadMethod::kSet, SaAttribute::kInformInfo, 0, data);
  ASSERT_EQ(status_, 0);
  EXPECT_EQ(ask("a", "a", "b").at(0).dlid, Lid{40});
  EXPECT_EQ(arrives(Lid{40}), "fw1");
  plug("fw1:1", false);
  EXPECT_LT(until(Lid{40}, "fw2"), 100ms);
  EXPECT_THAT(events, Contains(HasSubstr("takes over")));
  const auto there = ask("a", "a", "b");
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(arrives(there[0].dlid), "fw2");
  const auto traps = [&] {
    std::vector<wire::TrapNumber> numbers;
    for (const wire::Notice& notice : notices)
      numbers.push_back(notice.trap);
    return numbers;
  };
  EXPECT_THAT(traps(), Contains(wire::TrapNumber::kRePath));
  EXPECT_THAT(traps(), Contains(wire::TrapNumber::kGidOutOfService));
  // It is the active one, whoever comes back.
  plug("fw1:1", true);
  run_for(1s);
  EXPECT_EQ(arrives(Lid{40}), "fw2");
  EXPECT_EQ(ask("fw2", "a", "b").at(0).dlid, lid("b")) << "it asks for the way on";
}

TEST_F(FailOver, ComesWhenASwitchGoes) {
  begin_pair();
  plug("fw1:1", false);
  ASSERT_LT(until(Lid{40}, "fw2"), 100ms);
  plug("fw1:1", true);
  run_for(1s);
  plug("trunk", false);
  EXPECT_LT(until(Lid{40}, "fw1"), 100ms);
  EXPECT_EQ(ask("a", "a", "b").size(), 1u);
}

TEST_F(FailOver, ComesWhenSomebodySaysThatAnInstanceIsNotWell) {
  begin_pair();
  management->steering().services().set_health(guid("fw1"), false);
  EXPECT_LT(until(Lid{40}, "fw2"), 10ms);
  management->steering().services().set_health(guid("fw2"), false);
  run_for(10ms);
  EXPECT_TRUE(ask("a", "a", "b").empty());
}

TEST_F(FailOver, OfAPairThatBothWorkBringsTheirLidsHome) {
  begin_pair(PairMode::kBoth);
  EXPECT_EQ(arrives(Lid{40}), "fw1");
  EXPECT_EQ(arrives(Lid{41}), "fw2");
  plug("fw1:1", false);
  EXPECT_LT(until(Lid{40}, "fw2"), 100ms);
  EXPECT_EQ(arrives(Lid{41}), "fw2");
  plug("fw1:1", true);
  EXPECT_LT(until(Lid{40}, "fw1"), 200ms);
}

}  // namespace
}  // namespace weft::sm
