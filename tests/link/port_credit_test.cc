// SPDX-License-Identifier: Apache-2.0
// Credit between two ports: that it bounds the sender, and that it comes back whatever is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rig.h"

namespace weft::link {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr PortOptions kPeriodic{.vl_buffer = 256,
                                .credit_updates = CreditUpdates::kPeriodic,
                                .credit_period = kStandardCreditPeriod};

// Sees the flow-control packets of a link.
struct FlowControlTap : LinkTap {
  void sent(std::size_t, const Packet&, Time) override {}
  void sent(std::size_t from, const wire::FlowControl& packet, Time) override {
    seen[from].push_back(packet);
  }
  std::array<std::vector<wire::FlowControl>, 2> seen;
};

TEST(PortCredit, IsToldForEveryLaneWhenTheLinkComesUp) {
  BufferPool payloads{PacketPool::kPayloadBlock, 10};
  PacketPool pool{10, payloads};
  Worker worker;
  FlowControlTap tap;
  DirectLink link(pool);
  link.set_tap(&tap);
  Station a(worker, {.data_vls = 4, .vl_buffer = 300});
  Station b(worker, {.data_vls = 4, .vl_buffer = 5000});
  link.join(a.port, b.port, worker.now());
  worker.settle();
  for (std::uint8_t vl = 0; vl < 4; ++vl) {
    EXPECT_EQ(
        tap.seen[0].at(vl),
        (wire::FlowControl{
            .op = wire::FlowControl::Op::kInitialize, .vl = Vl{vl}, .fctbs = 0, .fccl = 300}));
    EXPECT_EQ(tap.seen[1].at(vl).fccl, 2048);
  }
  EXPECT_EQ(tap.seen[0].size(), 4);
  a.port.set_state(PortState::kArmed, worker.now());
  worker.settle();
  EXPECT_EQ(tap.seen[0].size(), 8);
  EXPECT_EQ(tap.seen[0].back().op, wire::FlowControl::Op::kNormal);
}

TEST(PortCredit, BoundsWhatASenderMaySend) {
  Rig rig({.vl_buffer = 100});
  rig.activate();
  rig.b.keep = true;
  for (std::uint32_t i = 0; i < 40; ++i)
    rig.send(rig.a, {.payload = 256, .number = i});  // 282 bytes: 5 blocks
  rig.worker.run_for(10s);
  EXPECT_EQ(rig.b.numbers.size(), 20);
  EXPECT_EQ(rig.a.port.backlog(Vl{0}), 20);
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxOverrun), 0);
  rig.b.kept.erase(rig.b.kept.begin(), rig.b.kept.begin() + 7);
  rig.worker.settle();
  EXPECT_EQ(rig.b.numbers.size(), 27);
  rig.b.keep = false;
  rig.b.kept.clear();
  rig.worker.settle();
  EXPECT_EQ(rig.b.numbers.size(), 40);
}

TEST(PortCredit, IsPerLane) {
  Rig rig({.vl_buffer = 70});
  rig.activate();
  rig.b.keep = true;
  for (std::uint8_t vl = 0; vl < 8; ++vl) {
    for (std::uint32_t i = 0; i < 3; ++i)
      rig.send(rig.a, {.vl = Vl{vl}, .payload = 1984, .number = i});
  }
  rig.worker.settle();
  EXPECT_EQ(rig.b.numbers.size(), 16);
  for (std::uint8_t vl = 0; vl < 8; ++vl)
    EXPECT_EQ(rig.a.port.backlog(Vl{vl}), 1);
}

TEST(PortCredit, DoesNotConcernManagement) {
  Rig rig({.vl_buffer = 70});
  rig.activate();
  rig.b.keep = true;
  for (std::uint32_t i = 0; i < 5; ++i)
    rig.send(rig.a, {.payload = 1984, .number = i});
  rig.b.numbers.clear();
  rig.worker.settle();
  rig.b.numbers.clear();
  rig.send(rig.a, {.vl = kVl15, .payload = 264, .number = 100});
  rig.worker.settle();
  EXPECT_THAT(rig.b.numbers, ElementsAre(100));
}

