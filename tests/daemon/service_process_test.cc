// SPDX-License-Identifier: Apache-2.0
// A data service that is a process with several threads, in a lab that runs: each flow goes through
// one of them, in its order.
#include "daemon/service/service_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../fabric/test_program.h"
#include "await.h"
#include "daemon/lab/lab_server.h"
#include "fabric/lab_file.h"
#include "fabric/lab_service_settings.h"
#include "in_a_directory.h"
#include "port/ring/fabric_port.h"

namespace weft::daemon {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Who sends, and who receives, are services too: they send and take whole packets.
constexpr const char* kServiceProcessLab = R"(
[switch]
s = { ports = 4 }
[node]
app = {}
db = {}
fw = {}
[service.firewall]
type = "process"
at = "fw"
lids = [0x40]
[service.sender]
type = "process"
at = "app"
[service.receiver]
type = "process"
at = "db"
[[policy]]
from = "app"
to = "db"
through = "firewall"
[[link]]
ends = ["app", "s"]
[[link]]
ends = ["db", "s"]
[[link]]
ends = ["fw", "s"]
)";
constexpr Lid kServiceProcessServiceLid{0x40};
constexpr Qpn kRefused{0x999};

class ServiceInALab : public InADirectory {
 protected:
  ServiceInALab()
      : paths_(*lab_paths(directory_, "service")),
        server_(*LabServer::open(*fabric::parse_lab(kServiceProcessLab, "lab.toml"), paths_)),
        lab_([this] { EXPECT_TRUE(server_->run()); }) {}
  ~ServiceInALab() override {
    server_->stop();
    lab_.join();
  }
  [[nodiscard]] umad::Place place(const std::string& node) const {
    return {.lab = paths_.directory, .node = node};
  }

  // Raw queue pairs of a node.
  struct End final : port::DatagramSink {
    explicit End(const umad::Place& place) {
      port::FabricPortConfig there;
      there.place = {.lab = place.lab, .node = place.node};
      adapter = *port::FabricPort::open(there);
      endpoint = *adapter->open_raw_endpoint();
      await([this] {
        adapter->hear_news();
        return facts().state == port::LinkState::kActive;
      });
    }
    port::PortAttributes facts() { return adapter->attributes(1); }
    Gid gid() { return facts().gids.at(0).gid; }
    bool send(Bytes packet) {
      hca::Burst burst;
      burst.raw.emplace();
      hca::OutPacket& out = burst.open();
      out.header_length = 0;
      burst.add_piece(out, packet);
      burst.close(out, 0);
      return endpoint->send(burst).outcome == hca::SendOutcome::kSent;
    }
    void deliver(const hca::InDatagram& datagram) override {
      std::vector<std::byte> packet(datagram.raw->header.begin(), datagram.raw->header.end());
      const Bytes rest = datagram.raw->payload;
      packet.insert(packet.end(), rest.begin(), rest.end());
      taken.push_back(std::move(packet));
    }
    void end_run() override {}
    std::unique_ptr<port::Port> adapter;
    std::unique_ptr<port::Endpoint> endpoint;
    std::vector<std::vector<std::byte>> taken;
  };

  ServiceProcessConfig config(unsigned threads) {
    const std::string rules = directory_ + "/rules";
    std::ofstream(rules) << "table t { chain forward { hook forward; policy accept;\n"
                            "dqp 0x999 drop\n} }\n";
    ServiceProcessConfig made{.place = place("fw"), .threads = threads};
    made.service.name = "firewall";
    made.service.type = "firewall";
    made.service.rules = rules;
    return made;
  }

  const LabPaths paths_;
  std::unique_ptr<LabServer> server_;
  std::thread lab_;
};

TEST_F(ServiceInALab, TakesEachFlowThroughOneThreadInItsOrder) {
  constexpr std::uint32_t kFlows = 64;
  constexpr std::uint32_t kRounds = 40;
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
  wrong = config(1);
  wrong.service.type = "router";
  const auto router = ServiceProcess::open(wrong);
  ASSERT_FALSE(router);
  EXPECT_THAT(router.error().message, HasSubstr("works in a lab's daemon only"));
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
