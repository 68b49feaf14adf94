// SPDX-License-Identifier: Apache-2.0
// A pair of firewalls of which each is in a part of its own of a lab, in virtual time: the one
// hears what the other one lets through, and is told what is known when it comes later.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../fabric/running_lab.h"
#include "../fabric/test_program.h"
#include "../service/packets.h"
#include "base/random.h"
#include "daemon/lab/steering_options.h"
#include "daemon/service/lab_services.h"
#include "sm/subnet_management.h"
#include "wire/cm_connect.h"

namespace weft::daemon {
namespace {

constexpr const char* kPairInPartsLab = R"(
[part]
left = {}
right = {}
[switch]
s = { part = "left", ports = 8 }
t = { part = "right", ports = 8 }
[node]
m = { part = "left" }
app = { part = "left" }
db = { part = "left" }
fw1 = { part = "left" }
fw2 = { part = "right" }
[service.firewall]
at = [["fw1", "fw2"]]
lids = [0x40, 0x41]
[[link]]
ends = ["m", "s"]
[[link]]
ends = ["app", "s"]
[[link]]
ends = ["db", "s"]
[[link]]
ends = ["fw1", "s"]
[[link]]
ends = ["fw2", "t"]
[[link]]
ends = ["s:8", "t:8"]
)";
constexpr Lid kPairInPartsLid{0x40};

// One part of the lab, with the firewall that is there.
class OnePart {
 public:
  OnePart(const fabric::Lab& lab, const char* part) : fabric(lab, {}, lab.find_part(part)) {
    fabric.start(now);
    EXPECT_TRUE(services.open());
  }
  void settle() {
    for (auto due = fabric.deadline(); due && *due <= now; due = fabric.deadline())
      fabric.run(now);
  }
  // Of what its row says.
  std::uint64_t count(const char* group, const char* name) {
    return services.report("firewall", false).at(0).at(group).value(name, std::uint64_t{0});
  }

  Time now{1s};
  fabric::Fabric fabric;
  BufferPool blocks{ServicePlace::kBlock, 1024};
  SeededEntropy entropy{Random(3)};
  LabServices services{fabric, blocks, entropy, [this] { return now; }};
};

// The way to another part: what is told there comes by bytes of its own.
class WayToPart final : public PartRecordSink {
 public:
  explicit WayToPart(OnePart& part) : to(part) {}
  void tell(const PartRecord& record) override {
    ++told;
    service = record.service;
    const std::vector<std::byte> bytes(record.record.begin(), record.record.end());
    to.services.record_came({.service = record.service, .which = record.which, .record = bytes});
  }
  std::size_t told = 0;
  std::uint64_t service = 0;  // of the last one

 private:
  OnePart& to;
};

class PairInParts : public ::testing::Test {
 protected:
  void SetUp() override {
    left.services.steer_by({&management->steering()});
    ASSERT_TRUE(management->start());
    management->sweep();
    run_for(1s);
    ASSERT_EQ(left.count("counters", "packets"), 0u);
  }
  fabric::NodePort& port(const char* node) { return left.fabric.find_node(node)->port(1); }

