// SPDX-License-Identifier: Apache-2.0
#include "hca/receive_side_scaling.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"

namespace weft::hca::test {
namespace {

using Rss = ReceiveSideScaling;

template <std::size_t kSize>
std::array<std::byte, kSize> bytes(const std::array<int, kSize>& from) {
  std::array<std::byte, kSize> out;
  for (std::size_t i = 0; i < kSize; ++i)
    out[i] = static_cast<std::byte>(from[i]);
  return out;
}

// The suite with which drivers of network adapters are verified: "Verifying the RSS hash
// calculation", Microsoft.
constexpr std::array kSuiteKey{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                               0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                               0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                               0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

TEST(ToeplitzHash, AgreesWithTheSuiteForDrivers) {
  const auto key = bytes(kSuiteKey);
  const ToeplitzHash hash{Bytes(key)};
  // 66.9.149.187:2794 to 161.142.100.80:1766
  const auto first = bytes(std::array{66, 9, 149, 187, 161, 142, 100, 80, 0x0A, 0xEA, 0x06, 0xE6});
  EXPECT_EQ(hash.hash(Bytes(first).first(8)), 0x323E'8FC2u);
  EXPECT_EQ(hash.hash(first), 0x51CC'C178u);
  // 199.92.111.2:14230 to 65.69.140.83:4739
  const auto second = bytes(std::array{199, 92, 111, 2, 65, 69, 140, 83, 14230 / 256, 14230 % 256,
                                       4739 / 256, 4739 % 256});
  EXPECT_EQ(hash.hash(Bytes(second).first(8)), 0xD718'262Au);
  EXPECT_EQ(hash.hash(second), 0xC626'B0EAu);
  // 3ffe:2501:200:1fff::7 port 2794 to 3ffe:2501:200:3::1 port 1766
  const auto third = bytes(std::array{
      0x3F, 0xFE, 0x25, 0x01, 0x02, 0x00, 0x1F, 0xFF, 0, 0, 0, 0, 0, 0, 0,    7,    0x3F, 0xFE,
      0x25, 0x01, 0x02, 0x00, 0x00, 0x03, 0,    0,    0, 0, 0, 0, 0, 1, 0x0A, 0xEA, 0x06, 0xE6});
  EXPECT_EQ(hash.hash(Bytes(third).first(32)), 0x2CC1'8CD5u);
  EXPECT_EQ(hash.hash(third), 0x4020'7D3Du);
}

TEST(ToeplitzHash, OfStretchesIsTheirSum) {
  const auto key = bytes(kSuiteKey);
  const ToeplitzHash hash{Bytes(key)};
  const auto input = bytes(std::array{1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Bytes all(input);
  EXPECT_EQ(hash.hash(all.first(4)) ^ hash.hash(all.subspan(4), 4), hash.hash(all));
  EXPECT_EQ(hash.longest_input(), 36u);
}

class ReceiveSideScalingTest : public testing::Test {
 protected:
  static PacketFlow flow(std::uint32_t number) {
    PacketFlow out;
    wire::store_be32(out.bytes.data() + PacketFlow::kDestinationQp, number);
    return out;
  }
  std::optional<Rss::Queue> queue_of(std::uint32_t number) const {
    return rss_.queue_for(rss_.hash(flow(number)));
  }
  std::map<Rss::Queue, int> shares() const {
    std::map<Rss::Queue, int> out;
    for (const auto& queue : rss_.table())
      ++out[queue.value()];
    return out;
  }

  SeededEntropy entropy_{Random(1)};
  Rss rss_{entropy_};
};

TEST_F(ReceiveSideScalingTest, HasNoQueueUntilItIsGivenOne) {
  EXPECT_FALSE(queue_of(1));
  ASSERT_TRUE(rss_.add(7));
  EXPECT_EQ(queue_of(1), 7);
  ASSERT_TRUE(rss_.remove(7));
  EXPECT_FALSE(queue_of(1));
}

TEST_F(ReceiveSideScalingTest, SpreadsFlowsAndKeepsEachAtOneQueue) {
  for (Rss::Queue queue = 0; queue < 4; ++queue)
    ASSERT_TRUE(rss_.add(queue));
  rss_.drained(0);
  std::map<Rss::Queue, int> found;
  for (std::uint32_t number = 0; number < 4'000; ++number) {
    const auto queue = queue_of(number);
    ASSERT_TRUE(queue);
    ASSERT_EQ(queue_of(number), queue);
    ++found[*queue];
  }
  ASSERT_EQ(found.size(), 4u);
  for (const auto& [queue, flows] : found) {
    EXPECT_GT(flows, 800) << queue;
    EXPECT_LT(flows, 1'200) << queue;
  }
}

// With whatever key: a few queue pairs of one node, which have numbers in a row, have something for
// each of two threads.
TEST_F(ReceiveSideScalingTest, SpreadsFlowsThatDifferInAFewBits) {
  for (int key = 0; key < 10'000; ++key) {
    Rss drawn(entropy_);
    for (const Rss::Queue queue : {Rss::Queue{0}, Rss::Queue{1}})
      ASSERT_TRUE(drawn.add(queue));
    drawn.drained(0);
    std::map<Rss::Queue, int> found;
    for (std::uint32_t number = 0x100; number < 0x120; ++number)
      ++found[drawn.queue_for(drawn.hash(flow(number))).value()];
    ASSERT_EQ(found.size(), 2u) << key;
  }
}

// Each field of a flow counts, wherever it stands.
TEST_F(ReceiveSideScalingTest, HashesEachByteOfAFlow) {
  PacketFlow whole;
  whole.global = whole.inner = true;
  std::set<std::uint32_t> hashes{rss_.hash(whole)};
  for (std::size_t at = 0; at < PacketFlow::kSize; ++at) {
    PacketFlow changed = whole;
    changed.bytes[at] = std::byte{1};
    EXPECT_TRUE(hashes.insert(rss_.hash(changed)).second) << at;
  }
}

TEST_F(ReceiveSideScalingTest, DrawsAKeyOfItsOwn) {
  Rss other(entropy_);
  int same = 0;
  for (std::uint32_t number = 1; number < 1'000; ++number)
    same += rss_.hash(flow(number)) == other.hash(flow(number)) ? 1 : 0;
  EXPECT_LT(same, 3);
}

TEST_F(ReceiveSideScalingTest, GivesEachQueueItsShareAndMovesNoMore) {
  for (Rss::Queue queue = 0; queue < 3; ++queue) {
    const auto before = rss_.table();
    ASSERT_TRUE(rss_.add(queue));
    for (Rss::Queue old = 0; old < queue; ++old)
      rss_.drained(old);
    const auto after = rss_.table();
    for (std::size_t i = 0; i < Rss::kEntries; ++i)
      EXPECT_TRUE(after[i] == before[i] || after[i] == queue) << i;
  }
  for (const auto& [queue, entries] : shares())
    EXPECT_NEAR(entries, 128 / 3, 1) << queue;
  ASSERT_TRUE(rss_.remove(1));
  EXPECT_EQ(shares(), (std::map<Rss::Queue, int>{{0, 64}, {2, 64}}));
}

TEST_F(ReceiveSideScalingTest, MovesAFlowOnlyWhenItsQueueHasNothingOfItLeft) {
  ASSERT_TRUE(rss_.add(0));
  ASSERT_TRUE(rss_.add(1));
  EXPECT_EQ(shares(), (std::map<Rss::Queue, int>{{0, 128}}));
  EXPECT_TRUE(rss_.awaits(0));
  rss_.drained(1);
  EXPECT_EQ(shares(), (std::map<Rss::Queue, int>{{0, 128}}));
  rss_.drained(0);
  EXPECT_EQ(shares(), (std::map<Rss::Queue, int>{{0, 64}, {1, 64}}));
  EXPECT_FALSE(rss_.awaits(0));
}

TEST_F(ReceiveSideScalingTest, LeavesWhatWasToMoveToAQueueThatGoes) {
  ASSERT_TRUE(rss_.add(0));
  ASSERT_TRUE(rss_.add(1));
  ASSERT_TRUE(rss_.remove(1));
  EXPECT_FALSE(rss_.awaits(0));
  rss_.drained(0);
  EXPECT_EQ(shares(), (std::map<Rss::Queue, int>{{0, 128}}));
  // It is not forgotten that it has them: the next one gets half.
  ASSERT_TRUE(rss_.add(2));
  rss_.drained(0);
  EXPECT_EQ(shares(), (std::map<Rss::Queue, int>{{0, 64}, {2, 64}}));
}

TEST_F(ReceiveSideScalingTest, TakesUpAtOnceWhatAQueueThatGoesHas) {
  ASSERT_TRUE(rss_.add(0));
  ASSERT_TRUE(rss_.add(1));
  ASSERT_TRUE(rss_.remove(0));
  EXPECT_EQ(shares(), (std::map<Rss::Queue, int>{{1, 128}}));
}

TEST_F(ReceiveSideScalingTest, DirectsAFlowToTheQueueOfACore) {
  ASSERT_TRUE(rss_.add(0, 4));
  ASSERT_TRUE(rss_.add(1, 5));
  rss_.drained(0);
  EXPECT_EQ(rss_.core_of(1), 5u);
  for (std::uint32_t number = 0; number < 200; ++number) {
    const std::uint32_t hash = rss_.hash(flow(number));
    ASSERT_TRUE(rss_.direct(hash, 5));
    rss_.drained(0);
    ASSERT_EQ(rss_.queue_for(hash), 1);
  }
  EXPECT_EQ(rss_.direct(0, 6).error().message, "core 6: has no receive queue");
}

TEST_F(ReceiveSideScalingTest, AFlowThatIsCalledBackStays) {
  ASSERT_TRUE(rss_.add(0, 4));
  ASSERT_TRUE(rss_.add(1, 5));
  rss_.drained(0);
  const std::uint32_t hash = 0;
  const auto before = rss_.queue_for(hash);
  ASSERT_TRUE(rss_.direct(hash, before == 0 ? 5 : 4));
  EXPECT_EQ(rss_.queue_for(hash), before);
  ASSERT_TRUE(rss_.direct(hash, before == 0 ? 4 : 5));
  EXPECT_FALSE(rss_.awaits(*before));
}

TEST_F(ReceiveSideScalingTest, RefusesQueuesTwiceAndTooManyOfThem) {
  for (Rss::Queue queue = 0; queue < Rss::kMostQueues; ++queue)
    ASSERT_TRUE(rss_.add(queue));
  EXPECT_EQ(rss_.add(3).error().code, std::errc::file_exists);
  EXPECT_EQ(rss_.add(1'000).error().message, "a set has at most 128 receive queues");
  EXPECT_EQ(rss_.remove(1'000).error().code, std::errc::invalid_argument);
}

// Whatever queues come and go, each entry has one of those that are there, and the shares are even.
TEST_F(ReceiveSideScalingTest, StaysEvenWhateverQueuesComeAndGo) {
  Random random(7);
  std::set<Rss::Queue> there;
  for (int step = 0; step < 2'000; ++step) {
    const auto queue = static_cast<Rss::Queue>(random.below(12));
    if (there.contains(queue)) {
      ASSERT_TRUE(rss_.remove(queue));
      there.erase(queue);
    } else {
      ASSERT_TRUE(rss_.add(queue));
      there.insert(queue);
    }
    if (random.chance(0.5)) continue;
    for (const Rss::Queue each : there)
      rss_.drained(each);
    if (there.empty()) continue;
    const auto all = shares();
    ASSERT_EQ(all.size(), there.size()) << step;
    for (const auto& [each, entries] : all) {
      ASSERT_TRUE(there.contains(each)) << step;
      ASSERT_NEAR(entries, 128 / static_cast<double>(there.size()), 1) << step;
    }
  }
}

}  // namespace
}  // namespace weft::hca::test
