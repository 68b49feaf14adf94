// SPDX-License-Identifier: Apache-2.0
// Every kind of line between two ends that find each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "line_world.h"

namespace weft::wan {
namespace {

class LinePairs : public ::testing::TestWithParam<const char*> {
 protected:
  static std::size_t shortest() { return std::string(GetParam()).find("ethernet") == 0 ? 60 : 1; }
  // Some packets of many sizes from each end.
  static void give(LineWorld& world, std::size_t count) {
    for (LineWorld::End& end : world.ends) {
      for (std::size_t i = 0; i < count; ++i)
        end.waiting.push_back(world.make_packet(shortest() + world.random() % 4000));
    }
  }
  // What came is a part of what was sent, in its order.
  static bool is_part(const std::vector<LineWorld::Packet>& came,
                      const std::vector<LineWorld::Packet>& sent) {
    auto at = sent.begin();
    for (const LineWorld::Packet& packet : came) {
      at = std::find(at, sent.end(), packet);
      if (at == sent.end()) return false;
      ++at;
    }
    return true;
  }
};

TEST_P(LinePairs, FindEachOtherAndCarryEveryPacket) {
  LineWorld world(GetParam(), 1);
  EXPECT_FALSE(world.up());
  ASSERT_TRUE(world.run_until_up(10s));
  give(world, 50);
  const std::array sent{std::vector(world.ends[0].waiting.begin(), world.ends[0].waiting.end()),
                        std::vector(world.ends[1].waiting.begin(), world.ends[1].waiting.end())};
  world.run(100ms);
  EXPECT_EQ(world.ends[0].came, sent[1]);
  EXPECT_EQ(world.ends[1].came, sent[0]);
  EXPECT_TRUE(world.up());
  EXPECT_EQ(world.ends[0].changes, 1);
}

TEST_P(LinePairs, GoDownWithTheLineAndComeBack) {
  LineWorld world(GetParam(), 2);
  ASSERT_TRUE(world.run_until_up(10s));
  world.spoil = [](std::size_t, std::vector<std::byte>& octets) { octets.clear(); };
  for (int i = 0; i < 1000 && (world.ends[0].channel->is_up() || world.ends[1].channel->is_up());
       ++i)
    world.run(10ms);
  EXPECT_FALSE(world.ends[0].channel->is_up());
  EXPECT_FALSE(world.ends[1].channel->is_up());
  world.spoil = {};
  EXPECT_TRUE(world.run_until_up(10s));
  give(world, 5);
  const auto sent = world.ends[0].waiting;
  world.run(50ms);
  EXPECT_TRUE(std::ranges::equal(world.ends[1].came, sent));
}

// Its process, or that of whoever carries the stream, is one of many on a busy machine.
TEST_P(LinePairs, StayUpWhileAnEndHasNoProcessorForASecond) {
  LineWorld world(GetParam(), 4);
  ASSERT_TRUE(world.run_until_up(10s));
  for (const std::size_t end : {0, 1}) {
    world.stopped = end;
    world.run(1s);
    world.stopped.reset();
    give(world, 20);
    const auto sent = world.ends[0].waiting;
    world.ends[1].came.clear();
    world.run(100ms);
    EXPECT_EQ(world.ends[0].changes, 1);
    EXPECT_EQ(world.ends[1].changes, 1);
    EXPECT_TRUE(std::ranges::equal(world.ends[1].came, sent));
  }
}

// One direction is enough: the other end says so.
TEST_P(LinePairs, GoDownAtBothEndsWhenOneDirectionIsCut) {
  LineWorld world(GetParam(), 3);
  ASSERT_TRUE(world.run_until_up(10s));
  world.spoil = [](std::size_t from, std::vector<std::byte>& octets) {
    if (from == 0) octets.clear();
  };
  for (int i = 0; i < 1000 && (world.ends[0].channel->is_up() || world.ends[1].channel->is_up());
       ++i)
    world.run(10ms);
  EXPECT_FALSE(world.ends[0].channel->is_up());
  EXPECT_FALSE(world.ends[1].channel->is_up());
}

TEST_P(LinePairs, HandOnNothingThatWasNotSentWhateverHappensToOctets) {
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    LineWorld world(GetParam(), 100 + seed);
    ASSERT_TRUE(world.run_until_up(10s));
    std::mt19937 random(seed);
    world.spoil = [&](std::size_t, std::vector<std::byte>& octets) {
      if (octets.empty() || random() % 4 != 0) return;
      const std::size_t at = random() % octets.size();
      switch (random() % 4) {
        case 0:
          octets[at] ^= static_cast<std::byte>(1U << random() % 8);
          break;
        case 1:
          octets.erase(octets.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 2:
          octets.insert(octets.begin() + static_cast<std::ptrdiff_t>(at), std::byte{0x55});
          break;
        default:
          octets.resize(at);
      }
    };
    give(world, 200);
    const std::vector sent(world.ends[0].waiting.begin(), world.ends[0].waiting.end());
    world.run(200ms);
    EXPECT_TRUE(is_part(world.ends[1].came, sent)) << seed;
    world.spoil = {};
    world.run(5s);
    EXPECT_TRUE(world.up()) << seed;
    // The first one behind what was cut off may be taken for its rest, or be scrambled with it.
    give(world, 1);
    world.run(10ms);
    give(world, 5);
    const std::vector last(world.ends[0].waiting.begin(), world.ends[0].waiting.end());
    world.run(50ms);
    ASSERT_GE(world.ends[1].came.size(), last.size()) << seed;
    EXPECT_TRUE(std::equal(last.begin(), last.end(), world.ends[1].came.end() - 5)) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Stacks, LinePairs,
                         ::testing::Values("ipv6/aal5", "gfp", "ethernet/gfp", "ipv6/ppp", "ppp",
                                           "ipv6/aal5/stm1", "gfp/stm4", "ipv6/ppp/stm1",
                                           "ethernet/10gbase-r"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace weft::wan
