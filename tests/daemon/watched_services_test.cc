// SPDX-License-Identifier: Apache-2.0
// Data services that are processes, in a lab in virtual time with its own subnet manager: it is
// told which of them are there, and what is connected goes on through those that are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../fabric/running_lab.h"
#include "../fabric/test_program.h"
#include "base/random.h"
#include "daemon/lab/lab_manager.h"
#include "daemon/service/place_watches.h"

namespace weft::daemon {
namespace {

using fabric::TestProgram;
using ::testing::SizeIs;

constexpr Lid kWatchedServicesServiceLid{0x40};

constexpr const char* kWatchedServicesLab = R"(
[switch]
s1 = { ports = 8 }
s2 = { ports = 8 }
[node]
m = {}
a = {}
fw1 = {}
fw2 = {}
[service.forwarder]
type = "process"
at = [["fw1", "fw2"]]
lids = [0x40, 0x41]
[[link]]
ends = ["m", "s1"]
[[link]]
ends = ["a", "s1"]
[[link]]
ends = ["fw1", "s1"]
[[link]]
ends = ["fw2", "s2"]
[[link]]
ends = ["s1:8", "s2:8"]
)";

class WatchedServices : public ::testing::Test {
 protected:
  WatchedServices() {
    for (const char* const name : {"fw1", "fw2"}) {
      adapter(name).carry_service(entropy);
      watches.add(lab.fabric.lab().data.services.front(), {.port = 1}, adapter(name), {});
    }
    manager->start(lab.now);
    run_for(1s);
  }
  fabric::ChannelAdapter& adapter(const std::string& name) {
    return *lab.fabric.find_adapter(name);
  }
  // A process that takes what is not for the port itself.
  struct Process {
    Process(fabric::RunningLab& lab, const std::string& node) : program(lab.fabric, node) {
      const Qpn qpn = *program.attachment().allocate();
      EXPECT_TRUE(program.attachment().make_raw(qpn));
      EXPECT_TRUE(program.attachment().divert(qpn, fabric::OtherLids{}));
    }
    TestProgram program;
  };

  void run_for(Duration time) {
    const Time end = lab.now + time;
    for (;;) {
      step();
      Time next = lab.fabric.deadline().value_or(Time::max());
      next = std::min(next, manager->deadline().value_or(Time::max()));
      next = std::min(next, watches.deadline().value_or(Time::max()));
      if (next > end) break;
      lab.now = std::max(lab.now, next);
    }
    lab.now = end;
  }
  void step() {
    for (int i = 0; i < 100; ++i) {
      lab.settle();
      manager->run(lab.now);
      if (watches.run(lab.now, {&manager->steering()})) {
        ++told;
        manager->run(lab.now);
      }
      const auto due = lab.fabric.deadline();
      if (!due || *due > lab.now) return;
    }
    FAIL() << "never comes to rest";
  }
  // A packet of what is connected.
  void send(TestProgram& from) {
    from.send(from.to(kWatchedServicesServiceLid, Qpn{5}), lab.now);
    run_for(1ms);
  }
  std::string port_of_lid() {
    for (const sm::ServiceLid& lid : manager->steering().services().lids()) {
      if (lid.lid != kWatchedServicesServiceLid) continue;
      return lid.port == adapter("fw1").port(1).guid() ? "fw1" : "fw2";
    }
    return "";
  }
  bool there_are_paths() {
    return manager->steering().services().choose(0, {.first = Gid{}, .second = Gid{}}, false) !=
           std::nullopt;
  }

  SeededEntropy entropy{Random(5)};
  fabric::RunningLab lab{fabric::lab_of(kWatchedServicesLab)};
  std::unique_ptr<LabManager> manager = *LabManager::open(lab.fabric);
  PlaceWatches watches;
  int told = 0;
};

TEST_F(WatchedServices, HaveNoPathsUntilTheyAreThere) {
  EXPECT_FALSE(there_are_paths());
  Process first(lab, "fw1");
  run_for(10ms);
  EXPECT_TRUE(there_are_paths());
  nlohmann::json rows = nlohmann::json::array();
  watches.report_processes("", rows);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["well"], true);
  EXPECT_EQ(rows[1]["well"], false);
  EXPECT_EQ(rows[1]["ails"], "nobody serves there");
}

