// SPDX-License-Identifier: Apache-2.0
// A tunnel over several ways: it has their rates together, and goes on over those that are left
// when one is cut, of which the fabric sees nothing.
#include <gtest/gtest.h>

#include "sim/seeds.h"
#include "tunnel_world.h"

namespace weft::wan {
namespace {

using link::PortState;

constexpr std::size_t kPayload = 2048;

WanOptions way(std::uint64_t bytes_per_s, Duration delay) {
  return {.delay = delay, .rate_bytes_per_s = bytes_per_s, .longest_frame = 9000, .set_rate = true};
}

WorldOptions two_ways(const WanOptions& first, const WanOptions& second, std::uint64_t seed = 1) {
  return {.buffer = {.lane_bytes = 64U << 20}, .wan = first, .more_wans = {second}, .seed = seed};
}

// Both sites, with packets that go from the first to the second all the time.
class Stream {
 public:
  explicit Stream(const WorldOptions& options) : world(options) {}
  [[nodiscard]] bool begin() {
    const bool up = world.activate();
    world.at_each_moment = [this] { world.sites[0]->keep_full(Vl{0}, kPayload, 16); };
    return up;
  }
  void end() { world.at_each_moment = nullptr; }
  // Bytes per second that come.
  double rate(Duration time) {
    const std::uint64_t before = world.sites[1]->came_bytes;
    world.run_for(time);
    return static_cast<double>(world.sites[1]->came_bytes - before) /
           std::chrono::duration<double>(time).count();
  }
  // All ways of both sites.
  void cut(std::size_t way, bool cut) {
    for (std::size_t site = 0; site < 2; ++site)
      (way == 0 ? *world.paths[site] : *world.more_paths[site][way - 1]).cut = cut;
  }
  void expect_all_came() {
    end();
    world.run_for(5s);
    EXPECT_EQ(world.count(TunnelCounter::kRxPackets), world.count(TunnelCounter::kTxPackets));
    EXPECT_EQ(world.pool.in_use(), 0u) << world.describe();
    for (const auto& site : world.sites) {
      EXPECT_EQ(site->disorder, 0u);
      EXPECT_EQ(site->damaged, 0u);
    }
    EXPECT_EQ(world.count(TunnelCounter::kSessions), 2u) << "the session began anew";
  }
  [[nodiscard]] bool works(std::size_t way) const {
    return world.bundles[0]->legs()[way]->works() && world.bundles[1]->legs()[way]->works();
  }
  World world;
};

TEST(SeveralPaths, HaveTheirRatesTogetherAndNoneIsTakenForLoss) {
  Stream stream(two_ways(way(20'000'000, 2ms), way(10'000'000, 40ms)));
  ASSERT_TRUE(stream.begin());
  stream.world.run_for(2s);
  EXPECT_TRUE(stream.works(0));
  EXPECT_TRUE(stream.works(1));
  const std::uint64_t repeated = stream.world.count(TunnelCounter::kTxRepeated);
  EXPECT_GE(stream.rate(3s), 0.93 * 30e6);
  EXPECT_EQ(stream.world.count(TunnelCounter::kTxRepeated), repeated);
  stream.expect_all_came();
}

TEST(SeveralPaths, GoOnOverTheOthersWhenOneIsCutAndTakeItBack) {
  for (const std::size_t cut : {0U, 1U}) {
    Stream stream(two_ways(way(20'000'000, 10ms), way(20'000'000, 15ms)));
    ASSERT_TRUE(stream.begin());
    stream.world.run_for(2s);
    stream.cut(cut, true);
    stream.world.run_for(1s);
    EXPECT_FALSE(stream.works(cut));
    EXPECT_TRUE(stream.works(1 - cut));
    EXPECT_GE(stream.rate(5s), 0.9 * 20e6);
    EXPECT_TRUE(stream.world.active()) << "the fabric has seen it";
    stream.cut(cut, false);
    stream.world.run_for(1s);
    EXPECT_TRUE(stream.works(cut));
    EXPECT_GE(stream.rate(3s), 0.9 * 40e6);
    stream.expect_all_came();
  }
}

TEST(SeveralPaths, GoDownWhenAllAreCut) {
  Stream stream(two_ways(way(20'000'000, 10ms), way(20'000'000, 15ms)));
  ASSERT_TRUE(stream.begin());
  stream.cut(0, true);
  stream.cut(1, true);
  stream.world.run_for(3500ms);
  EXPECT_EQ(stream.world.sites[0]->port.state(), PortState::kDown);
  EXPECT_EQ(stream.world.sites[1]->port.state(), PortState::kDown);
  stream.cut(1, false);
  EXPECT_TRUE(stream.world.activate()) << "one is enough";
  EXPECT_GE(stream.rate(2s), 0.8 * 20e6);
}

// One of three is cut now and then, one way or both, while all of them lose, double and mix up.
TEST(SeveralPaths, LoseNothingWhateverBecomesOfOneOfThem) {
  std::uint64_t failures = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "SeveralPaths.LoseNothingWhateverBecomesOfOneOfThem"));
    Random random(seed);
    const auto draw = [&random] {
      WanOptions out =
          way(random.between(300'000, 3'000'000), Duration(random.between(100'000, 60'000'000)));
      out.loss = 0.05 * random.chance(0.5);
      out.duplicate = 0.05 * random.chance(0.5);
      if (random.chance(0.5)) out.jitter = Duration(random.between(1, 10'000'000));
      return out;
    };
    WorldOptions options = two_ways(draw(), draw(), seed);
    options.more_wans.push_back(draw());
    Stream stream(options);
    EXPECT_TRUE(stream.begin());
    for (int i = 0; i < 10; ++i) {
      const std::size_t way = random.below(3);
      const std::size_t site = random.below(2);
      SimPath& one = way == 0 ? *stream.world.paths[site] : *stream.world.more_paths[site][way - 1];
      random.chance(0.5) ? stream.cut(way, true) : void(one.cut = true);
      stream.world.run_for(Duration(random.below(1'500'000'000)));
      stream.cut(way, false);
      stream.world.run_for(Duration(random.below(500'000'000)));
    }
    for (const auto& value : stream.world.bundles[0]->legs()[0]->counters())
      failures += value.name == "leg_failures" ? value.value : 0;
    EXPECT_TRUE(stream.world.active());
    stream.expect_all_came();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(failures, 10u);
}

}  // namespace
}  // namespace weft::wan
