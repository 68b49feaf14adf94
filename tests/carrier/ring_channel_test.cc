// SPDX-License-Identifier: Apache-2.0
// Two ports with rings between them: a link as any other.
#include "carrier/ring_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "half_links.h"
#include "two_rings.h"

namespace weft::carrier {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr link::PortOptions kRoomy{.vl_buffer = 60'000, .credit_period = 1s};

// Brings the two ends together as soon as both look for each other, as a daemon does.
class RingPair final : private RingHost {
 public:
  explicit RingPair(const link::PortOptions& options = {}, const link::Emulation& emulation = {})
      : links(options, emulation) {
    links.left.set_channel(&left, links.now());
    links.right.set_channel(&right, links.now());
    settle();
  }
  ~RingPair() override {
    links.left.set_channel(nullptr, links.now());
    links.right.set_channel(nullptr, links.now());
  }

  void settle() {
    do {
      links.worker.settle();
      if (left.seeks() && right.seeks() && !left.is_open() && !right.is_open()) connect();
      static_cast<void>(left.flush());
      static_cast<void>(right.flush());
    } while (left.poll(links.now()) || right.poll(links.now()) || links.worker.has_woken());
  }
  void run_for(Duration time) {
    const Time end = links.now() + time;
    for (settle(); links.now() < end; settle()) {
      const auto next = links.worker.next_deadline();
      links.worker.run_until(next ? std::min(std::max(*next, links.now()), end) : end);
      if (next && *next > end) break;
    }
    settle();
  }
  void activate() {
    settle();
    for (const PortState state : {PortState::kArmed, PortState::kActive}) {
      links.set_both(state);
      run_for(links.left.emulation().delay + 1ms);
    }
    ASSERT_EQ(links.a.port.state(), PortState::kActive);
    ASSERT_EQ(links.b.port.state(), PortState::kActive);
  }

  HalfLinks links;
  RingChannel left{*this};
  RingChannel right{*this};
  std::unique_ptr<RingMemory> left_memory, right_memory;

