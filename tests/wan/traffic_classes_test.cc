// SPDX-License-Identifier: Apache-2.0
// Frames that are marked for the networks between by what they hold.
#include <gtest/gtest.h>

#include <map>

#include "tunnel_world.h"

namespace weft::wan {
namespace {

constexpr std::uint8_t kBulk = 0x28, kVoice = 0xB8, kControl = 0xC0;

WorldOptions marked(const WanOptions& wan) {
  WorldOptions options{.wan = wan};
  options.tunnel.sender.classes.control = kControl;
  options.tunnel.sender.classes.of_sl[1] = kBulk;
  options.tunnel.sender.classes.of_sl[2] = options.tunnel.sender.classes.of_sl[3] = kVoice;
  return options;
}

// What is in a frame that needs a mark of its own; the flows of a Site have the SL of their lane.
std::uint8_t mark_of(const Item& item, const TrafficClasses& classes) {
  const auto* const packet = std::get_if<PacketItem>(&item);
  return packet == nullptr ? classes.control : classes.of_sl[packet->tag.vl.value()];
}

// How many frames of each mark there were, of both sites; each has what it says.
std::map<std::uint8_t, int> watch(World& world, const TrafficClasses& classes,
                                  const std::function<void()>& traffic) {
  std::map<std::uint8_t, int> frames;
  for (const auto& path : world.paths) {
    path->see = [&](Bytes bytes, const OutFrame& as) {
      ++frames[as.traffic_class];
      auto frame = FrameView::parse(bytes);
      ASSERT_TRUE(frame);
      bool empty = true;
      while (const auto item = frame->next()) {
        EXPECT_EQ(mark_of(*item, classes), as.traffic_class);
        empty = false;
      }
      if (empty) {
        EXPECT_EQ(as.traffic_class, classes.control);
      }
    };
  }
  traffic();
  for (const auto& path : world.paths)
    path->see = {};
  return frames;
}

TEST(TrafficClasses, OfDifferentMarksShareNoFrame) {
  // Shorter than the longest packets, and some of them are lost, so that pieces are sent again.
  const WorldOptions options = marked({.jitter = 200us, .loss = 0.02});
  World world(options);
  ASSERT_TRUE(world.activate()) << world.describe();
  const auto frames = watch(world, options.tunnel.sender.classes, [&] {
    for (int i = 0; i < 2000; ++i) {
      for (auto& site : world.sites) {
        const auto vl = static_cast<std::uint8_t>(world.random.below(5));
        ASSERT_TRUE(site->send(Sl{vl}, Vl{vl}, 4 * world.random.below(1025)));
      }
      if (i % 9 == 0) {
        world.sites[0]->port.transmit(
            world.pool.copy(link::make_packet({.vl = link::kVl15, .payload = 256})), link::kVl15,
            world.now());
        world.run_for(1ms);
      }
    }
    world.run_for(500ms);
  });
  for (const std::uint8_t mark : {std::uint8_t{0}, kBulk, kVoice, kControl})
    EXPECT_GT(frames.at(mark), 50) << int{mark};
  EXPECT_EQ(frames.size(), 4u);
  for (std::size_t site = 0; site < 2; ++site) {
    EXPECT_EQ(world.sites[site]->disorder, 0u);
    std::array<std::uint64_t, 16> sent{};
    std::ranges::copy(world.sites[1 - site]->next, sent.begin());
    EXPECT_EQ(world.sites[site]->came, sent) << world.describe();
  }
  EXPECT_GT(world.count(TunnelCounter::kTxRepeated), 10u);
  EXPECT_GT(world.sites[1]->management, 100u);
}

TEST(TrafficClasses, TakeTurnsFrameByFrame) {
  const WorldOptions options = marked({.rate_bytes_per_s = 20'000'000, .longest_frame = 9000});
  World world(options);
  ASSERT_TRUE(world.activate()) << world.describe();
  const auto frames = watch(world, options.tunnel.sender.classes, [&] {
    for (int i = 0; i < 500; ++i) {
      for (std::uint8_t vl = 0; vl < 4; ++vl)
        world.sites[0]->keep_full(Vl{vl}, 1024, 16);
      world.run_for(1ms);
    }
  });
  const int least = std::min({frames.at(0), frames.at(kBulk), frames.at(kVoice)});
  EXPECT_GT(least, 300);
  EXPECT_LT(std::max({frames.at(0), frames.at(kBulk), frames.at(kVoice)}), least + least / 20);
  // Two lanes share one of the marks.
  const auto& came = world.sites[1]->came;
  EXPECT_NEAR(static_cast<double>(came[2]), static_cast<double>(came[3]),
              static_cast<double>(came[2]) / 20);
}

// What there was before there were marks: everything in the frames that leave anyway.
TEST(TrafficClasses, OfOneMarkShareFrames) {
  WorldOptions options{.wan = {.rate_bytes_per_s = 20'000'000}};  // so that packets wait
  options.tunnel.sender.classes.of_sl.fill(kVoice);
  options.tunnel.sender.classes.control = kVoice;
  World world(options);
  ASSERT_TRUE(world.activate()) << world.describe();
  int mixed = 0;
  world.paths[0]->see = [&](Bytes bytes, const OutFrame& as) {
    EXPECT_EQ(as.traffic_class, kVoice);
    auto frame = FrameView::parse(bytes);
    bool credit = false;
    bool packets = false;
    while (const auto item = frame->next()) {
      credit |= std::holds_alternative<CreditItem>(*item);
      packets |= std::holds_alternative<PacketItem>(*item);
    }
    mixed += credit && packets ? 1 : 0;
  };
  for (int i = 0; i < 500; ++i) {
    for (auto& site : world.sites)
      site->keep_full(Vl{1}, 1024);
    world.run_for(1ms);
  }
  EXPECT_GT(mixed, 0);
}

}  // namespace
}  // namespace weft::wan
