// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rig.h"

namespace weft::link {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(PortState, IsInitializeAtBothEndsOnceTheLinkIsTrained) {
  Rig rig;
  EXPECT_EQ(rig.a.port.state(), PortState::kDown);
  rig.worker.settle();
  for (const Station* const each : {&rig.a, &rig.b}) {
    EXPECT_EQ(each->port.state(), PortState::kInitialize);
    EXPECT_EQ(each->port.physical_state(), PortPhysicalState::kLinkUp);
    EXPECT_THAT(each->changes, ElementsAre(Pair(PortState::kDown, PortState::kInitialize)));
  }
}

TEST(PortState, TrainsForAsLongAsTheLinkIsSaidTo) {
  Worker worker;
  BufferPool payloads{PacketPool::kPayloadBlock, 10};
  PacketPool pool{10, payloads};
  DirectLink link(pool, 20ms);
  Station a(worker, {});
  Station b(worker, {});
  link.join(a.port, b.port, worker.now());
  worker.run_for(19ms);
  EXPECT_EQ(a.port.state(), PortState::kDown);
  worker.run_for(1ms);
  EXPECT_EQ(a.port.state(), PortState::kInitialize);
  EXPECT_EQ(b.port.state(), PortState::kInitialize);
}

TEST(PortState, GoesUpOneCommandAtATime) {
  Rig rig;
  Port& port = rig.a.port;
  EXPECT_FALSE(port.set_state(PortState::kArmed, rig.now()));
  rig.worker.settle();
  EXPECT_FALSE(port.set_state(PortState::kActive, rig.now()));
  EXPECT_FALSE(port.set_state(PortState::kInitialize, rig.now()));
  EXPECT_TRUE(port.set_state(PortState::kArmed, rig.now()));
  EXPECT_EQ(port.state(), PortState::kArmed);
  EXPECT_TRUE(port.set_state(PortState::kArmed, rig.now()));
  EXPECT_FALSE(port.set_state(PortState::kInitialize, rig.now()));
  EXPECT_EQ(port.state(), PortState::kArmed);
}

TEST(PortState, IsActiveOnlyWhenTheOtherEndIsArmedToo) {
  Rig rig;
  rig.worker.settle();
  rig.a.port.set_state(PortState::kArmed, rig.now());
  EXPECT_TRUE(rig.a.port.set_state(PortState::kActive, rig.now()));
  rig.worker.run_for(1s);
  EXPECT_EQ(rig.a.port.state(), PortState::kArmed);
  rig.b.port.set_state(PortState::kArmed, rig.now());
  rig.worker.settle();
  EXPECT_EQ(rig.a.port.state(), PortState::kActive);
  EXPECT_EQ(rig.b.port.state(), PortState::kArmed);
}

TEST(PortState, IsActiveWhenADataPacketComesInArmed) {
  Rig rig;
  rig.worker.settle();
  rig.a.port.set_state(PortState::kArmed, rig.now());
  rig.b.port.set_state(PortState::kArmed, rig.now());
  rig.worker.settle();
  rig.a.port.set_state(PortState::kActive, rig.now());
  ASSERT_EQ(rig.b.port.state(), PortState::kArmed);
  rig.send(rig.a, {.vl = kVl15, .payload = 264, .number = 1});
  rig.worker.settle();
  EXPECT_EQ(rig.b.port.state(), PortState::kArmed);  // management does not count
  rig.send(rig.a, {.number = 2});
  rig.worker.settle();
  EXPECT_EQ(rig.b.port.state(), PortState::kActive);
  EXPECT_THAT(rig.b.numbers, ElementsAre(1, 2));
}

TEST(PortState, AllowsManagementPacketsOnlyBeforeActive) {
  Rig rig;
  rig.send(rig.a, {.vl = kVl15, .number = 1});
  rig.worker.settle();
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxInactive), 1);
  for (const PortState state : {PortState::kInitialize, PortState::kArmed}) {
    if (state == PortState::kArmed) rig.a.port.set_state(state, rig.now());
    rig.send(rig.a, {.vl = kVl15, .number = 2});
    rig.send(rig.a, {.number = 3});
    rig.worker.settle();
  }
  EXPECT_THAT(rig.b.numbers, ElementsAre(2, 2));
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxInactive), 3);
}

