// SPDX-License-Identifier: Apache-2.0
// What a link between two ports does to what it carries.
#include "link/direct_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "rig.h"

namespace weft::link {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

// Larger than anything here sends, so that credit is no matter.
constexpr PortOptions kRoomy{.vl_buffer = 60'000, .credit_period = 1s};

std::vector<std::uint32_t> numbers(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

void send_many(Rig& rig, std::uint32_t packets, std::size_t payload = 64) {
  for (std::uint32_t i = 0; i < packets; ++i)
    rig.send(rig.a, {.payload = payload, .number = i});
}

TEST(DirectLink, DeliversNothingFromInsideOfASend) {
  Rig rig;
  rig.activate();
  rig.send(rig.a, {.number = 1});
  EXPECT_THAT(rig.b.numbers, IsEmpty());
  rig.b.port.run(rig.now());
  EXPECT_THAT(rig.b.numbers, ElementsAre(1));
}

TEST(DirectLink, TakesAsLongAsItsDelaySays) {
  Rig rig(kRoomy, {.delay = 5ms});
  rig.activate();
  rig.worker.run_for(100ms);
  rig.send(rig.a, {.number = 1});
  rig.worker.run_for(4999us);
  EXPECT_THAT(rig.b.numbers, IsEmpty());
  rig.worker.run_for(1us);
  EXPECT_THAT(rig.b.numbers, ElementsAre(1));
}

TEST(DirectLink, CarriesNoMoreThanItsRate) {
  Rig rig(kRoomy, {.rate_bytes_per_s = 1'000'000'000});
  rig.activate();
  rig.worker.run_for(1ms);
  send_many(rig, 100, 972);  // 998 bytes and two delimiters: a microsecond each
  rig.worker.run_for(50us);
  EXPECT_EQ(rig.b.numbers.size(), 50);
  rig.worker.run_for(50us);
  EXPECT_EQ(rig.b.numbers.size(), 100);
}

TEST(DirectLink, GivesEachDirectionItsRate) {
  Rig rig(kRoomy, {.rate_bytes_per_s = 1'000'000'000});
  rig.activate();
  rig.worker.run_for(1ms);
  for (std::uint32_t i = 0; i < 50; ++i) {
    rig.send(rig.a, {.payload = 972, .number = i});
    rig.send(rig.b, {.payload = 972, .number = i});
  }
  rig.worker.run_for(51us);
  EXPECT_EQ(rig.a.numbers.size(), 50);
  EXPECT_EQ(rig.b.numbers.size(), 50);
}

TEST(DirectLink, LosesAsManyAsItIsToldToAndCountsThem) {
  Rig rig(kRoomy);
  rig.activate();
  rig.link.set_emulation({.loss = 0.25, .seed = 3}, rig.now());
  send_many(rig, 4'000);
  rig.worker.run_for(1min);  // credit is at most 2048 blocks at a time
  const auto lost = rig.link.counters().get(LinkCounter::kLost);
  EXPECT_NEAR(static_cast<double>(lost), 1'000, 120);
  EXPECT_EQ(rig.b.numbers.size() + lost, 4'000);
  EXPECT_TRUE(std::is_sorted(rig.b.numbers.begin(), rig.b.numbers.end()));
}

TEST(DirectLink, DamagesPacketsSoThatThePortNotices) {
  Rig rig(kRoomy);
  rig.activate();
  rig.link.set_emulation({.bit_errors = 1e-4, .seed = 5}, rig.now());
  send_many(rig, 2'000, 224);  // 250 bytes: one in five
  rig.worker.run_for(1min);
  const auto damaged = rig.link.counters().get(LinkCounter::kDamaged);
  EXPECT_NEAR(static_cast<double>(damaged), 400, 80);
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxBadVcrc) +
                count(rig.b.port, PortCounter::kRxBadLpcrc) +
                count(rig.a.port, PortCounter::kRxBadLpcrc),
            damaged);
  EXPECT_EQ(rig.b.numbers.size() + count(rig.b.port, PortCounter::kRxBadVcrc), 2'000);
}

TEST(DirectLink, DamagesACopyOfAPayloadThatIsShared) {
  Rig rig(kRoomy);
  rig.activate();
  rig.link.set_emulation({.bit_errors = 1}, rig.now());
  PacketPtr packet = rig.packet({.payload = 2048, .number = 1});
  const PacketPtr other = rig.pool.replicate(*packet);
  rig.a.port.transmit(std::move(packet), Vl{0}, rig.now());
  rig.worker.settle();
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxBadVcrc), 1);
  EXPECT_TRUE(other->vcrc_good());
}

TEST(DirectLink, DeliversTwiceWhatItDuplicates) {
  Rig rig(kRoomy);
  rig.activate();
  rig.link.set_emulation({.duplicate = 0.5, .seed = 2}, rig.now());
  send_many(rig, 100);
  rig.worker.settle();
  const auto doubled = rig.link.counters().get(LinkCounter::kDuplicated);
  EXPECT_GT(doubled, 20);
  EXPECT_EQ(rig.b.numbers.size(), 100 + doubled);
}

TEST(DirectLink, LetsTheNextOvertakeWhatItReorders) {
  Rig rig(kRoomy);
  rig.activate();
  rig.link.set_emulation({.reorder = 0.3, .seed = 2}, rig.now());
  send_many(rig, 100);
  rig.worker.run_for(1ms);
  EXPECT_GT(rig.link.counters().get(LinkCounter::kReordered), 10);
  EXPECT_FALSE(std::is_sorted(rig.b.numbers.begin(), rig.b.numbers.end()));
  EXPECT_THAT(rig.b.numbers, UnorderedElementsAreArray(numbers(100)));
}

TEST(DirectLink, DeliversWhatIsToBeOvertakenEvenIfNothingFollows) {
  Rig rig(kRoomy);
  rig.activate();
  rig.link.set_emulation({.reorder = 1}, rig.now());
  rig.send(rig.a, {.number = 1});
  rig.worker.settle();
  EXPECT_THAT(rig.b.numbers, IsEmpty());
  rig.worker.run_for(1ms);
  EXPECT_THAT(rig.b.numbers, ElementsAre(1));
}

TEST(DirectLink, KeepsTheOrderWhenItsDelayIsCutShort) {
  Rig rig(kRoomy, {.delay = 50ms});
  rig.activate();
  rig.worker.run_for(200ms);
  rig.send(rig.a, {.number = 0});
  rig.link.set_emulation({.delay = 1ms}, rig.now());
  rig.send(rig.a, {.number = 1});
  rig.link.set_emulation({}, rig.now());
  rig.send(rig.a, {.number = 2});
  rig.worker.run_for(10ms);
  EXPECT_THAT(rig.b.numbers, IsEmpty());
  rig.worker.run_for(40ms);
  EXPECT_THAT(rig.b.numbers, ElementsAreArray(numbers(3)));
}

TEST(DirectLink, LosesWhatIsOnItsWayWhenItGoesDown) {
  Rig rig(kRoomy, {.delay = 5ms, .reorder = 0.2});
  rig.activate();
  rig.worker.run_for(100ms);
  send_many(rig, 20);
  rig.link.set_plugged(false, rig.now());
  rig.worker.run_for(1s);
  EXPECT_THAT(rig.b.numbers, IsEmpty());
  EXPECT_EQ(rig.link.counters().get(LinkCounter::kDown), 20);
  EXPECT_EQ(rig.pool.in_use(), 0);
}

TEST(DirectLink, DoesTheSameAgainForTheSameSeed) {
  const auto run = [](std::uint64_t seed) {
    Rig rig(kRoomy);
    rig.activate();
    rig.link.set_emulation(
        {.loss = 0.1, .bit_errors = 1e-4, .duplicate = 0.1, .reorder = 0.1, .seed = seed},
        rig.now());
    send_many(rig, 500);
    rig.worker.run_for(1ms);
    return rig.b.numbers;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(DirectLink, ShowsItsTapWhatItCarriesAsItWasSent) {
  struct Tap : LinkTap {
    void sent(std::size_t from, const Packet& packet, Time) override {
      EXPECT_TRUE(packet.vcrc_good());
      seen.push_back({from, number_of(packet)});
    }
    void sent(std::size_t, const wire::FlowControl&, Time) override { ++signals; }
    std::vector<std::pair<std::size_t, std::uint32_t>> seen;
    int signals = 0;
  };
  Tap tap;
  Rig rig;
  rig.link.set_tap(&tap);
  rig.activate();
  rig.link.set_emulation({.loss = 1}, rig.now());
  rig.send(rig.a, {.number = 1});
  rig.send(rig.b, {.number = 2});
  EXPECT_THAT(tap.seen, ElementsAre(testing::Pair(0, 1), testing::Pair(1, 2)));
  EXPECT_EQ(tap.signals, 2 * 2 * 8);  // Initialize, then Armed
}

TEST(DirectLink, LetsOtherPortsHaveTheirTurnWhenMuchArrives) {
  Rig rig(kRoomy);
  rig.activate();
  send_many(rig, 1'000);
  rig.b.port.run(rig.now());
  EXPECT_LT(rig.b.numbers.size(), 1'000);
  rig.worker.settle();
  EXPECT_EQ(rig.b.numbers.size(), 1'000);
}

TEST(DirectLink, HandsOnNoFasterThanASlowReceiverTakes) {
  Rig rig(kRoomy, {.drain_bytes_per_s = 998'000'000});
  rig.activate();
  rig.worker.run_for(1ms);
  send_many(rig, 100, 972);  // 998 bytes: a microsecond each
  rig.worker.run_for(50us);
  EXPECT_EQ(rig.b.numbers.size(), 50U);
  rig.link.set_emulation({}, rig.now());
  rig.worker.settle();
  EXPECT_THAT(rig.b.numbers, ElementsAreArray(numbers(100)));
}

TEST(DirectLink, HoldsUpTheSenderOfASlowReceiverAndLosesNothing) {
  Rig rig({}, {.drain_bytes_per_s = 998'000'000});
  rig.activate();
  rig.worker.run_for(1ms);
  send_many(rig, 1000, 972);
  rig.worker.run_for(100us);
  const std::size_t buffered = PortOptions{}.vl_buffer / 16;  // packets of 16 blocks
  EXPECT_GE(rig.a.port.backlog(Vl{0}), 1000 - 100 - buffered);
  EXPECT_EQ(rig.b.port.receive_room(Vl{0}) / 16, 0U);
  rig.worker.run_for(1ms);
  EXPECT_THAT(rig.b.numbers, ElementsAreArray(numbers(1000)));
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxOverrun), 0U);
}

TEST(DirectLink, HandsOnWhatHadArrivedWhenTheCableWasPulled) {
  Rig rig(kRoomy, {.drain_bytes_per_s = 998'000'000});
  rig.activate();
  send_many(rig, 10, 972);
  rig.worker.run_for(1us);
  rig.link.set_plugged(false, rig.now());
  rig.worker.run_for(20us);
  EXPECT_EQ(rig.b.port.state(), PortState::kDown);
  EXPECT_THAT(rig.b.numbers, ElementsAreArray(numbers(10)));
}

// When the link came up, in the second after it was joined.
std::vector<Duration> times_up(const Emulation& emulation) {
  Rig rig(kRoomy, emulation);
  const Time start = rig.now();
  std::vector<Duration> times;
  while (rig.now() < start + 1s) {
    const std::size_t before = rig.b.changes.size();
    rig.worker.run_until(rig.worker.next_deadline().value_or(start + 1s));
    for (std::size_t i = before; i < rig.b.changes.size(); ++i) {
      if (rig.b.changes[i].first == PortState::kDown) times.push_back(rig.now() - start);
    }
  }
  return times;
}

TEST(DirectLink, FlapsBySeed) {
  const Emulation flaps{.flap = 9ms, .outage = 1ms, .seed = 3};
  const auto times = times_up(flaps);
  EXPECT_NEAR(static_cast<double>(times.size()), 100, 15);
  for (std::size_t i = 1; i < times.size(); ++i) {
    EXPECT_GE(times[i] - times[i - 1], 5500us);
    EXPECT_LE(times[i] - times[i - 1], 14500us);
  }
  EXPECT_EQ(times_up(flaps), times);
  EXPECT_NE(times_up({.flap = 9ms, .outage = 1ms, .seed = 4}), times);
}

TEST(DirectLink, StaysInWhenItFlapsNoMore) {
  Rig rig(kRoomy, {.flap = 1ms, .outage = 1s});
  rig.worker.run_for(2ms);
  EXPECT_FALSE(rig.link.up(rig.now()));
  EXPECT_TRUE(rig.link.plugged()) << "nobody has pulled it";
  rig.link.set_emulation({}, rig.now());
  rig.worker.run_for(100s);
  EXPECT_TRUE(rig.link.up(rig.now()));
  EXPECT_EQ(rig.b.port.state(), PortState::kInitialize);
}

}  // namespace
}  // namespace weft::link
