// SPDX-License-Identifier: Apache-2.0
// A data service that is a process with several threads, in a lab that runs: each flow goes through
// one of them, in its order.
#include "daemon/service/service_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "fabric/lab_service_settings.h"
#include "service_lab.h"

namespace weft::daemon {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ServiceInALab, TakesEachFlowThroughOneThreadInItsOrder) {
  // No more than may wait for a path in one thread, which may get all of them.
  constexpr std::uint32_t kFlows = 32;
  constexpr std::uint32_t kRounds = 80;
  auto process = *ServiceProcess::open(config(2));
  EXPECT_THAT(process->notes(), IsEmpty());
  std::atomic<bool> serves{false};
  Expected<void> ended;
  std::thread thread(
      [&] { ended = process->run([&](const std::string&) { serves.store(true); }); });
  await([&] { return serves.load(); });
  End sender(place("app"));
  End receiver(place("db"));
  ASSERT_TRUE(receiver.endpoint->divert(receiver.facts().lid));
  fabric::Datagram packet{.slid = sender.facts().lid,
                          .dlid = kServiceProcessServiceLid,
                          .grh = wire::Grh{.sgid = sender.gid(), .dgid = receiver.gid()},
                          .source = Qpn{7}};
  const auto send = [&](Qpn to, std::uint32_t psn) {
    packet.dest = to;
    packet.psn = Psn{psn};
    await([&] { return sender.send(packet.bytes()); });
  };
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t flow = 0; flow < kFlows; ++flow)
      send(Qpn{0x100 + flow}, round);
    send(kRefused, round);
    // The first ones wait for the path.
    const std::size_t so_far = std::size_t{kFlows} * (round + 1);
    await([&] {
      receiver.endpoint->inlet()->receive(receiver, 64);
      return receiver.taken.size() >= so_far;
    });
  }
  process->stop();
  thread.join();
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(receiver.taken.size(), kFlows * kRounds);
  std::map<std::uint32_t, std::uint32_t> next;  // of each flow
  for (const auto& taken : receiver.taken) {
    const auto lrh = *wire::Lrh::parse(taken);
    EXPECT_EQ(lrh.dlid, receiver.facts().lid);
    const auto bth = *wire::Bth::parse(Bytes(taken).subspan(48));
    EXPECT_NE(bth.dest_qp, kRefused);
    EXPECT_EQ(bth.psn.value(), next[bth.dest_qp.value()]++);
  }
  const ServiceProcess::Report report = process->report();
  ASSERT_EQ(report.packets.size(), 2u);
  EXPECT_THAT(report.packets, Each(Ge(kRounds))) << "both have flows";
  EXPECT_EQ(report.packets[0] + report.packets[1], (kFlows + 1) * kRounds);
  std::uint64_t refused = 0;
  for (const CounterValue& counter : report.drops)
    refused += counter.value;
  EXPECT_EQ(refused, kRounds);
}

