// SPDX-License-Identifier: Apache-2.0
#include "lan/reassembly.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "datagram_of.h"

namespace weft::lan {
namespace {

using Frame = std::vector<std::byte>;

Frame frame_of(std::size_t size, unsigned seed) {
  Random random(seed);
  Frame frame(size);
  for (std::byte& byte : frame)
    byte = static_cast<std::byte>(random.next());
  return frame;
}

std::vector<Frame> datagrams(const Frame& frame, std::uint32_t number, std::size_t mtu = 256) {
  std::vector<Frame> out;
  for (Segments segments({.number = number}, frame, mtu); !segments.done(); segments.next()) {
    out.push_back(test::datagram_of(segments.head(), segments.part()));
  }
  return out;
}

class ReassemblyTest : public ::testing::Test {
 protected:
  // The frame that is whole with it; empty: none is.
  Frame add(const Frame& datagram, Reassembly::Source source = 0) {
    const auto message = LanMessage::parse(datagram);
    EXPECT_TRUE(message);
    const auto whole = reassembly.add(source, *message, now);
    if (!whole) return {};
    EXPECT_TRUE(whole->whole());
    return {whole->part.begin(), whole->part.end()};
  }
  std::uint64_t count(LanCounter counter) const { return counters.get(counter); }

  LanCounters counters;
  Reassembly reassembly{{.frames = 8, .frames_each = 4, .patience = 100ms}, counters};
  Time now{1s};
};

TEST_F(ReassemblyTest, PutsPartsTogetherInAnyOrder) {
  Random random(1);
  std::uint32_t number = 0;
  for (const std::size_t size : {1U, 232U, 233U, 1514U, 9014U, 65'535U, 65'597U}) {
    const Frame frame = frame_of(size, 5);
    std::vector<Frame> parts = datagrams(frame, ++number);
    for (std::size_t i = parts.size(); i > 1; --i)
      std::swap(parts[i - 1], parts[random.below(i)]);
    Frame came;
    for (const Frame& part : parts) {
      EXPECT_TRUE(came.empty());
      came = add(part);
    }
    EXPECT_EQ(came, frame);
    EXPECT_EQ(reassembly.open(), 0u);
  }
}

TEST_F(ReassemblyTest, TakesNothingTwice) {
  const Frame frame = frame_of(600, 1);
  const std::vector<Frame> parts = datagrams(frame, 9);
  for (const std::size_t which : {0U, 0U, 1U, 0U, 1U})
    EXPECT_TRUE(add(parts[which]).empty());
  EXPECT_EQ(add(parts[2]), frame);
  for (const Frame& part : parts)
    EXPECT_TRUE(add(part).empty());
  const Frame shorter = frame_of(100, 2);
  EXPECT_EQ(add(datagrams(shorter, 10)[0]), shorter);
  EXPECT_TRUE(add(datagrams(shorter, 10)[0]).empty());
  EXPECT_EQ(count(LanCounter::kRxDoubled), 3u + 3u + 1u);
  EXPECT_EQ(reassembly.open(), 0u);
}

TEST_F(ReassemblyTest, KeepsFramesOfSendersApart) {
  const Frame one = frame_of(400, 1);
  const Frame two = frame_of(400, 2);
  EXPECT_TRUE(add(datagrams(one, 5)[0], 1).empty());
  EXPECT_TRUE(add(datagrams(two, 5)[0], 2).empty());
  EXPECT_EQ(add(datagrams(two, 5)[1], 2), two);
  EXPECT_EQ(add(datagrams(one, 5)[1], 1), one);
}

TEST_F(ReassemblyTest, DropsWhatIsIncompleteForTooLong) {
  const std::vector<Frame> parts = datagrams(frame_of(400, 1), 5);
  EXPECT_FALSE(reassembly.deadline());
  EXPECT_TRUE(add(parts[0]).empty());
  EXPECT_EQ(reassembly.deadline(), now + 100ms);
  now += 99ms;
  reassembly.run(now);
  EXPECT_EQ(reassembly.open(), 1u);
  now += 1ms;
  reassembly.run(now);
  EXPECT_EQ(count(LanCounter::kRxIncomplete), 1u);
  // The rest comes too late to begin it again.
  EXPECT_TRUE(add(parts[1]).empty());
  EXPECT_EQ(reassembly.open(), 0u);
  EXPECT_FALSE(reassembly.deadline());
}

TEST_F(ReassemblyTest, DropsFramesWhosePartsContradict) {
  const std::vector<Frame> parts = datagrams(frame_of(400, 1), 5);
  const std::vector<Frame> others = datagrams(frame_of(401, 1), 5);
  EXPECT_TRUE(add(parts[0]).empty());
  EXPECT_TRUE(add(others[1]).empty());
  EXPECT_EQ(count(LanCounter::kRxConflict), 1u);
  EXPECT_EQ(reassembly.open(), 0u);
  // One that overlaps what has come, but is more than that, and of another frame.
  EXPECT_TRUE(add(datagrams(frame_of(1000, 1), 6)[0]).empty());
  EXPECT_TRUE(add(datagrams(frame_of(1000, 2), 6, 512)[0]).empty());
  EXPECT_EQ(count(LanCounter::kRxConflict), 2u);
  EXPECT_EQ(reassembly.open(), 0u);
}

// As when it comes by itself and to a group as well.
TEST_F(ReassemblyTest, PutsAFrameTogetherThatIsCutInTwoWays) {
  std::uint32_t number = 0;
  for (const std::size_t size : {1000U, 1001U, 1007U}) {
    const Frame frame = frame_of(size, 1);
    const std::vector<Frame> small = datagrams(frame, ++number);
    const std::vector<Frame> large = datagrams(frame, number, 512);
    ASSERT_EQ(small.size(), 5u);
    ASSERT_EQ(large.size(), 3u);
    EXPECT_TRUE(add(small[0]).empty());
    EXPECT_TRUE(add(small[4]).empty());
    EXPECT_TRUE(add(large[2]).empty());
    EXPECT_TRUE(add(large[1]).empty());
    EXPECT_TRUE(add(small[2]).empty());  // all of which has come
    EXPECT_EQ(add(large[0]), frame);
    EXPECT_TRUE(add(small[1]).empty());
  }
  EXPECT_EQ(count(LanCounter::kRxConflict), 0u);
  EXPECT_EQ(reassembly.open(), 0u);
}

TEST_F(ReassemblyTest, GivesAFloodOnlyItsShare) {
  const Frame victim = frame_of(400, 1);
  EXPECT_TRUE(add(datagrams(victim, 1)[0], 1).empty());
  for (std::uint32_t number = 0; number < 1000; ++number) {
    EXPECT_TRUE(add(datagrams(frame_of(65'000, 2), number)[0], 2).empty());
    ASSERT_LE(reassembly.open(), 5u);
  }
  EXPECT_EQ(add(datagrams(victim, 1)[1], 1), victim);
  EXPECT_EQ(count(LanCounter::kRxCrowded), 996u);
  EXPECT_LE(reassembly.memory(), 8 * kLongestFrame);
}

TEST_F(ReassemblyTest, TakesTheOldestPlaceWhenAllAreTaken) {
  for (std::uint32_t source = 0; source < 9; ++source) {
    EXPECT_TRUE(add(datagrams(frame_of(400, source), 1)[0], source).empty());
    now += 1ms;
  }
  EXPECT_EQ(reassembly.open(), 8u);
  EXPECT_EQ(count(LanCounter::kRxCrowded), 1u);
  EXPECT_EQ(add(datagrams(frame_of(400, 1), 1)[1], 1), frame_of(400, 1));
  EXPECT_TRUE(add(datagrams(frame_of(400, 0), 1)[1], 0).empty());
}

TEST_F(ReassemblyTest, FollowsASenderThatBeginsAnew) {
  const Frame frame = frame_of(100, 1);
  EXPECT_EQ(add(datagrams(frame, 3'000'000)[0]), frame);
  EXPECT_TRUE(add(datagrams(frame, 3'000'000 - 1000)[0]).empty());
  EXPECT_EQ(count(LanCounter::kRxLate), 1u);
  EXPECT_EQ(add(datagrams(frame, 5)[0]), frame);
  EXPECT_TRUE(add(datagrams(frame, 5)[0]).empty());
  EXPECT_EQ(add(datagrams(frame, 6)[0]), frame);
}

TEST_F(ReassemblyTest, ForgetsASenderThatHasGone) {
  const Frame frame = frame_of(100, 1);
  EXPECT_EQ(add(datagrams(frame, 5)[0]), frame);
  EXPECT_TRUE(add(datagrams(frame_of(400, 1), 6)[0]).empty());
  reassembly.forget(0);
  EXPECT_EQ(reassembly.open(), 0u);
  EXPECT_EQ(count(LanCounter::kRxSenderGone), 1u);
  EXPECT_EQ(add(datagrams(frame, 5)[0]), frame);
}

TEST(ArrivalWindow, TellsNewFromDoubledAroundItsNewest) {
  using Verdict = ArrivalWindow::Verdict;
  ArrivalWindow window;
  window.mark(0xFFFF'FFF0);
  window.mark(0x10);  // numbers go round
  EXPECT_EQ(window.look(0xFFFF'FFF0), Verdict::kDoubled);
  EXPECT_EQ(window.look(0xFFFF'FFF1), Verdict::kNew);
  window.mark(0xFFFF'FFF1);
  EXPECT_EQ(window.look(0xFFFF'FFF1), Verdict::kDoubled);
  EXPECT_EQ(window.look(0x10 - 63), Verdict::kNew);
  EXPECT_EQ(window.look(0x10 - 64), Verdict::kLate);
  window.mark(0x10 + 64);
  EXPECT_EQ(window.look(0x10), Verdict::kLate);
  EXPECT_EQ(window.look(0x11), Verdict::kNew);
}

}  // namespace
}  // namespace weft::lan