TEST(PortState, TakesTheOtherEndDownAndUpWhenItIsCommandedDown) {
  Rig rig;
  rig.activate();
  ASSERT_TRUE(rig.a.port.set_state(PortState::kDown, rig.now()));
  EXPECT_EQ(rig.a.port.state(), PortState::kDown);
  rig.worker.settle();
  EXPECT_EQ(rig.a.port.state(), PortState::kInitialize);
  EXPECT_EQ(rig.b.port.state(), PortState::kInitialize);
  EXPECT_THAT(rig.b.changes, ElementsAre(Pair(PortState::kDown, PortState::kInitialize),
                                         Pair(PortState::kInitialize, PortState::kArmed),
                                         Pair(PortState::kArmed, PortState::kActive),
                                         Pair(PortState::kActive, PortState::kDown),
                                         Pair(PortState::kDown, PortState::kInitialize)));
  EXPECT_EQ(count(rig.b.port, PortCounter::kLinkDowned), 1);
}

TEST(PortState, StaysDownWhereItsDefaultIsSleep) {
  Rig rig;
  rig.activate();
  rig.a.port.set_link_down_default(PortPhysicalState::kSleep);
  rig.a.port.set_state(PortState::kDown, rig.now());
  rig.worker.run_for(10s);
  EXPECT_EQ(rig.a.port.physical_state(), PortPhysicalState::kSleep);
  EXPECT_EQ(rig.b.port.physical_state(), PortPhysicalState::kPolling);
  EXPECT_EQ(rig.b.port.state(), PortState::kDown);
}

TEST(PortState, IsDisabledUntilItMayPollAgain) {
  Rig rig;
  rig.activate();
  rig.a.port.set_physical_state(PortPhysicalState::kDisabled, rig.now());
  rig.worker.settle();
  EXPECT_EQ(rig.a.port.physical_state(), PortPhysicalState::kDisabled);
  EXPECT_EQ(rig.a.port.state(), PortState::kDown);
  EXPECT_EQ(rig.b.port.state(), PortState::kDown);
  rig.a.port.set_physical_state(PortPhysicalState::kPolling, rig.now());
  rig.worker.settle();
  EXPECT_EQ(rig.a.port.state(), PortState::kInitialize);
  EXPECT_EQ(rig.b.port.state(), PortState::kInitialize);
}

TEST(PortState, LosesTheLinkWhenTheCableGoes) {
  Rig rig;
  rig.activate();
  rig.send(rig.a, {.number = 1});  // on its way
  rig.link.set_plugged(false, rig.now());
  rig.worker.settle();
  EXPECT_EQ(rig.a.port.state(), PortState::kDown);
  EXPECT_EQ(rig.b.port.state(), PortState::kDown);
  EXPECT_THAT(rig.b.numbers, IsEmpty());
  EXPECT_EQ(rig.link.counters().get(LinkCounter::kDown), 1);
  rig.link.set_plugged(true, rig.now());
  rig.activate();
  rig.send(rig.a, {.number = 2});
  rig.worker.settle();
  EXPECT_THAT(rig.b.numbers, ElementsAre(2));
}

TEST(PortState, SeesAFlapThatIsOverBeforeItLooks) {
  Rig rig;
  rig.activate();
  rig.link.set_plugged(false, rig.now());
  rig.link.set_plugged(true, rig.now());
  rig.worker.settle();
  EXPECT_EQ(rig.a.port.state(), PortState::kInitialize);
  EXPECT_EQ(rig.b.port.state(), PortState::kInitialize);
  EXPECT_EQ(count(rig.a.port, PortCounter::kLinkDowned), 1);
}

TEST(PortState, DropsAndCountsWhatWaitedWhenTheLinkGoes) {
  Rig rig({.vl_buffer = 80});
  rig.activate();
  rig.b.keep = true;
  for (std::uint32_t i = 0; i < 8; ++i)
    rig.send(rig.a, {.payload = 2048, .number = i});  // 33 blocks each
  rig.worker.settle();
  ASSERT_EQ(rig.a.port.backlog(Vl{0}), 6);
  rig.link.set_plugged(false, rig.now());
  rig.worker.settle();
  EXPECT_EQ(rig.a.port.backlog(Vl{0}), 0);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxLinkLost), 6);
}

TEST(PortState, BeginsAnewWhenTheOtherEndDoes) {
  Rig rig;
  rig.activate();
  rig.a.port.receive(wire::FlowControl{.op = wire::FlowControl::Op::kInitialize, .fccl = 100},
                     rig.now());
  EXPECT_EQ(rig.a.port.state(), PortState::kInitialize);
  EXPECT_EQ(count(rig.a.port, PortCounter::kRemoteInit), 1);
}

TEST(PortState, SaysNothingWhileNothingHappens) {
  Rig rig;
  rig.activate();
  const int wakes = rig.a.wakes + rig.b.wakes;
  EXPECT_EQ(rig.worker.next_deadline(), std::nullopt);
  rig.worker.run_for(1h);
  EXPECT_EQ(rig.a.wakes + rig.b.wakes, wakes);
}

}  // namespace
}  // namespace weft::link