TEST(PortCredit, IsNotToldForALaneThatHasCeased) {
  FlowControlTap tap;
  Rig rig({.vl_buffer = 70});
  rig.activate();
  rig.b.keep = true;
  rig.send(rig.a, {.vl = Vl{5}, .payload = 1984});
  rig.worker.settle();
  rig.b.port.set_operational_vls(4, rig.now());
  rig.link.set_tap(&tap);
  rig.b.kept.clear();
  rig.worker.settle();
  EXPECT_TRUE(tap.seen[1].empty());
  rig.link.set_tap(nullptr);
}

TEST(PortCredit, LastsThroughManyTurnsOfTheCounter) {
  Rig rig({.vl_buffer = 150});
  rig.activate();
  for (std::uint32_t i = 0; i < 3'000; ++i) {
    rig.send(rig.a, {.payload = 1984, .number = i});  // 96,000 blocks in all
    rig.worker.settle();
  }
  EXPECT_EQ(rig.b.numbers.size(), 3'000);
}

TEST(PortCredit, IsToldRarelyWhileThereIsPlenty) {
  Rig rig({.vl_buffer = 1024});
  rig.activate();
  const auto before = count(rig.b.port, PortCounter::kTxFlowControl);
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    rig.send(rig.a, {.payload = 256, .number = i});  // 5,000 blocks
    rig.worker.settle();
  }
  ASSERT_EQ(rig.b.numbers.size(), 1'000);
  EXPECT_LE(count(rig.b.port, PortCounter::kTxFlowControl) - before, 5'000 / 256 + 1);
}

// --- what is lost ------------------------------------------------------------------------------

TEST(PortCredit, ComesBackWhenTheLastFlowControlPacketWasLost) {
  Rig rig({.vl_buffer = 70});
  rig.activate();
  rig.b.keep = true;
  for (std::uint32_t i = 0; i < 4; ++i)
    rig.send(rig.a, {.payload = 1984, .number = i});
  rig.worker.settle();
  rig.link.set_emulation({.credit_loss = 1}, rig.now());
  rig.b.keep = false;
  rig.b.kept.clear();  // frees everything, but its word is lost
  rig.worker.run_for(5ms);
  ASSERT_EQ(rig.b.numbers.size(), 2);
  rig.link.set_emulation({}, rig.now());
  rig.worker.run_for(rig.a.port.options().credit_period);
  EXPECT_THAT(rig.b.numbers, ElementsAre(0, 1, 2, 3));
  EXPECT_GE(count(rig.a.port, PortCounter::kTxCreditProbes), 1);
}

TEST(PortCredit, ComesBackWhenPacketsWereLost) {
  Rig rig({.vl_buffer = 70});
  rig.activate();
  rig.link.set_emulation({.loss = 1}, rig.now());
  rig.send(rig.a, {.payload = 1984, .number = 0});
  rig.send(rig.a, {.payload = 1984, .number = 1});
  rig.worker.settle();
  rig.link.set_emulation({}, rig.now());
  rig.send(rig.a, {.payload = 1984, .number = 2});  // the sender thinks there is no room
  rig.worker.settle();
  ASSERT_EQ(rig.a.port.backlog(Vl{0}), 1);
  rig.worker.run_for(rig.a.port.options().credit_period);
  EXPECT_THAT(rig.b.numbers, ElementsAre(2));
}

TEST(PortCredit, ComesBackEvenWhereHeadsOfLanesDoNotLiveLong) {
  Rig rig({.vl_buffer = 70});
  rig.activate();
  rig.a.port.set_hoq_life(4);  // 65 us, far below the period
  rig.link.set_emulation({.loss = 1}, rig.now());
  rig.send(rig.a, {.payload = 1984, .number = 0});
  rig.send(rig.a, {.payload = 1984, .number = 1});
  rig.worker.settle();
  rig.link.set_emulation({}, rig.now());
  for (std::uint32_t i = 2; i < 400; ++i) {
    rig.send(rig.a, {.payload = 1984, .number = i});
    rig.worker.run_for(100us);
  }
  EXPECT_GT(rig.b.numbers.size(), 200);
}

TEST(PortCredit, DoesNotAskForEverWhatBothEndsKnow) {
  Rig rig({.vl_buffer = 70}, {.delay = 100ms});
  rig.activate();
  rig.b.keep = true;
  for (std::uint32_t i = 0; i < 4; ++i)
    rig.send(rig.a, {.payload = 1984, .number = i});
  rig.worker.run_for(10s);
  // Four round trips are 800 ms: so often it asks, and so often it is answered.
  const auto asked = count(rig.a.port, PortCounter::kTxCreditProbes);
  EXPECT_GE(asked, 11);
  EXPECT_LE(asked, 13);
  const auto answered = count(rig.b.port, PortCounter::kTxFlowControl);
  EXPECT_LE(answered, 2 * 8 + asked);
  rig.b.kept.clear();
  rig.b.keep = false;
  rig.worker.run_for(10s);
  EXPECT_EQ(rig.b.numbers.size(), 4);
  EXPECT_EQ(rig.worker.next_deadline(), std::nullopt);
}

// --- by the standard's clock ---------------------------------------------------------------------

TEST(PortCredit, IsToldOnceInAPeriodWhateverHappens) {
  Rig rig(kPeriodic);
  rig.activate();
  const auto before = count(rig.a.port, PortCounter::kTxFlowControl);
  rig.worker.run_for(100 * kStandardCreditPeriod);
  const auto told = count(rig.a.port, PortCounter::kTxFlowControl) - before;
  EXPECT_GE(told, 99 * 8);
  EXPECT_LE(told, 101 * 8);
  EXPECT_EQ(count(rig.a.port, PortCounter::kCreditWatchdog), 0);
}

TEST(PortCredit, ComesBackByTheClockWhateverIsLost) {
  Rig rig(kPeriodic);
  rig.activate();
  rig.link.set_emulation({.loss = 0.3, .credit_loss = 0.3, .seed = 7}, rig.now());
  for (std::uint32_t i = 0; i < 500; ++i)
    rig.send(rig.a, {.payload = 1984, .number = i});
  rig.worker.run_for(1s);
  EXPECT_EQ(rig.a.port.backlog(Vl{0}), 0);
  EXPECT_EQ(rig.b.numbers.size() + rig.link.counters().get(LinkCounter::kLost), 500);
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxOverrun), 0);
}

