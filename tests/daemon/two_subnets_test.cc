// SPDX-License-Identifier: Apache-2.0
// A lab of two subnets: each manager leads by the services that are in its own, and hears of those
// which are well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "../fabric/running_lab.h"
#include "base/random.h"
#include "daemon/lab/lab_managers.h"
#include "daemon/lab/steering_options.h"
#include "daemon/service/lab_services.h"
#include "sm/sa/subnet_view.h"

namespace weft::daemon {
namespace {

using sm::PathAction;
using ::testing::ElementsAre;

constexpr const char* kTwoSubnetsLab = R"(
[[sm]]
node = "west"
subnet_prefix = "fd00:0:0:1::/64"
[[sm]]
node = "east"
subnet_prefix = "fd00:0:0:2::/64"
[switch]
west = { ports = 8 }
east = { ports = 8 }
[node]
app = {}
app2 = {}
fw1 = {}
fw2 = {}
gate = { ports = 2 }
db = {}
db2 = {}
mon1 = {}
mon2 = {}
[service.firewall]
at = [["fw1", "fw2"]]
[service.router]
at = ["gate:1", "gate:2"]
[service.mon]
type = "process"
at = [["mon1", "mon2"]]
[[policy]]
name = "watched"
from = "db2"
through = "mon"
[[link]]
ends = ["app", "west"]
[[link]]
ends = ["app2", "west"]
[[link]]
ends = ["fw1", "west"]
[[link]]
ends = ["fw2", "west"]
[[link]]
name = "west-gate"
ends = ["gate:1", "west"]
[[link]]
ends = ["gate:2", "east"]
[[link]]
ends = ["db", "east"]
[[link]]
ends = ["db2", "east"]
[[link]]
ends = ["mon1", "east"]
[[link]]
ends = ["mon2", "east"]
)";
constexpr std::size_t kTwoSubnetsWest = 0;
constexpr std::size_t kTwoSubnetsEast = 1;

class TwoSubnets : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = LabManagers::open(lab.fabric, "");
    ASSERT_TRUE(opened) << opened.error().message;
    managers = std::move(*opened);
    services.steer_by(managers->steerings());
    ASSERT_TRUE(services.open());
    managers->start(lab.now);
    run_for(1s);
  }
  void run_for(Duration time) {
    const Time end = lab.now + time;
    for (;;) {
      for (bool again = true; again;) {
        lab.settle();
        managers->run(lab.now);
        again = services.run(lab.now);
        const auto due = lab.fabric.deadline();
        again = again || (due && *due <= lab.now);
      }
      Time next = Time::max();
      for (const auto& due : {lab.fabric.deadline(), managers->deadline(), services.deadline()})
        next = std::min(next, due.value_or(Time::max()));
      if (next > end) break;
      lab.now = std::max(lab.now + 1us, next);
    }
    lab.now = std::max(lab.now, end);
  }

  [[nodiscard]] Guid guid(const std::string& node, std::size_t port = 1) const {
    return lab.fabric.lab().find_node(node)->port_guids[port - 1];
  }
  [[nodiscard]] sm::PathSteering& steering(std::size_t subnet) {
    return *managers->steerings()[subnet];
  }
  // An end as the manager of a subnet has it.
  [[nodiscard]] sm::PathEnd end(std::size_t subnet, const std::string& node) {
    const bool is_west = node.starts_with("app") || node.starts_with("fw");
    const bool here = is_west == (subnet == kTwoSubnetsWest);
    const std::uint64_t prefix = is_west ? 0xFD00'0000'0000'0001 : 0xFD00'0000'0000'0002;
    return {.gid = sm::make_gid(prefix, guid(node)), .port = here ? guid(node) : Guid{}};
  }
  // The services, and where they are, that a path leads through.
  std::vector<std::string> way(std::size_t subnet, const std::string& from, const std::string& to,
                               sm::PathEnd asker = {}, Lid slid = {}) {
    sm::PathQuery query{.source = end(subnet, from), .destination = end(subnet, to), .slid = slid};
    query.requester = asker.port == Guid{} ? query.source : asker;
    const sm::PathDecision decision = steering(subnet).decide(query, false);
    std::vector<std::string> out;
    for (const sm::ServiceHop& hop : decision.hops)
      out.push_back(steering(subnet).services().services()[hop.service].name);
    if (decision.action == PathAction::kNone) out.emplace_back("none");
    return out;
  }
  [[nodiscard]] bool is_well(std::size_t subnet, Guid port) {
    return steering(subnet).services().is_well(port);
  }

  fabric::RunningLab lab{fabric::lab_of(kTwoSubnetsLab)};
  BufferPool blocks{ServicePlace::kBlock, 256};
  SeededEntropy entropy{Random(4)};
  std::unique_ptr<LabManagers> managers;
  LabServices services{lab.fabric, blocks, entropy, [this] { return lab.now; }};
};

