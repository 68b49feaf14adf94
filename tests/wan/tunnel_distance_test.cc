// SPDX-License-Identifier: Apache-2.0
// What a tunnel keeps of the rate over any distance.
#include <gtest/gtest.h>

#include <algorithm>

#include "tunnel_world.h"
#include "wan/plan.h"

namespace weft::wan {
namespace {

struct Measured {
  double bytes_per_s = 0;
  std::uint64_t most_buffered = 0;
};

constexpr std::uint64_t kRate = 100'000'000;

Measured measure(Duration round_trip, std::uint64_t fifo, double loss = 0) {
  WorldOptions options;
  options.buffer.lane_bytes = fifo;
  options.wan = {
      .delay = round_trip / 2, .loss = loss, .rate_bytes_per_s = kRate, .longest_frame = 8192};
  World world(options);
  EXPECT_TRUE(world.activate()) << world.describe();
  const auto send_for = [&](Duration time) {
    const Time end = world.now() + time;
    while (world.now() < end) {
      world.sites[0]->keep_full(Vl{0}, 2048, 64);
      world.run_for(200us);
    }
  };
  send_for(5 * round_trip + 100ms);
  const std::uint64_t before = world.sites[1]->came_bytes;
  const Time began = world.now();
  send_for(1s);
  EXPECT_EQ(world.count(TunnelCounter::kRxOverrun), 0);
  const double seconds = std::chrono::duration<double>(world.now() - began).count();
  return {.bytes_per_s = static_cast<double>(world.sites[1]->came_bytes - before) / seconds,
          .most_buffered = world.buffers[1]->share(0).fifo(Vl{0}).most_used() * 64};
}

TEST(Distance, OfTwoHundredMillisecondsKeepsTheRateOfNone) {
  const std::uint64_t product = kRate / 5;
  const Measured near = measure(0ms, product * 12 / 10);
  const Measured far = measure(200ms, product * 12 / 10);
  EXPECT_GT(near.bytes_per_s, 0.95 * kRate);
  EXPECT_GE(far.bytes_per_s, 0.95 * near.bytes_per_s);
  EXPECT_LE(far.most_buffered, product * 12 / 10);
}

// A line as long as `plan` says, whose lanes have so many bytes each.
WorldOptions planned(const Plan& plan, std::uint64_t lane_bytes) {
  WorldOptions options;
  options.buffer.lane_bytes = lane_bytes;
  options.wan = {.delay = plan.one_way,
                 .rate_bytes_per_s = PlanInput{}.rate_bytes_per_s,
                 .longest_frame = kLongestFrame};
  return options;
}

// Bytes of packets a second, of one lane alone, once the line is full.
double rate_of_a_lane(const Plan& plan, std::uint64_t lane_bytes) {
  World world(planned(plan, lane_bytes));
  EXPECT_TRUE(world.activate()) << world.describe();
  const auto send_for = [&](Duration time) {
    for (const Time end = world.now() + time; world.now() < end; world.run_for(100us))
      world.sites[0]->keep_full(Vl{0}, 2048, 128);
  };
  send_for(3 * plan.round_trip);
  const std::uint64_t before = world.sites[1]->came_bytes;
  const Time began = world.now();
  send_for(3 * plan.round_trip);
  EXPECT_EQ(world.count(TunnelCounter::kRxOverrun), 0);
  const double seconds = std::chrono::duration<double>(world.now() - began).count();
  return static_cast<double>(world.sites[1]->came_bytes - before) / seconds;
}

// The example of weft extend --plan, 5,000 km and 10 Gbit/s: a fifteenth of its 894 MiB is what a
// lane needs that is to fill the line alone; with half as much it is half full.
TEST(Distance, OfFiveThousandKilometresIsFilledByALaneThatHasItsShareOfThePlan) {
  const auto plan = make_plan({.distance_m = 5e6, .lanes = 15});
  ASSERT_TRUE(plan);
  const auto line = static_cast<double>(PlanInput{}.rate_bytes_per_s);
  EXPECT_GT(rate_of_a_lane(*plan, plan->buffer_per_lane), 0.93 * line);
  EXPECT_LT(rate_of_a_lane(*plan, plan->buffer_per_lane / 2), 0.55 * line);
}

// A tenth of that, so that the test takes no gigabyte: all 15 lanes are sent to at the line's rate
// while the far side takes nothing. All of it finds room, and nothing is dropped.
TEST(Distance, HoldsAllThatLanesSendThatAreBlockedAtTheFarSide) {
  const auto plan = make_plan({.distance_m = 5e5, .lanes = 15});
  ASSERT_TRUE(plan);
  World world(planned(*plan, plan->buffer_per_lane));
  ASSERT_TRUE(world.activate()) << world.describe();
  world.sites[1]->blocked = 0x7FFF;
  const auto sent = [&] { return world.count(0, TunnelCounter::kTxPackets); };
  const auto send_for = [&](Duration time) {
    for (const Time end = world.now() + time; world.now() < end; world.run_for(100us)) {
      for (std::uint8_t vl = 0; vl < kLanes; ++vl)
        world.sites[0]->keep_full(Vl{vl}, 2048, 16);
    }
  };
  send_for(150ms);  // at the line's rate 94 MB, which all FIFOs have, are there after 75 ms
  const std::uint64_t all = sent();
  send_for(20ms);
  EXPECT_EQ(sent(), all) << "there was no more room";
  const auto used = static_cast<double>(world.buffers[1]->share(0).used_bytes());
  EXPECT_GT(used, 0.99 * static_cast<double>(plan->buffer));
  EXPECT_LE(used, static_cast<double>(plan->buffer));
  for (const TunnelCounter none :
       {TunnelCounter::kRxOverrun, TunnelCounter::kRxNoMemory, TunnelCounter::kRxLost})
    EXPECT_EQ(world.count(none), 0);
  world.sites[1]->blocked = 0;
  world.sites[1]->kept.clear();
  world.run_for(1s);
  for (std::size_t vl = 0; vl < kLanes; ++vl)
    EXPECT_EQ(world.sites[1]->came[vl], world.sites[0]->next[vl]) << "lane " << vl;
  EXPECT_EQ(world.sites[1]->disorder, 0);
}

TEST(Distance, WithCreditOfTheStandardIsWhatLimitsTheRate) {
  const Measured far = measure(20ms, BulkBuffer::kLeastBytes);
  EXPECT_LT(far.bytes_per_s, 1.1 * BulkBuffer::kLeastBytes / 0.02);
  EXPECT_GT(far.bytes_per_s, 0.5 * BulkBuffer::kLeastBytes / 0.02);
}

// The far end's FIFO would take more than this end has memory to keep: the fabric waits.
TEST(Distance, IsCoveredByNoMorePacketsThanMayBeKept) {
  constexpr std::uint64_t kKept = 100;
  WorldOptions options;
  options.tunnel.sender.kept_packets = kKept;
  options.buffer.lane_bytes = 8U << 20;
  options.wan = {.delay = 10ms, .longest_frame = 8192};
  World world(options);
  ASSERT_TRUE(world.activate()) << world.describe();
  std::uint64_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    world.sites[0]->keep_full(Vl{0}, 2048, 64);
    world.sites[0]->keep_full(Vl{1}, 2048, 64);
    world.run_for(100us);
    most = std::max(most, world.count(0, TunnelCounter::kTxPackets) -
                              world.count(1, TunnelCounter::kRxPackets));
  }
  EXPECT_LE(most, kKept);
  EXPECT_GE(world.sites[1]->came[0] + world.sites[1]->came[1], 4 * kKept)
      << "a round trip is 20 ms";
  EXPECT_EQ(world.sites[1]->disorder, 0u);
}

TEST(Distance, WithOneFrameInAThousandLostKeepsNineTenths) {
  const std::uint64_t product = kRate / 10;
  const Measured whole = measure(100ms, 3 * product);
  const Measured lossy = measure(100ms, 3 * product, 0.001);
  EXPECT_GE(lossy.bytes_per_s, 0.9 * whole.bytes_per_s);
}

}  // namespace
}  // namespace weft::wan