TEST(PortCredit, TrainsTheLinkAnewWhenNoneComes) {
  Rig rig(kPeriodic);
  rig.activate();
  rig.link.set_emulation({.credit_loss = 1}, rig.now());
  rig.worker.run_for(kStandardCreditWatchdog - kStandardCreditPeriod);
  EXPECT_EQ(rig.a.port.state(), PortState::kActive);
  rig.worker.run_for(2 * kStandardCreditPeriod);
  EXPECT_NE(rig.a.port.state(), PortState::kActive);
  EXPECT_NE(rig.b.port.state(), PortState::kActive);
  EXPECT_GE(count(rig.a.port, PortCounter::kCreditWatchdog) +
                count(rig.b.port, PortCounter::kCreditWatchdog),
            1);
}

TEST(PortCredit, DoesNotBlameTheOtherEndWhenItWasLateItself) {
  Rig rig(kPeriodic);
  rig.activate();
  // The worker has slept: the ports' deadlines are long past when they are run again.
  const Time later = rig.now() + 100 * kStandardCreditWatchdog;
  rig.a.port.run(later);
  rig.b.port.run(later);
  rig.a.port.run(later);
  EXPECT_EQ(rig.a.port.state(), PortState::kActive);
  EXPECT_EQ(rig.b.port.state(), PortState::kActive);
}