  void run_for(Duration time) {
    const Time end = left.now + time;
    for (;;) {
      for (bool again = true; again;) {
        left.settle();
        again = management->run(left.now);
        if (again) left.fabric.find_node("m")->management_used();
        again = left.services.run(left.now) || again;
      }
      Time next = left.fabric.deadline().value_or(Time::max());
      next = std::min(next, management->deadline().value_or(Time::max()));
      next = std::min(next, left.services.deadline().value_or(Time::max()));
      if (next > end) break;
      left.now = std::max(left.now + 1us, next);
    }
    left.now = end;
  }
  // A message of the communication manager, by way of the firewall that is on the left.
  template <class Message>
  void say(const char* from, const char* to, const Message& message) {
    service::test::Made made = service::test::cm(message);
    made.slid = port(from).lid();
    made.dlid = kPairInPartsLid;
    made.gids = {fabric::gid_of(port(from)), fabric::gid_of(port(to))};
    made.hops = 255;
    port(from).link().transmit(left.fabric.pool().copy(service::test::make(made)), Vl{0}, left.now);
    run_for(1ms);
  }
  void connect() {
    wire::CmReq req{.local_comm_id = wire::CommId{1}, .service_id = wire::ServiceId{7}};
    req.local_qpn = Qpn{0x11};
    req.primary = {.local_lid = port("app").lid(),
                   .remote_lid = kPairInPartsLid,
                   .local_gid = fabric::gid_of(port("app")),
                   .remote_gid = fabric::gid_of(port("db"))};
    say("app", "db", req);
    wire::CmRep rep{.local_comm_id = wire::CommId{2}, .remote_comm_id = wire::CommId{1}};
    rep.local_qpn = Qpn{0x22};
    say("db", "app", rep);
    say("app", "db",
        wire::CmRtu{.local_comm_id = wire::CommId{1}, .remote_comm_id = wire::CommId{2}});
    ASSERT_EQ(left.count("service", "connections"), 1u);
  }

  const fabric::Lab lab = fabric::lab_of(kPairInPartsLab);
  OnePart left{lab, "left"};
  OnePart right{lab, "right"};
  WayToPart way{right};
  std::unique_ptr<sm::SubnetManagement> management =
      std::make_unique<sm::SubnetManagement>(left.fabric.find_node("m")->management().mad_port(1),
                                             sm::ManagerOptions{.steering = steering_options(lab)});
};

TEST_F(PairInParts, HearsOfConnectionsWhileTheyAreMade) {
  left.services.tell_parts(way);
  ASSERT_NO_FATAL_FAILURE(connect());
  EXPECT_EQ(way.told, 3u) << "REQ, REP and RTU";
  EXPECT_EQ(right.count("service", "connections"), 1u);
  EXPECT_EQ(right.count("service", "half_open_connections"), 0u);
  EXPECT_EQ(right.count("service", "applied"), 3u);
  EXPECT_EQ(right.count("counters", "packets"), 0u) << "it stands by";
}

TEST_F(PairInParts, IsToldWhatIsKnownWhenItComesLater) {
  ASSERT_NO_FATAL_FAILURE(connect());
  EXPECT_EQ(right.count("service", "connections"), 0u);
  left.services.part_came(way);
  EXPECT_EQ(right.count("service", "connections"), 1u);
  EXPECT_EQ(right.count("service", "half_open_connections"), 0u);
  // Each part tells the other one, and what is known already stays as it is.
  WayToPart back{left};
  right.services.part_came(back);
  EXPECT_GE(back.told, 1u);
  EXPECT_EQ(left.count("service", "connections"), 1u);
}

TEST_F(PairInParts, TakesNoRecordsOfOtherServicesAndCountsWhatIsNone) {
  left.services.tell_parts(way);
  ASSERT_NO_FATAL_FAILURE(connect());
  const std::vector<std::byte> nonsense(8, std::byte{0x5A});
  const std::uint64_t before = right.count("service", "bad_records");
  right.services.record_came({.service = way.service + 1, .which = 0, .record = nonsense});
  EXPECT_EQ(right.count("service", "bad_records"), before) << "of a service that is not here";
  right.services.record_came({.service = way.service, .which = 0, .record = nonsense});
  EXPECT_EQ(right.count("service", "bad_records"), before + 1);
  right.services.record_came({.service = way.service, .which = 1, .record = nonsense});
  right.services.record_came(
      {.service = way.service, .which = PartRecord::kRuntime, .record = nonsense});
  EXPECT_EQ(right.count("counters", "bad_records"), 2u);
  EXPECT_EQ(right.count("service", "connections"), 1u);
}

}  // namespace
}  // namespace weft::daemon
