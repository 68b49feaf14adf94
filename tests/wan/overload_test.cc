// SPDX-License-Identifier: Apache-2.0
// A user's rate that is more than gets through: restraint.h, alone and under a tunnel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tunnel_world.h"
#include "wan/restraint.h"

namespace weft::wan {
namespace {

constexpr std::uint64_t kTold = 100'000'000;  // bytes per second
constexpr std::uint64_t kRead = 40'000'000;   // of them, that are read

// Of a way of 100 ms there and back: what somebody who wants to send kTold bytes per second does,
// and what becomes of that, a round trip at a time.
struct Overloaded {
  double carries = kRead;  // bytes per second
  double own_loss = 0;
  Restraint restraint{};
  Time now{1s};

  // The share of kTold that arrives in the last half of so many round trips.
  double arrives(int round_trips) {
    double sum = 0;
    for (int i = 0; i < round_trips; ++i) {
      const double share = turn();
      if (i >= round_trips / 2) sum += share;
    }
    return sum / (round_trips - round_trips / 2);
  }

 private:
  static constexpr Duration kRoundTrip = 100ms;
  static constexpr Duration kStep = 100us;

  double turn() {
    double sent = 0;
    for (const Time end = now + kRoundTrip; now < end; now += kStep) {
      restraint.go_on(now);
      if (!restraint.admits()) continue;
      constexpr auto kBytes = kTold / 10'000;
      restraint.sent(kBytes, now);
      sent += kBytes;
    }
    const double seconds = std::chrono::duration<double>(kRoundTrip).count();
    const double came = std::min(sent * (1 - own_loss), carries * seconds);
    restraint.lost(static_cast<std::uint64_t>(sent - came));
    restraint.came(static_cast<std::uint64_t>(came));
    restraint.look(kRoundTrip, now);
    return came / seconds / kTold;
  }
};

TEST(Restraint, LetsEverythingGoAsLongAsItArrives) {
  Overloaded way{.carries = kTold, .own_loss = 0.015};
  EXPECT_GT(way.arrives(50), 0.98);
  EXPECT_EQ(way.restraint.rate(), 0);
  EXPECT_EQ(way.restraint.lowered(), 0);
}

TEST(Restraint, StaysNearWhatArrivesWhereMoreIsLost) {
  Overloaded way;
  EXPECT_GT(way.arrives(100), 0.9 * 0.4);
  EXPECT_NEAR(way.restraint.rate(), kRead, 0.2 * kRead);
  EXPECT_LT(way.restraint.lowered(), 20) << "it is too high for a round trip now and then";
}

TEST(Restraint, GoesAwayOnceEverythingArrives) {
  Overloaded way;
  way.arrives(50);
  ASSERT_GT(way.restraint.rate(), 0);
  way.carries = kTold;
  EXPECT_GT(way.arrives(100), 0.98);
  EXPECT_EQ(way.restraint.rate(), 0);
}

TEST(Restraint, FollowsAWayThatCarriesLessAndLess) {
  Overloaded way;
  for (const double carries : {0.3, 0.15, 0.07}) {
    way.carries = carries * kTold;
    EXPECT_GT(way.arrives(100), 0.85 * carries);
  }
}

TEST(Restraint, DoesNotHeedWhatTheNetworkLosesByItself) {
  for (const double loss : {0.03, 0.1, 0.3}) {
    Overloaded way{.carries = kTold, .own_loss = loss};
    EXPECT_GT(way.arrives(200), 0.95 * (1 - loss));
  }
}

TEST(Restraint, NoticesThatMoreIsLostThanTheNetworkLosesByItself) {
  Overloaded way{.carries = kTold, .own_loss = 0.05};
  way.arrives(100);
  way.carries = kRead;
  EXPECT_GT(way.arrives(100), 0.8 * 0.4);
  EXPECT_NEAR(way.restraint.rate(), kRead, 0.25 * kRead);
}

TEST(Restraint, IsNotLoweredByWhatOnlyComesLate) {
  Restraint restraint;
  Time now{1s};
  for (int i = 0; i < 100; ++i) {
    restraint.sent(1'000'000, now);
    now += 20ms;
    restraint.lost(1'000'000);
    restraint.came_after_all(1'000'000);
    restraint.look(20ms, now);
  }
  EXPECT_EQ(restraint.lowered(), 0);
}

// --- under a tunnel ------------------------------------------------------------------------------

WorldOptions overloaded(Duration round_trip) {
  WorldOptions options;
  options.buffer.lane_bytes = kTold / 5 * 12 / 10;
  options.wan = {.delay = round_trip / 2,
                 .rate_bytes_per_s = kTold,
                 .longest_frame = 8192,
                 .socket_bytes = 4U << 20,
                 .read_bytes_per_s = kRead,
                 .set_rate = true};
  return options;
}

// What the first site, or both, send to the other one for so long, as fast as they may.
struct Arriving {
  double bytes_per_s = 0;  // that arrive at the second site
  double repeated = 0;     // packets that are sent again, of those that arrive
  Duration stall = 0ns;    // the longest time in which nothing arrives
};
Arriving send_for(World& world, Duration time, std::size_t sites) {
  Site& there = *world.sites[1];
  const Time begin = world.now();
  const std::uint64_t bytes = there.came_bytes;
  const std::uint64_t packets = there.came[0];
  const std::uint64_t repeated = world.count(0, TunnelCounter::kTxRepeated);
  Arriving out;
  Time came_at = begin;
  std::uint64_t came = bytes;
  for (const Time end = begin + time; world.now() < end; world.run_for(200us)) {
    for (std::size_t site = 0; site < sites; ++site)
      world.sites[site]->keep_full(Vl{0}, 2048, 64);
    if (std::exchange(came, there.came_bytes) != there.came_bytes) came_at = world.now();
    out.stall = std::max<Duration>(out.stall, world.now() - came_at);
  }
  EXPECT_EQ(there.disorder, 0);
  out.bytes_per_s = static_cast<double>(there.came_bytes - bytes) /
                    std::chrono::duration<double>(world.now() - begin).count();
  out.repeated = static_cast<double>(world.count(0, TunnelCounter::kTxRepeated) - repeated) /
                 static_cast<double>(there.came[0] - packets + 1);
  return out;
}

TEST(OverloadedTunnel, GoesOnAtMostOfWhatIsReadAtAnyDistance) {
  for (const Duration round_trip : {0ms, 20ms, 200ms}) {
    for (const std::size_t sites : {1, 2}) {
      SCOPED_TRACE(fmt::format("{} ms, {} sites", round_trip / 1ms, sites));
      World world(overloaded(round_trip));
      ASSERT_TRUE(world.activate()) << world.describe();
      const Arriving first = send_for(world, 3s, sites);
      EXPECT_LT(first.stall, 3s);
      const Arriving then = send_for(world, 5s, sites);
      EXPECT_GT(then.bytes_per_s, 0.75 * kRead);
      EXPECT_LT(then.repeated, 0.3) << "it is what nobody reads";
      EXPECT_LT(then.stall, 1s);
      EXPECT_GT(world.count(0, TunnelCounter::kTxSlowed), 0);
    }
  }
}

// Far more, with a buffer at the far end that does not hold it back.
TEST(OverloadedTunnel, RepeatsLittleWhereATenthIsRead) {
  constexpr std::uint64_t kTenth = kTold / 10;
  WorldOptions options = overloaded(200ms);
  options.wan.read_bytes_per_s = kTenth;
  options.wan.socket_bytes = 1U << 20;
  options.buffer.lane_bytes = kTold;
  World world(options);
  ASSERT_TRUE(world.activate()) << world.describe();
  const Arriving came = send_for(world, 10s, 1);
  EXPECT_GT(came.bytes_per_s, 0.8 * kTenth);
  EXPECT_LT(came.repeated, 0.7) << "half of it is of the first half second";
  EXPECT_LT(came.stall, 4s);
}

TEST(OverloadedTunnel, IsAsFastAsItsRateOnceThatIsRead) {
  World world(overloaded(20ms));
  ASSERT_TRUE(world.activate()) << world.describe();
  send_for(world, 3s, 1);
  world.paths[0]->options.read_bytes_per_s = 2 * kTold;
  send_for(world, 2s, 1);
  EXPECT_GT(send_for(world, 3s, 1).bytes_per_s, 0.9 * kTold);
}

}  // namespace
}  // namespace weft::wan