TEST(PortCredit, LeavesASlowLineToItsPackets) {
  Rig rig(kPeriodic, {.rate_bytes_per_s = 8'000});  // 64 kb/s
  rig.worker.run_for(1min);
  for (const PortState state : {PortState::kArmed, PortState::kActive}) {
    rig.a.port.set_state(state, rig.now());
    rig.b.port.set_state(state, rig.now());
    rig.worker.run_for(1min);
  }
  ASSERT_EQ(rig.a.port.state(), PortState::kActive);
  const std::size_t before = rig.b.numbers.size();
  for (std::uint32_t i = 0; i < 12; ++i)
    rig.send(rig.a, {.payload = 972, .number = i});  // an eighth of a second each
  rig.worker.run_for(1600ms);
  EXPECT_EQ(rig.b.numbers.size() - before, 12);
}

TEST(PortCredit, DoesNotTakeSlownessThatIsOverForSilence) {
  Rig rig(kPeriodic);
  rig.activate();
  rig.link.set_emulation({.rate_bytes_per_s = 8'000}, rig.now());
  rig.worker.run_for(20s);
  rig.link.set_emulation({.rate_bytes_per_s = 1'000'000'000}, rig.now());
  rig.worker.run_for(1s);
  EXPECT_EQ(rig.a.port.state(), PortState::kActive);
  EXPECT_EQ(count(rig.a.port, PortCounter::kCreditWatchdog), 0);
}

TEST(PortCredit, DoesNotTakeOtherNumbersOfLanesForSilence) {
  PortOptions few = kPeriodic;
  few.data_vls = 1;
  Rig rig(kPeriodic, few, {});
  rig.worker.run_for(1s);
  EXPECT_EQ(rig.a.port.state(), PortState::kInitialize);
  EXPECT_EQ(count(rig.a.port, PortCounter::kCreditWatchdog), 0);
  rig.a.port.set_operational_vls(1, rig.now());
  rig.activate();
  rig.worker.run_for(1s);
  EXPECT_EQ(rig.a.port.state(), PortState::kActive);
  EXPECT_EQ(count(rig.a.port, PortCounter::kRxBadLinkPacket), 0);
}

// Counts of 24 bits take two packets, of which either may be lost.
TEST(PortCredit, OfMoreBlocksThanTheStandardsTakesHalvesOfCountsOnlyInPairs) {
  FlowControlTap tap;
  Rig rig({.data_vls = 2, .vl_buffer = 100'000, .credit_format = CreditFormat{.wide = true}});
  rig.link.set_tap(&tap);
  rig.activate();
  ASSERT_GE(tap.seen[0].size(), 2);
  const wire::FlowControl lower = tap.seen[0].back();
  const wire::FlowControl upper = *(tap.seen[0].end() - 2);
  EXPECT_EQ(upper.op, wire::FlowControl::Op::kUpper);
  EXPECT_EQ(std::uint32_t{upper.fccl} << 12 | lower.fccl, 100'000);
  const auto bad = [&] { return count(rig.b.port, PortCounter::kRxBadLinkPacket); };
  ASSERT_EQ(bad(), 0);
  rig.b.port.receive(wire::FlowControl{.fccl = 5}, rig.now());
  EXPECT_EQ(bad(), 1) << "the upper half is lost";
  rig.b.port.receive(upper, rig.now());
  rig.b.port.receive(upper, rig.now());
  EXPECT_EQ(bad(), 1) << "the lower half is lost";
  rig.b.port.receive(lower, rig.now());
  EXPECT_EQ(bad(), 1);
  rig.b.port.receive(lower, rig.now());
  EXPECT_EQ(bad(), 2) << "an upper half is for one packet";
  rig.b.port.receive(upper, rig.now());
  rig.b.port.receive(wire::FlowControl{.vl = Vl{0}, .fccl = 5}, rig.now());
  EXPECT_EQ(bad(), 3) << "and for one lane";
}

TEST(PortCredit, IsTheStandardsWhereOnlyOnePortOffersMore) {
  FlowControlTap tap;
  const PortOptions plain{.data_vls = 1, .vl_buffer = 1024};
  PortOptions extended = plain;
  extended.credit_format = CreditFormat{.scale = 4, .wide = true};
  Rig rig(plain, extended, {});
  rig.link.set_tap(&tap);
  rig.activate();
  EXPECT_EQ(rig.b.port.send_format(), CreditFormat{});
  for (const auto& packet : tap.seen[1]) {
    EXPECT_NE(packet.op, wire::FlowControl::Op::kUpper);
    EXPECT_EQ(packet.fccl, 1024);
  }
  EXPECT_EQ(count(rig.a.port, PortCounter::kRxBadLinkPacket), 0);
  // What nobody has agreed on is refused.
  rig.a.port.receive(wire::FlowControl{.op = wire::FlowControl::Op::kUpper}, rig.now());
  EXPECT_EQ(count(rig.a.port, PortCounter::kRxBadLinkPacket), 1);
}

}  // namespace
}  // namespace weft::link