TEST_F(WatchedServices, GoOnThroughTheStandbyWhenOneDies) {
  auto first = std::make_unique<Process>(lab, "fw1");
  Process second(lab, "fw2");
  TestProgram a(lab.fabric, "a");
  run_for(10ms);
  send(a);
  ASSERT_THAT(first->program.taken, SizeIs(1));
  const int before = told;
  first.reset();
  run_for(10ms);
  EXPECT_EQ(told, before + 1);
  EXPECT_EQ(port_of_lid(), "fw2");
  send(a);
  EXPECT_THAT(second.program.taken, SizeIs(1));
  EXPECT_TRUE(there_are_paths());
  // The other one has the connection's state: who comes back stands by.
  Process again(lab, "fw1");
  run_for(10s);
  EXPECT_EQ(port_of_lid(), "fw2");
  send(a);
  EXPECT_THAT(second.program.taken, SizeIs(2));
}

TEST_F(WatchedServices, GoOnThroughTheStandbyWhenOneTakesNothingAnyMore) {
  Process first(lab, "fw1");
  Process second(lab, "fw2");
  TestProgram a(lab.fabric, "a");
  run_for(10ms);
  first.program.room = 0;
  send(a);
  EXPECT_EQ(port_of_lid(), "fw1");
  run_for(fabric::kProgramPatience + 10ms);
  EXPECT_EQ(port_of_lid(), "fw2");
  send(a);
  EXPECT_THAT(second.program.taken, SizeIs(1));
}

TEST_F(WatchedServices, AreGoneWhenBothAre) {
  auto first = std::make_unique<Process>(lab, "fw1");
  auto second = std::make_unique<Process>(lab, "fw2");
  run_for(10ms);
  first.reset();
  second.reset();
  run_for(10ms);
  EXPECT_FALSE(there_are_paths());
  first = std::make_unique<Process>(lab, "fw1");
  run_for(10ms);
  EXPECT_TRUE(there_are_paths());
  EXPECT_EQ(port_of_lid(), "fw1");
}

// Who comes and goes without end costs others little.
TEST_F(WatchedServices, AreBelievedLessTheMoreOftenTheyDie) {
  told = 0;
  for (int i = 0; i < 500; ++i) {
    {
      const Process first(lab, "fw1");
      run_for(10ms);
    }
    run_for(10ms);
  }
  EXPECT_GE(told, 2);
  EXPECT_LE(told, 4);
  // It holds out.
  const Process first(lab, "fw1");
  run_for(PlaceWatch::kFirstHold);
  EXPECT_TRUE(there_are_paths());
}

// What joins subnets is told to be well nowhere while it serves at one of its ports alone, and each
// row says so.
TEST(JoinedServices, AreWellAtNoPortUntilTheyServeAtAll) {
  fabric::RunningLab lab{fabric::lab_of(R"(
[switch]
s1 = { ports = 8 }
s2 = { ports = 8 }
[node]
gate = { ports = 2 }
[service.joint]
type = "process"
at = ["gate:1", "gate:2"]
lids = [0x40, 0x41]
[[link]]
ends = ["gate:1", "s1"]
[[link]]
ends = ["gate:2", "s2"]
[[link]]
ends = ["s1:8", "s2:8"]
)")};
  lab.bring_up();
  SeededEntropy entropy{Random(5)};
  fabric::ChannelAdapter& gate = *lab.fabric.find_adapter("gate");
  gate.carry_service(entropy);
  PlaceWatches watches;
  const fabric::LabService& service = lab.fabric.lab().data.services.front();
  watches.add(service, {.port = 1, .instance = 0}, gate, {2});
  watches.add(service, {.port = 2, .instance = 1}, gate, {1});
  std::vector<std::unique_ptr<TestProgram>> programs;
  const auto serve = [&](mgmt::PortNumber port) {
    programs.push_back(std::make_unique<TestProgram>(lab.fabric, "gate", port));
    fabric::Attachment& there = programs.back()->attachment();
    ASSERT_TRUE(there.make_raw(programs.back()->qpn));
    ASSERT_TRUE(there.divert(programs.back()->qpn, fabric::OtherLids{}));
  };
  const auto rows = [&] {
    watches.run(lab.now, {});
    nlohmann::json out = nlohmann::json::array();
    watches.report_processes("", out);
    return out;
  };
  serve(1);
  nlohmann::json said = rows();
  EXPECT_EQ(said[0]["well"], false);
  EXPECT_EQ(said[0]["ails"], "at its port 2: nobody serves there, and what is routed needs all");
  EXPECT_EQ(said[1]["well"], false);
  EXPECT_EQ(said[1]["ails"], "nobody serves there");
  serve(2);
  said = rows();
  EXPECT_EQ(said[0]["well"], true) << said;
  EXPECT_EQ(said[1]["well"], true) << said;
}

}  // namespace
}  // namespace weft::daemon
