// SPDX-License-Identifier: Apache-2.0
// A firewall of a lab with threads of its own in the daemon: each flow goes through one of them, in
// its order, and all of them have the same rules.
#include "daemon/service/service_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "service_lab.h"

namespace weft::daemon {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FirewallOfTwoThreads : public ServiceInALab {
 protected:
  FirewallOfTwoThreads() : service_(config(2).service) {
    service_.threads = 2;
    threads_->add(service_, "fw", 1);
  }
  void start() { threads_->start(paths_.directory); }
  // What it says of itself. Until packets come to it, it has no threads.
  nlohmann::json firewall() {
    nlohmann::json row;
    threads_->report(service_, "fw", row);
    return row;
  }
  void await_threads() {
    await([&] { return firewall().at("threads").size() == 2; });
  }

  // Two nodes with the firewall between them.
  struct Ends {
    explicit Ends(const FirewallOfTwoThreads& lab)
        : sender(lab.place("app")), receiver(lab.place("db")) {
      EXPECT_TRUE(receiver.endpoint->divert(receiver.facts().lid));
      packet = {.slid = sender.facts().lid,
                .dlid = kServiceProcessServiceLid,
                .grh = wire::Grh{.sgid = sender.gid(), .dgid = receiver.gid()},
                .source = Qpn{7}};
    }
    void send(Qpn to, std::uint32_t psn) {
      packet.dest = to;
      packet.psn = Psn{psn};
      await([&] { return sender.send(packet.bytes()); });
    }
    void await_packets(std::size_t count) {
      await([&] {
        receiver.endpoint->inlet()->receive(receiver, 64);
        return receiver.taken.size() >= count;
      });
    }
    End sender;
    End receiver;
    fabric::Datagram packet;
  };

  fabric::LabService service_;
  std::unique_ptr<ServiceThreads> threads_ = std::make_unique<ServiceThreads>();
};

TEST_F(FirewallOfTwoThreads, TakesEachFlowThroughOneOfThemInItsOrder) {
  // No more than may wait for a path in one thread, which may get all of them.
  constexpr std::uint32_t kFlows = 32;
  constexpr std::uint32_t kRounds = 40;
  start();
  await_threads();
  Ends ends(*this);
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t flow = 0; flow < kFlows; ++flow)
      ends.send(Qpn{0x100 + flow}, round);
    ends.send(kRefused, round);
    ends.await_packets(std::size_t{kFlows} * (round + 1));
  }
  std::map<std::uint32_t, std::uint32_t> next;  // of each flow
  for (const auto& taken : ends.receiver.taken) {
    const auto bth = *wire::Bth::parse(Bytes(taken).subspan(48));
    EXPECT_NE(bth.dest_qp, kRefused);
    EXPECT_EQ(bth.psn.value(), next[bth.dest_qp.value()]++);
  }
  const nlohmann::json row = firewall();
  const auto threads = row.at("threads").get<std::vector<std::uint64_t>>();
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_THAT(threads, Each(Ge(kRounds))) << "both have flows";
  EXPECT_EQ(threads[0] + threads[1], (kFlows + 1) * kRounds);
  EXPECT_EQ(row.at("counters").at("forwarded"), kFlows * kRounds);
  EXPECT_EQ(row.at("counters").at("drop_by_service"), kRounds);

  // Other rules: wrong ones change nothing, and right ones hold in both threads.
  std::ofstream(rules_) << "table t {\nwrong";
  const auto wrong = threads_->reload(service_);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr(rules_ + ":2:"));
  std::ofstream(rules_) << "table t { chain forward { hook forward; policy drop;\n"
                           "dqp 0x999 accept\n} }\n";
  const auto reloaded = threads_->reload(service_);
  ASSERT_TRUE(reloaded) << reloaded.error().message;
  EXPECT_EQ(reloaded->at("services").at(0).at("rules"), 1);
  ends.receiver.taken.clear();
  for (std::uint32_t flow = 0; flow < kFlows; ++flow)
    ends.send(Qpn{0x100 + flow}, kRounds);
  ends.send(kRefused, kRounds);
  ends.await_packets(1);
  await([&] { return firewall().at("counters").at("packets") == (kFlows + 1) * (kRounds + 1); });
  EXPECT_EQ(firewall().at("counters").at("drop_by_service"), kRounds + kFlows);
}

// Its file is slow to read: what is asked meanwhile is not lost.
TEST_F(FirewallOfTwoThreads, HasInAllThreadsTheRulesThatCameWhileItBegan) {
  constexpr std::uint32_t kFlows = 32;
  std::filesystem::remove(rules_);
  ASSERT_EQ(mkfifo(rules_.c_str(), 0600), 0);
  start();
  {
    // Open as soon as a thread reads it.
    std::ofstream slow(rules_);
    slow << "table t { chain forward { hook forward; policy accept;\n} }\n" << std::flush;
    std::ofstream(rules_ + ".new") << "table t { chain forward { hook forward; policy drop;\n} }\n";
    std::filesystem::rename(rules_ + ".new", rules_);
    const auto reloaded = threads_->reload(service_);
    ASSERT_TRUE(reloaded) << reloaded.error().message;
    EXPECT_THAT(reloaded->at("services"), IsEmpty()) << "no place has them yet";
  }
  await_threads();
  Ends ends(*this);
  for (std::uint32_t flow = 0; flow < kFlows; ++flow)
    ends.send(Qpn{0x100 + flow}, 0);
  await([&] { return firewall().at("counters").value("packets", 0u) == kFlows; });
  EXPECT_THAT(firewall().at("threads"), Each(Ge(1u))) << "both have flows";
  EXPECT_EQ(firewall().at("counters").value("drop_by_service", 0u), kFlows);
}

// The end of a lab is no trouble.
TEST_F(FirewallOfTwoThreads, EndsWithTheLabAndSaysNothing) {
  start();
  await_threads();
  testing::internal::CaptureStderr();
  threads_->end();
  end_lab();
  await([&] { return firewall().contains("why"); });
  threads_.reset();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace weft::daemon