// What nobody has ever let through passes by other rules, in whichever thread; and wrong ones
// change nothing.
TEST_F(ServiceInALab, ReadsItsRulesAnew) {
  constexpr std::uint32_t kFlows = 32;
  const ServiceProcessConfig made = config(2);
  auto process = *ServiceProcess::open(made);
  std::atomic<bool> serves{false};
  std::mutex mutex;
  std::vector<Expected<FirewallReload>> reloads;
  std::thread thread([&] {
    EXPECT_TRUE(process->run([&](const std::string&) { serves.store(true); },
                             [&](const Expected<FirewallReload>& reload) {
                               const std::lock_guard guard(mutex);
                               reloads.push_back(reload);
                             }));
  });
  const auto reloaded = [&](std::size_t count) {
    const std::lock_guard guard(mutex);
    return reloads.size() == count;
  };
  await([&] { return serves.load(); });
  End sender(place("app"));
  End receiver(place("db"));
  ASSERT_TRUE(receiver.endpoint->divert(receiver.facts().lid));
  fabric::Datagram packet{.slid = sender.facts().lid,
                          .dlid = kServiceProcessServiceLid,
                          .grh = wire::Grh{.sgid = sender.gid(), .dgid = receiver.gid()}};
  constexpr Qpn kOther{0x555};
  // Of so many flows that each thread has some. Those that pass come last: when they are there, it
  // has seen the others too.
  const auto send_all = [&](std::uint32_t psn, Qpn refused, Qpn passes) {
    packet.psn = Psn{psn};
    for (const Qpn to : {refused, passes}) {
      packet.dest = to;
      for (std::uint32_t flow = 0; flow < kFlows; ++flow) {
        packet.source = Qpn{0x100 + flow};
        await([&] { return sender.send(packet.bytes()); });
      }
    }
  };
  const auto await_packets = [&](std::size_t count) {
    await([&] {
      receiver.endpoint->inlet()->receive(receiver, 64);
      return receiver.taken.size() >= count;
    });
  };
  send_all(0, kRefused, kOther);
  await_packets(kFlows);
  std::ofstream(made.service.rules) << "table t { chain forward { hook forward; policy accept;\n"
                                       "dqp 0x555 accept\n  dqp refused drop\n} }\n";
  process->reload();
  await([&] { return reloaded(1); });
  ASSERT_FALSE(reloads[0]);
  EXPECT_THAT(reloads[0].error().message, HasSubstr(made.service.rules + ":3:7: "));
  send_all(1, kRefused, kOther);
  await_packets(2 * kFlows);
  std::ofstream(made.service.rules) << "table t { chain forward { hook forward; policy accept;\n"
                                       "dqp 0x555 drop\n} }\n";
  process->reload();
  await([&] { return reloaded(2); });
  ASSERT_TRUE(reloads[1]) << reloads[1].error().message;
  EXPECT_EQ(reloads[1]->rules, 1u);
  send_all(2, kOther, kRefused);
  await_packets(3 * kFlows);
  process->stop();
  thread.join();
  ASSERT_EQ(receiver.taken.size(), 3 * kFlows);
  for (const auto& taken : receiver.taken) {
    const auto bth = *wire::Bth::parse(Bytes(taken).subspan(48));
    EXPECT_EQ(bth.dest_qp, bth.psn.value() < 2 ? kOther : kRefused) << bth.psn.value();
  }
  EXPECT_THAT(process->report().packets, Each(Ge(1u))) << "both have flows";
}

// Whoever tells it: another thread, the pair, or another instance in the same process.
TEST_F(ServiceInALab, CountsTheRecordsThatAThreadHasNoRoomFor) {
  const auto process = *ServiceProcess::open(config(2));
  const std::vector<std::byte> record(8);
  for (std::size_t i = 0; i < RecordQueue::kMost + 3; ++i)
    process->hear(0, record);
  EXPECT_THAT(process->report().threads, Contains(AllOf(Field(&CounterValue::name, "records_lost"),
                                                        Field(&CounterValue::value, 3 * 2u))));
}