 private:
  void connect() {
    left_memory = std::make_unique<RingMemory>();
    right_memory = std::make_unique<RingMemory>();
    left.open(std::make_unique<RingEnd>(*left_memory, *right_memory), right.training(),
              links.now());
    right.open(std::make_unique<RingEnd>(*right_memory, *left_memory), left.training(),
               links.now());
  }
  void seek_changed(RingChannel& channel, bool seek, Time now) override {
    // The other end sees the connection go.
    if (!seek) (&channel == &left ? right : left).close(now);
  }
  void touched(RingChannel&) override {}
};

TEST(RingChannel, IsALinkThatASubnetManagerBringsUp) {
  RingPair pair;
  EXPECT_EQ(pair.links.a.port.state(), PortState::kInitialize);
  EXPECT_EQ(pair.links.b.port.state(), PortState::kInitialize);
  pair.activate();
  for (std::uint32_t i = 0; i < 3; ++i)
    pair.links.send(pair.links.a, {.number = i});
  pair.settle();
  EXPECT_THAT(pair.links.b.numbers, ElementsAre(0, 1, 2));
}

TEST(RingChannel, BringsWhatThePortLetsTheLinkTrainTo) {
  RingPair pair;
  pair.links.b_training.own = {.widths = 1, .speeds = 3, .extended_speeds = 0};
  pair.settle();
  pair.links.left.set_plugged(false, pair.links.now());
  pair.settle();
  pair.links.left.set_plugged(true, pair.links.now());
  pair.settle();
  EXPECT_EQ(pair.links.a_training.far, pair.links.b_training.own);
  EXPECT_EQ(pair.links.b_training.far, pair.links.a_training.own);
}

TEST(RingChannel, KeepsToTheCreditsOfTheOtherEnd) {
  RingPair pair;
  pair.activate();
  pair.links.b.keep = true;
  for (std::uint32_t i = 0; i < 1000; ++i)
    pair.links.send(pair.links.a, {.payload = 1024, .number = i});
  pair.run_for(1s);
  EXPECT_LT(pair.links.b.numbers.size(), 100);
  EXPECT_EQ(link::count(pair.links.b.port, link::PortCounter::kRxOverrun), 0);
  while (pair.links.b.numbers.size() < 1000) {
    ASSERT_FALSE(pair.links.b.kept.empty());
    pair.links.b.kept.clear();
    pair.run_for(1ms);
  }
  std::vector<std::uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_THAT(pair.links.b.numbers, ElementsAreArray(all));
}

TEST(RingChannel, WaitsWhileTheRingIsFull) {
  RingPair pair(kRoomy);
  pair.activate();
  constexpr std::uint32_t kMore = 2 * kRingBytes / 4096;
  for (std::uint32_t i = 0; i < kMore; ++i)
    pair.links.send(pair.links.a,
                    {.vl = Vl{static_cast<std::uint8_t>(i % 8)}, .payload = 4096, .number = i});
  pair.links.worker.settle();
  EXPECT_FALSE(pair.left.ready());
  pair.settle();
  EXPECT_EQ(pair.links.b.numbers.size(), kMore);
  EXPECT_EQ(pair.left.counters().get(RingCounter::kNoRoom), 0);
}

TEST(RingChannel, TakesTheLinkDownAtBothEndsAndUpAgain) {
  RingPair pair;
  pair.activate();
  pair.links.left.set_plugged(false, pair.links.now());
  pair.settle();
  EXPECT_EQ(pair.links.a.port.state(), PortState::kDown);
  EXPECT_EQ(pair.links.b.port.state(), PortState::kDown);
  pair.links.left.set_plugged(true, pair.links.now());
  pair.activate();
  pair.links.send(pair.links.b, {.number = 9});
  pair.settle();
  EXPECT_THAT(pair.links.a.numbers, ElementsAre(9));
}

TEST(RingChannel, TrainsAnewWhenASubnetManagerSaysSo) {
  RingPair pair;
  pair.activate();
  pair.links.b.port.set_state(PortState::kDown, pair.links.now());
  pair.settle();
  EXPECT_EQ(pair.links.a.port.state(), PortState::kInitialize);
  EXPECT_EQ(pair.links.b.port.state(), PortState::kInitialize);
  EXPECT_EQ(link::count(pair.links.a.port, link::PortCounter::kLinkDowned), 1);
}

TEST(RingChannel, BringsNothingOfAnEarlierConnection) {
  RingPair pair;
  pair.activate();
  pair.links.send(pair.links.a, {.number = 1});
  pair.links.worker.settle();  // it is in the ring
  pair.links.right.set_plugged(false, pair.links.now());
  pair.links.right.set_plugged(true, pair.links.now());
  pair.activate();
  EXPECT_THAT(pair.links.b.numbers, IsEmpty());
}

TEST(RingChannel, GoesDownWithALyingEndAndSaysWhy) {
  RingPair pair;
  pair.activate();
  pair.left_memory->written += 4;
  pair.right.poll(pair.links.now());
  EXPECT_FALSE(pair.right.is_open());
  EXPECT_TRUE(pair.right.lie());
  EXPECT_EQ(pair.right.counters().get(RingCounter::kLies), 1);
  pair.links.worker.settle();
  EXPECT_EQ(pair.links.b.port.state(), PortState::kDown);
}

TEST(HalfLink, EmulatesADelayInEachDirection) {
  RingPair pair(kRoomy, {.delay = 5ms});
  pair.activate();
  pair.run_for(100ms);
  pair.links.send(pair.links.a, {.number = 1});
  pair.run_for(4999us);
  EXPECT_THAT(pair.links.b.numbers, IsEmpty());
  pair.run_for(1us);
  EXPECT_THAT(pair.links.b.numbers, ElementsAre(1));
}

TEST(HalfLink, FlapsForBothEnds) {
  RingPair pair(kRoomy, {.flap = 9ms, .outage = 1ms});
  pair.run_for(1s);
  for (const link::Station* const each : {&pair.links.a, &pair.links.b})
    EXPECT_NEAR(static_cast<double>(count(each->port, link::PortCounter::kLinkUps)), 100, 15);
}

TEST(HalfLink, HandsOnNoFasterThanASlowReceiverTakes) {
  RingPair pair(kRoomy, {.drain_bytes_per_s = 998'000'000});
  pair.activate();
  pair.run_for(1ms);
  for (std::uint32_t i = 0; i < 100; ++i)
    pair.links.send(pair.links.a, {.payload = 972, .number = i});
  pair.run_for(50us);
  EXPECT_EQ(pair.links.b.numbers.size(), 50);
  pair.run_for(50us);
  EXPECT_EQ(pair.links.b.numbers.size(), 100);
}

// A worker asks a port for its deadline only after it has woken it.
TEST(HalfLink, WakesItsPortWhenTheLineHoldsAPacket) {
  RingPair pair(kRoomy, {.delay = 5ms});
  pair.activate();
  pair.run_for(100ms);
  const int before = pair.links.a.wakes;
  pair.links.send(pair.links.a, {.number = 1});
  EXPECT_GT(pair.links.a.wakes, before);
}

TEST(HalfLink, CarriesNoMoreThanItsRate) {
  RingPair pair(kRoomy, {.rate_bytes_per_s = 1'000'000'000});
  pair.activate();
  pair.run_for(1ms);
  for (std::uint32_t i = 0; i < 100; ++i)
    pair.links.send(pair.links.a, {.payload = 972, .number = i});
  pair.run_for(50us);
  EXPECT_EQ(pair.links.b.numbers.size(), 50);
  pair.run_for(50us);
  EXPECT_EQ(pair.links.b.numbers.size(), 100);
}

TEST(HalfLink, DamagesWhatItCarriesAndThePortFindsIt) {
  RingPair pair(kRoomy);
  pair.activate();
  pair.links.left.set_emulation({.bit_errors = 1e-4, .seed = 5}, pair.links.now());
  for (std::uint32_t i = 0; i < 500; ++i)
    pair.links.send(pair.links.a, {.payload = 256, .number = i});
  pair.run_for(10ms);
  const auto bad = link::count(pair.links.b.port, link::PortCounter::kRxBadVcrc);
  EXPECT_GT(bad, 20);
  EXPECT_EQ(pair.links.b.numbers.size() + bad, 500);
}

TEST(HalfLink, DamagesFlowControlTooAndThePortFindsIt) {
  RingPair pair;
  pair.activate();
  pair.links.left.set_emulation({.bit_errors = 1e-2, .seed = 5}, pair.links.now());
  for (std::uint32_t i = 0; i < 500; ++i)
    pair.links.send(pair.links.b, {.payload = 256, .number = i});
  pair.run_for(1s);
  EXPECT_GT(link::count(pair.links.b.port, link::PortCounter::kRxBadLpcrc), 0);
  EXPECT_EQ(pair.links.a.numbers.size(), 500);
}

TEST(HalfLink, WhenHealedSendsWhatWasOnTheLineFirst) {
  RingPair pair(kRoomy, {.delay = 5ms});
  pair.activate();
  pair.links.send(pair.links.a, {.number = 1});
  pair.links.left.set_emulation({}, pair.links.now());
  pair.links.send(pair.links.a, {.number = 2});
  pair.run_for(10ms);
  EXPECT_THAT(pair.links.b.numbers, ElementsAre(1, 2));
}

TEST(HalfLink, CountsWhatIsLostWhenItGoesDown) {
  RingPair pair(kRoomy, {.delay = 5ms});
  pair.activate();
  pair.links.send(pair.links.a, {.number = 1});
  pair.links.worker.settle();
  pair.links.left.set_plugged(false, pair.links.now());
  EXPECT_EQ(pair.links.left.counters().get(link::LinkCounter::kDown), 1);
}

struct Tap final : link::LinkTap {
  void sent(std::size_t from, const link::Packet& packet, Time) override {
    seen.emplace_back(from, link::number_of(packet));
  }
  void sent(std::size_t, const wire::FlowControl&, Time) override {}
  std::vector<std::pair<std::size_t, std::uint32_t>> seen;
};

TEST(HalfLink, ShowsATapBothDirections) {
  RingPair pair;
  pair.activate();
  Tap tap;
  pair.links.left.set_tap(&tap);
  pair.links.send(pair.links.a, {.number = 1});
  pair.settle();
  pair.links.send(pair.links.b, {.number = 2});
  pair.settle();
  EXPECT_THAT(tap.seen, ElementsAre(std::pair{0, 1}, std::pair{1, 2}));
}

}  // namespace
}  // namespace weft::carrier
