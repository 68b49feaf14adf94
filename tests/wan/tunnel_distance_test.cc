// SPDX-License-Identifier: Apache-2.0
// What a tunnel keeps of the rate over any distance.
#include <gtest/gtest.h>

#include <algorithm>

#include "tunnel_world.h"

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