TEST_F(TwoSubnets, LeadByTheServicesThatAreInEach) {
  EXPECT_THAT(way(kTwoSubnetsWest, "app", "app2"), ElementsAre("firewall"));
  EXPECT_THAT(way(kTwoSubnetsEast, "db", "mon1"), ElementsAre()) << "the firewall is elsewhere";
  EXPECT_THAT(way(kTwoSubnetsWest, "app", "db"), ElementsAre("firewall", "router"));
  EXPECT_THAT(way(kTwoSubnetsEast, "db", "app"), ElementsAre("router"));
  // What the router has brought goes on by what else is there.
  const auto lid_at = [&](std::size_t subnet, Guid port) {
    for (const sm::ServiceLid& lid : steering(subnet).services().lids()) {
      if (lid.port == port) return lid.lid;
    }
    return Lid{};
  };
  const Lid west = lid_at(kTwoSubnetsWest, guid("gate", 1));
  ASSERT_NE(west, Lid{});
  EXPECT_THAT(way(kTwoSubnetsWest, "db", "app", {.port = guid("gate", 1)}, west),
              ElementsAre("firewall"));
  const Lid east = lid_at(kTwoSubnetsEast, guid("gate", 2));
  EXPECT_THAT(way(kTwoSubnetsEast, "app", "db", {.port = guid("gate", 2)}, east), ElementsAre());
}

TEST_F(TwoSubnets, CallTheirPortsByNameInRulesOfBoth) {
  fabric::LabPolicy policy;
  policy.to.nodes = {"db"};
  policy.refused = true;
  for (const std::size_t subnet : {kTwoSubnetsWest, kTwoSubnetsEast}) {
    ASSERT_TRUE(steering(subnet).insert(0, path_rule(lab.fabric.lab(), policy, subnet)));
  }
  EXPECT_THAT(way(kTwoSubnetsWest, "app", "db"), ElementsAre("none"));
  EXPECT_THAT(way(kTwoSubnetsEast, "db2", "db"), ElementsAre("none"));
}

TEST_F(TwoSubnets, HearOfTheirOwnServices) {
  EXPECT_FALSE(is_well(kTwoSubnetsEast, guid("mon1"))) << "nobody serves there";
  EXPECT_THAT(way(kTwoSubnetsEast, "db2", "db"), ElementsAre("none"));
  EXPECT_TRUE(is_well(kTwoSubnetsWest, guid("fw1")));
  EXPECT_TRUE(is_well(kTwoSubnetsEast, guid("gate", 2)));
}

// What comes in on one side has to leave by the other.
TEST_F(TwoSubnets, HearOnEachSideThatARouterHasLostTheOther) {
  const auto link = *lab.fabric.find_link("west-gate");
  lab.fabric.link(link).set_plugged(false, lab.now);
  run_for(1s);
  EXPECT_FALSE(is_well(kTwoSubnetsEast, guid("gate", 2)));
  EXPECT_THAT(way(kTwoSubnetsEast, "db", "app"), ElementsAre("none"));
  lab.fabric.link(link).set_plugged(true, lab.now);
  run_for(2s);
  EXPECT_TRUE(is_well(kTwoSubnetsEast, guid("gate", 2)));
  EXPECT_THAT(way(kTwoSubnetsEast, "db", "app"), ElementsAre("router"));
}

}  // namespace
}  // namespace weft::daemon
