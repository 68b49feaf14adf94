// SPDX-License-Identifier: Apache-2.0
// Credit beside frames, in the options of IPv6 packets.
#include <gtest/gtest.h>

#include "tunnel_world.h"

namespace weft::wan {
namespace {

// Credits in frames, and beside them, of both sites.
struct Seen {
  int within = 0;
  int beside = 0;
  std::uint16_t lanes = 0;
};

void watch(World& world, Seen& seen) {
  for (const auto& path : world.paths) {
    path->see = [&](Bytes bytes, const OutFrame& as) {
      for (const bool beside : {false, true}) {
        auto view = FrameView::parse(beside ? bytes.first(FrameHead::kSize) : bytes,
                                     beside ? as.options : Bytes());
        ASSERT_TRUE(view);
        while (const auto item = view->next()) {
          const auto* const credit = std::get_if<CreditItem>(&*item);
          if (credit == nullptr) continue;
          ++(beside ? seen.beside : seen.within);
          seen.lanes |= static_cast<std::uint16_t>(1U << credit->credit.vl.value());
        }
      }
    };
  }
}

void traffic(World& world, Duration time) {
  const Time end = world.now() + time;
  while (world.now() < end) {
    for (std::uint8_t vl = 0; vl < 15; ++vl)
      world.sites[0]->keep_full(Vl{vl}, 1024);
    world.run_for(1ms);
  }
}

WorldOptions with_options() {
  return {.buffer = {.lane_bytes = 200'000},
          .wan = {.rate_bytes_per_s = 50'000'000},
          .ip_options = true};
}

TEST(TunnelOptions, HaveTheCreditOfAllLanes) {
  World world(with_options());
  Seen seen;
  watch(world, seen);
  ASSERT_TRUE(world.activate()) << world.describe();
  traffic(world, 1s);
  world.run_for(500ms);
  EXPECT_EQ(seen.within, 0);
  EXPECT_GT(seen.beside, 1000);
  EXPECT_EQ(seen.lanes, (1U << 15) - 1);
  EXPECT_EQ(world.count(TunnelCounter::kTxCredit), static_cast<std::uint64_t>(seen.beside));
  EXPECT_EQ(world.count(TunnelCounter::kRxCredit), static_cast<std::uint64_t>(seen.beside));
  EXPECT_EQ(world.count(TunnelCounter::kRxPackets), world.count(TunnelCounter::kTxPackets));
  // More than once through each FIFO, which takes credit.
  EXPECT_GT(world.sites[1]->came_bytes, 45'000'000u) << world.describe();
}

TEST(TunnelOptions, AreLeftOutWhereOneEndHasNone) {
  for (std::size_t site = 0; site < 2; ++site) {
    World world(with_options());
    Seen seen;
    watch(world, seen);
    world.paths[site]->carries_options = false;
    ASSERT_TRUE(world.activate()) << world.describe();
    traffic(world, 500ms);
    EXPECT_EQ(seen.beside, 0) << site;
    EXPECT_GT(seen.within, 500) << site;
    EXPECT_GT(world.sites[1]->came_bytes, 20'000'000u) << world.describe();
  }
}

// As some networks do, of which the ends cannot know.
TEST(TunnelOptions, AreWaitedForWhereTheNetworkTakesThemAway) {
  World world(with_options());
  ASSERT_TRUE(world.activate()) << world.describe();
  for (std::size_t site = 0; site < 2; ++site) {
    world.paths[site]->look = [&world, site](std::vector<std::byte>& packet) {
      const auto came = world.stacks[1 - site].unwrap(packet);
      EXPECT_TRUE(came);
      OutPacket bare({&came->bytes, 1});
      EXPECT_TRUE(world.stacks[site].wrap(bare));
      std::vector<std::byte> out;
      for (const Bytes piece : bare.pieces())
        out.insert(out.end(), piece.begin(), piece.end());
      packet = std::move(out);
      return true;
    };
  }
  traffic(world, 1s);
  const std::uint64_t came = world.sites[1]->came_bytes;
  EXPECT_LT(came, 15u * 210'000) << "as much as the FIFOs were known to hold";
  EXPECT_GT(came, 15u * 150'000);
  EXPECT_EQ(world.count(TunnelCounter::kSessionsSilent), 0u);
  for (const auto& path : world.paths)
    path->look = {};
  traffic(world, 500ms);
  EXPECT_GT(world.sites[1]->came_bytes, came + 15'000'000u) << world.describe();
  EXPECT_EQ(world.count(TunnelCounter::kRxOverrun), 0u);
}

}  // namespace
}  // namespace weft::wan
