// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rig.h"

namespace weft::link {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

// A line on which a packet of 1000 bytes with its delimiters takes a microsecond.
constexpr std::uint64_t kSlow = 1'000'000'000;

TEST(PortTransmit, CountsWhatItSends) {
  Rig rig;
  rig.activate();
  rig.send(rig.a, {.payload = 64});
  rig.send(rig.a, {.dlid = Lid{0xC005}, .payload = 64});
  rig.send(rig.a, {.vl = kVl15, .payload = 264});
  rig.worker.settle();
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxPackets), 3);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxWords), 22 + 22 + 72);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxUnicast), 2);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxMulticast), 1);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxVl15), 1);
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxWords), 22 + 22 + 72);
}

TEST(PortTransmit, WritesTheLaneIntoThePacket) {
  Rig rig;
  rig.activate();
  rig.b.keep = true;
  rig.a.port.transmit(rig.packet({.vl = Vl{0}}), Vl{5}, rig.now());
  rig.worker.settle();
  ASSERT_EQ(rig.b.kept.size(), 1);
  EXPECT_EQ(rig.b.kept[0]->vl(), Vl{5});
  EXPECT_TRUE(rig.b.kept[0]->vcrc_good());
}

TEST(PortTransmit, DropsWhatTheNeighbourCannotTake) {
  Rig rig;
  rig.activate();
  rig.a.port.set_neighbor_mtu(2);  // 512: packets of 636 bytes through the ICRC
  rig.send(rig.a, {.payload = 612, .number = 1});
  rig.send(rig.a, {.payload = 616, .number = 2});
  rig.send(rig.a, {.vl = kVl15, .payload = 356, .number = 3});  // 256, whatever else is set
  rig.send(rig.a, {.vl = kVl15, .payload = 360, .number = 4});
  rig.worker.settle();
  EXPECT_THAT(rig.b.numbers, ElementsAre(1, 3));
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxMtu), 2);
}

TEST(PortTransmit, DropsWhatIsForALaneThatIsNotOperational) {
  Rig rig;
  rig.activate();
  rig.send(rig.a, {.vl = Vl{8}});
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxNoVl), 1);
  EXPECT_EQ(port_xmit_discards(rig.a.port.counters()), 1);
}

TEST(PortTransmit, DropsWhatWaitsOnALaneThatCeases) {
  Rig rig({.vl_buffer = 70});
  rig.activate();
  rig.b.keep = true;
  for (std::uint32_t i = 0; i < 5; ++i)
    rig.send(rig.a, {.vl = Vl{7}, .payload = 1984, .number = i});
  ASSERT_EQ(rig.a.port.backlog(Vl{7}), 3);
  rig.a.port.set_operational_vls(4, rig.now());
  EXPECT_EQ(rig.a.port.backlog(Vl{7}), 0);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxNoVl), 3);
}

TEST(PortTransmit, SendsManagementAheadOfAllThatWaits) {
  Rig rig({}, {.rate_bytes_per_s = kSlow});
  rig.activate();
  rig.send(rig.a, {.payload = 972, .number = 1});  // occupies the line
  rig.send(rig.a, {.payload = 972, .number = 2});
  rig.send(rig.a, {.vl = kVl15, .payload = 264, .number = 3});
  rig.worker.run_for(10us);
  EXPECT_THAT(rig.b.numbers, ElementsAre(1, 3, 2));
}

TEST(PortTransmit, SharesALineAsTheTablesSay) {
  Rig rig({}, {.rate_bytes_per_s = kSlow});
  rig.activate();
  const std::array<VlArbitration::Entry, 2> low{{{Vl{0}, 16}, {Vl{1}, 48}}};  // a packet, three
  rig.a.port.arbitration().set(VlArbitration::Table::kLow, 0, low);
  for (std::uint32_t i = 0; i < 9; ++i) {
    rig.send(rig.a, {.vl = Vl{0}, .payload = 972, .number = i});
    rig.send(rig.a, {.vl = Vl{1}, .payload = 972, .number = 100 + i});
  }
  rig.worker.run_for(8us);
  // The first went before anything else was there.
  EXPECT_THAT(rig.b.numbers, ElementsAre(0, 100, 101, 102, 1, 103, 104, 105));
}

TEST(PortTransmit, KeepsTheOrderOfALane) {
  Rig rig({.vl_buffer = 70});
  rig.activate();
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < 50; ++i) {
    rig.send(rig.a, {.payload = 4 * (i * 37 % 500), .number = i});
    all.push_back(i);
  }
  rig.worker.settle();
  EXPECT_THAT(rig.b.numbers, ElementsAreArray(all));
}

// --- lifetimes, IBA 18.2.5.4 ---------------------------------------------------------------------

class Stuck : public ::testing::Test {
 protected:
  // The other end keeps what it has, so that two packets fill it and the rest waits.
  Stuck() {
    rig.activate();
    rig.b.keep = true;
  }
  void send(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i)
      rig.send(rig.a, {.payload = 1984, .number = i});
    rig.worker.settle();
  }

  Rig rig{{.vl_buffer = 70}};
};

TEST_F(Stuck, WaitsForEverWhereThereIsNoLimit) {
  send(0, 4);
  rig.worker.run_for(1min);
  EXPECT_EQ(rig.a.port.backlog(Vl{0}), 2);
  EXPECT_EQ(port_xmit_discards(rig.a.port.counters()), 0);
}

