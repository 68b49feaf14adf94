// SPDX-License-Identifier: Apache-2.0
// What the two halves of loss recovery remember: arrival_log.h and sent_log.h.
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "wan/arrival_log.h"
#include "wan/sent_log.h"

namespace weft::wan {
namespace {

std::set<std::uint64_t> told(const ArrivalLog& log) {
  std::array<AcknowledgeItem::Range, 64> ranges;
  std::set<std::uint64_t> out;
  for (const auto& range : std::span(ranges).first(log.ranges(ranges))) {
    for (std::uint64_t i = 0; i < range.length; ++i)
      EXPECT_TRUE(out.insert(log.next() + range.offset + i).second);
  }
  return out;
}

TEST(ArrivalLog, TakesEachFrameOnce) {
  ArrivalLog log;
  EXPECT_TRUE(log.awaits(0));
  log.arrived(0);
  EXPECT_FALSE(log.awaits(0));
  EXPECT_EQ(log.next(), 1);
  log.arrived(3);
  EXPECT_FALSE(log.awaits(3));
  EXPECT_TRUE(log.awaits(2));
  EXPECT_EQ(log.next(), 1);
  EXPECT_FALSE(log.awaits(1 + kFrameWindow)) << "beyond what it can remember";
  log.settle(3);
  EXPECT_EQ(log.next(), 4);
  EXPECT_FALSE(log.awaits(2)) << "it is settled";
}

TEST(ArrivalLog, AgreesWithASetWhateverComes) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    ArrivalLog log;
    std::set<std::uint64_t> come;
    std::uint64_t next = 0;
    std::uint64_t newest = kFrameWindow * seed / 3;
    log.settle(newest);
    next = newest;
    for (int step = 0; step < 3000; ++step) {
      newest += random.below(4);
      const std::uint64_t number = newest - random.below(150) * (random.chance(0.3) ? 1 : 0);
      if (number >= next && !come.contains(number)) {
        ASSERT_TRUE(log.awaits(number));
        log.arrived(number);
        come.insert(number);
      } else {
        ASSERT_FALSE(log.awaits(number));
      }
      if (random.chance(0.01)) {
        const std::uint64_t before = next + random.below(200);
        log.settle(before);
        next = std::max(next, before);
      }
      while (come.contains(next))
        ++next;
      come.erase(come.begin(), come.lower_bound(next));
      newest = std::max(newest, next);
      ASSERT_EQ(log.next(), next);
      ASSERT_EQ(log.gaps(), !come.empty());
      if (step % 50 != 0) continue;
      // The newest ranges, as many as there is room for.
      const auto ranges = told(log);
      ASSERT_TRUE(std::includes(come.begin(), come.end(), ranges.begin(), ranges.end()));
      ASSERT_EQ(ranges.empty(), come.empty());
      if (!come.empty()) {
        ASSERT_EQ(*ranges.rbegin(), *come.rbegin());
      }
    }
  }
}

class Sent : public ::testing::Test, public SentLog::Observer {
 protected:
  void arrived(const SentPiece& piece) override { come.push_back(piece.sequence); }
  void lost(const SentPiece& piece) override { gone.push_back(piece.sequence); }
  // Frame n holds packet n.
  void send(int frames) {
    for (int i = 0; i < frames; ++i)
      log.sent(std::array{SentPiece{.length = 100, .sequence = log.next()}}, now);
  }
  bool acknowledge(std::uint64_t before, std::vector<AcknowledgeItem::Range> ranges = {}) {
    const bool good = log.acknowledged(before, ranges, now, *this);
    log.expire(now, *this);
    return good;
  }
  // Ten frames there and back, so that the round trip is known.
  void measure() {
    for (int i = 0; i < 10; ++i) {
      send(1);
      now += 100ms;
      acknowledge(log.next());
    }
    come.clear();
  }
  using Numbers = std::vector<std::uint64_t>;
  Time now{1s};
  SentLog log;
  Numbers come;
  Numbers gone;
};

TEST_F(Sent, TellsOfEachPieceOnceHoweverOftenItIsAcknowledged) {
  send(6);
  now += 10ms;
  EXPECT_TRUE(acknowledge(2));
  EXPECT_TRUE(acknowledge(2, {{2, 1}}));
  EXPECT_TRUE(acknowledge(2, {{2, 1}, {1, 1}}));
  EXPECT_TRUE(acknowledge(2, {{1, 2}}));
  EXPECT_EQ(come, (Numbers{0, 1, 4, 3}));
  EXPECT_EQ(log.open(), 4);
  EXPECT_TRUE(acknowledge(6));
  EXPECT_EQ(come, (Numbers{0, 1, 4, 3, 2, 5}));
  EXPECT_EQ(log.open(), 0);
  EXPECT_FALSE(log.deadline());
}

TEST_F(Sent, RefusesWhatAcknowledgesFramesThatWereNeverSent) {
  send(3);
  EXPECT_FALSE(acknowledge(4));
  EXPECT_FALSE(acknowledge(0, {{1, 3}}));
  EXPECT_FALSE(acknowledge(0, {{0xFFFFFFFF, 0xFFFFFFFF}}));
  EXPECT_TRUE(come.empty());
}

TEST_F(Sent, GivesUpAFrameThatWasOvertakenForLongerThanARoundTrip) {
  measure();
  send(1);
  const std::uint64_t lost = log.next() - 1;
  now += 1ms;
  send(1);
  now += 100ms;
  acknowledge(lost, {{1, 1}});
  EXPECT_TRUE(gone.empty()) << "it may only be late";
  ASSERT_TRUE(log.deadline());
  now = *log.deadline();
  log.expire(now, *this);
  EXPECT_EQ(gone, Numbers{lost});
  EXPECT_EQ(log.awaited(), 0);
}

TEST_F(Sent, FindsOutWhetherAnythingComesWhenNobodyAnswers) {
  measure();
  send(20);
  const std::uint64_t first = log.next() - 20;
  Time before = now;
  for (int silence = 1; silence <= 3; ++silence) {
    const Duration waited = *log.deadline() - now;
    EXPECT_GE(waited, 100ms);
    now = *log.deadline();
    log.expire(now, *this);
    EXPECT_EQ(gone.size(), static_cast<std::size_t>(4 * silence));
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_EQ(gone.front(), first) << "the oldest first";
}

TEST_F(Sent, MeasuresTheRoundTrip) {
  EXPECT_FALSE(log.round_trip().known());
  measure();
  EXPECT_EQ(log.round_trip().smoothed(), 100ms);
}

}  // namespace
}  // namespace weft::wan