// A limiter that gives packets of a partition another P_Key.
TEST_F(ServiceInALab, IsOfOtherTypesTooAndReplacesKeys) {
  constexpr std::uint32_t kPackets = 60;
  ServiceProcessConfig made = config(1);
  const std::vector<std::string> settings{"rate=1kb/s", "burst=4224B",
                                          "pkeys=[[\"0xffff\", \"0x7fff\"]]"};
  made.service = fabric::service_of_settings("limiter", settings).value();
  auto process = *ServiceProcess::open(made);
  std::atomic<bool> serves{false};
  std::atomic<std::uint64_t> reported{0};
  std::thread thread([&] {
    EXPECT_TRUE(process->run([&](const std::string&) { serves.store(true); }, {},
                             [&](const ServiceProcess::Report& report) {
                               EXPECT_EQ(report.details.at("tenants").size(), 1u);
                               reported.store(report.packets.at(0));
                             }));
  });
  await([&] { return serves.load(); });
  End sender(place("app"));
  End receiver(place("db"));
  ASSERT_TRUE(receiver.endpoint->divert(receiver.facts().lid));
  fabric::Datagram packet{.slid = sender.facts().lid,
                          .dlid = kServiceProcessServiceLid,
                          .grh = wire::Grh{.sgid = sender.gid(), .dgid = receiver.gid()},
                          .dest = Qpn{0x555}};
  const std::size_t passes = 4224 / packet.bytes().size();
  ASSERT_LT(passes, kPackets);
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    packet.psn = Psn{i};
    await([&] { return sender.send(packet.bytes()); });
  }
  await([&] {
    receiver.endpoint->inlet()->receive(receiver, 64);
    return receiver.taken.size() >= passes;
  });
  process->report_now();
  await([&] { return reported.load() >= passes; });
  process->stop();
  thread.join();
  EXPECT_EQ(receiver.taken.size(), passes);
  for (const auto& taken : receiver.taken)
    EXPECT_EQ(wire::Bth::parse(Bytes(taken).subspan(48))->pkey, PKey{0x7FFF});
  const ServiceProcess::Report report = process->report();
  EXPECT_EQ(report.details.at("tenants").at(0).at("dropped"), kPackets - passes);
}

TEST_F(ServiceInALab, HasSeveralThreadsWhereTheyTellEachOtherAll) {
  ServiceProcessConfig wrong = config(2);
  wrong.service = fabric::service_of_settings("monitor", {}).value();
  const auto monitor = ServiceProcess::open(wrong);
  ASSERT_FALSE(monitor);
  EXPECT_THAT(monitor.error().message, HasSubstr("in one thread"));
}

TEST_F(ServiceInALab, IsNothingThatALabAloneCanMean) {
  ServiceProcessConfig wrong = config(1);
  const std::vector<std::string> settings{"by=pair", "rates={ \"fe80::1 to app\" = \"1Gb/s\" }"};
  wrong.service = fabric::service_of_settings("limiter", settings).value();
  const auto limiter = ServiceProcess::open(wrong);
  ASSERT_FALSE(limiter);
  EXPECT_THAT(limiter.error().message, HasSubstr("rates: app is a node"));
}

TEST_F(ServiceInALab, IsAtOnePortUnlessItRoutes) {
  ServiceProcessConfig wrong = config(1);
  wrong.ports = {1, 2};
  const auto firewall = ServiceProcess::open(wrong);
  ASSERT_FALSE(firewall);
  EXPECT_THAT(firewall.error().message, HasSubstr("a firewall works at one port"));
  wrong.service.type = "router";
  wrong.ports = {1, 1};
  const auto twice = ServiceProcess::open(wrong);
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("port 1 is named twice"));
}

TEST_F(ServiceInALab, EndsWithTheLab) {
  auto process = *ServiceProcess::open(config(2));
  std::atomic<bool> serves{false};
  Expected<void> ended;
  std::thread thread(
      [&] { ended = process->run([&](const std::string&) { serves.store(true); }); });
  await([&] { return serves.load(); });
  server_->stop();
  lab_.join();
  lab_ = std::thread([] {});
  server_ = nullptr;
  server_ = *LabServer::open(*fabric::parse_lab(kServiceProcessLab, "lab.toml"), paths_);
  thread.join();
  EXPECT_FALSE(ended);
}

TEST_F(ServiceInALab, IsOfNodesThatHaveAPlaceForOne) {
  ServiceProcessConfig wrong = config(1);
  wrong.place.node = "nobody";
  EXPECT_FALSE(ServiceProcess::open(wrong));
  wrong = config(1);
  wrong.service.rules = directory_ + "/absent";
  const auto absent = ServiceProcess::open(wrong);
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("absent"));
  wrong = config(1);
  wrong.service.type = "fridge";
  EXPECT_FALSE(ServiceProcess::open(wrong));
}

}  // namespace
}  // namespace weft::daemon