TEST_F(Stuck, DropsWhatIsTooLongAtTheHead) {
  rig.a.port.set_hoq_life(8);  // 1.048576 ms
  send(0, 4);
  rig.worker.run_for(1048us);
  EXPECT_EQ(rig.a.port.backlog(Vl{0}), 2);
  rig.worker.run_for(1us);
  EXPECT_EQ(rig.a.port.backlog(Vl{0}), 1);  // the next is at the head since now
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxHoqLife), 1);
  rig.worker.run_for(1049us);
  EXPECT_EQ(rig.a.port.backlog(Vl{0}), 0);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxHoqLife), 2);
}

TEST_F(Stuck, DropsWhatIsTooLongInTheSwitchAllAtOnce) {
  rig.a.port.set_switch_life(8);
  send(0, 4);
  rig.worker.run_for(1049us);
  EXPECT_EQ(rig.a.port.backlog(Vl{0}), 0);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxSwitchLife), 2);
}

TEST_F(Stuck, StallsTheLaneAfterSoManyDropsInARow) {
  rig.a.port.set_hoq_life(8);
  rig.a.port.set_vl_stall_count(2);
  send(0, 8);
  rig.worker.run_for(2098us);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxHoqLife), 2);
  EXPECT_EQ(count(rig.a.port, PortCounter::kVlStalls), 1);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxVlStalled), 4);  // all that waited behind
  rig.b.kept.clear();                                          // there is credit again
  rig.worker.settle();
  send(8, 9);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxVlStalled), 5);
  rig.worker.run_for(8 * 1048us);
  rig.b.numbers.clear();
  send(9, 10);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxVlStalled), 6);
  rig.worker.run_for(10us);  // 8 times HOQLife since the stall
  send(10, 11);
  EXPECT_THAT(rig.b.numbers, ElementsAre(10));
}

TEST_F(Stuck, DoesNotStallWhenAPacketGoesInBetween) {
  rig.a.port.set_hoq_life(8);
  rig.a.port.set_vl_stall_count(2);
  for (std::uint32_t round = 0; round < 4; ++round) {
    send(10 * round, 10 * round + 3);
    rig.worker.run_for(1049us);
    rig.b.kept.clear();
    rig.worker.settle();
  }
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxHoqLife), 4);
  EXPECT_EQ(count(rig.a.port, PortCounter::kVlStalls), 0);
}

TEST_F(Stuck, LeavesOtherLanesAlone) {
  rig.a.port.set_hoq_life(8);
  send(0, 4);
  rig.b.numbers.clear();
  rig.send(rig.a, {.vl = Vl{1}, .number = 100});
  rig.worker.settle();
  EXPECT_THAT(rig.b.numbers, ElementsAre(100));
}

TEST_F(Stuck, CountsTheTimeInWhichItWaitsForCredit) {
  send(0, 2);
  rig.worker.run_for(5ms);
  EXPECT_EQ(rig.a.port.transmit_wait(rig.now()), 0ms);
  send(2, 3);
  rig.worker.run_for(3ms);
  EXPECT_EQ(rig.a.port.transmit_wait(rig.now()), 3ms);  // and it is not over
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxWaitNs), 0);
  rig.b.kept.clear();
  rig.worker.run_for(5ms);
  EXPECT_EQ(count(rig.a.port, PortCounter::kTxWaitNs), 3'000'000);
}

TEST(PortTransmit, DoesNotCountTheTimeOfABusyLineAsWaiting) {
  Rig rig({}, {.rate_bytes_per_s = kSlow});
  rig.activate();
  for (std::uint32_t i = 0; i < 10; ++i)
    rig.send(rig.a, {.payload = 972, .number = i});
  rig.worker.run_for(20us);
  ASSERT_EQ(rig.b.numbers.size(), 10);
  EXPECT_EQ(rig.a.port.transmit_wait(rig.now()), 0ns);
}

// A packet that passes through takes space where it came in until it has left.
TEST(PortTransmit, GivesSpaceBackWhereAPacketCameInWhenItLeaves) {
  Rig in({.vl_buffer = 70});
  Rig out({.vl_buffer = 70});
  in.activate();
  out.activate();
  in.b.keep = true;
  out.b.keep = true;
  for (std::uint32_t i = 0; i < 6; ++i)
    in.send(in.a, {.payload = 1984, .number = i});
  const auto forward = [&] {
    in.worker.settle();
    for (PacketPtr& packet : in.b.kept)
      out.a.port.transmit(std::move(packet), Vl{0}, out.now());
    in.b.kept.clear();
    out.worker.settle();
    in.worker.settle();
  };
  for (int i = 0; i < 5; ++i)
    forward();
  // Two at the far end, two waiting in between, two not sent for lack of credit.
  EXPECT_EQ(out.b.numbers.size(), 2);
  EXPECT_EQ(out.a.port.backlog(Vl{0}), 2);
  EXPECT_EQ(in.a.port.backlog(Vl{0}), 2);
  out.b.kept.clear();
  for (int i = 0; i < 5; ++i) {
    out.worker.settle();
    forward();
  }
  EXPECT_THAT(out.b.numbers, ElementsAre(0, 1, 2, 3));
  out.a.port.connect(nullptr, out.now());  // what waits there came in over the other link
}

}  // namespace
}  // namespace weft::link
