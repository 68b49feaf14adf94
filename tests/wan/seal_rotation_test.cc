// SPDX-License-Identifier: Apache-2.0
// Keys that change under traffic, and sessions that come to their end.
#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <map>
#include <set>

#include "seal_fixture.h"
#include "sim/seeds.h"

namespace weft::wan::test {
namespace {

constexpr std::uint64_t kLastSequence = std::numeric_limits<std::uint64_t>::max() - 1;
constexpr std::uint32_t kLastEpoch = std::numeric_limits<std::uint32_t>::max();

SealHeader header_of(const Buffer& datagram) {
  return SealHeader::read(Bytes(datagram).first<SealHeader::kSize>());
}

TEST(SealRotation, TakesTheNextKeyAfterSoManyDatagrams) {
  Keys keys(1);
  Sealer sealer(keys, {.limits = {.datagrams = 10}});
  Opener opener(keys, {});
  for (std::uint64_t i = 0; i < 35; ++i) {
    const Buffer datagram = seal(sealer, some_bytes(20, i));
    EXPECT_EQ(header_of(datagram).epoch, i / 10);
    EXPECT_EQ(header_of(datagram).sequence, i);
    EXPECT_EQ(open(opener, datagram), some_bytes(20, i));
    EXPECT_EQ(opener.epoch(), i / 10);
  }
  EXPECT_EQ(sealer.counters().get(SealCounter::kRotated), 3u);
  EXPECT_EQ(opener.counters().get(OpenCounter::kRotated), 3u);
}

TEST(SealRotation, TakesTheNextKeyBeforeThereAreTooManyBytes) {
  Keys keys(1);
  Sealer sealer(keys, {.limits = {.bytes = 1000}});
  std::map<std::uint32_t, std::size_t> bytes;
  for (const std::size_t size : {600u, 400u, 1u, 999u, 600u, 500u, 2000u, 1u}) {
    bytes[header_of(seal(sealer, Buffer(size))).epoch] += size;
  }
  // A frame that is longer than all that is allowed has an epoch of its own.
  const std::map<std::uint32_t, std::size_t> right{{0, 1000}, {1, 1000}, {2, 600},
                                                   {3, 500},  {4, 2000}, {5, 1}};
  EXPECT_EQ(bytes, right);
}

TEST(SealRotation, TakesTheNextKeyWhenItIsTold) {
  Keys keys(1);
  Sealer sealer(keys, {});
  Opener opener(keys, {});
  sealer.rotate();
  EXPECT_EQ(header_of(seal(sealer, {})).epoch, 0u);  // there was no key yet to be replaced
  sealer.rotate();
  EXPECT_EQ(header_of(seal(sealer, {})).epoch, 1u);
  EXPECT_EQ(header_of(seal(sealer, {})).epoch, 1u);
}

TEST(SealRotation, OpensTheEpochBeforeForItsTimeAndThenErasesItsKey) {
  Keys keys(1);
  Sealer sealer(keys, {});
  Keys receiving(1);
  Opener opener(receiving, {.old_time = 10s});
  const Time start{};
  const Buffer first = seal(sealer, some_bytes(8, 1));
  const Buffer second = seal(sealer, some_bytes(8, 2));
  const Buffer third = seal(sealer, some_bytes(8, 3));
  EXPECT_TRUE(open(opener, first, start).has_value());
  EXPECT_FALSE(opener.deadline().has_value());
  sealer.rotate();
  EXPECT_TRUE(open(opener, seal(sealer, {}), start + 1s).has_value());
  EXPECT_EQ(opener.deadline(), start + 11s);
  EXPECT_EQ(*receiving.live, 2);
  EXPECT_EQ(open(opener, second, start + 11s - 1ns), some_bytes(8, 2));
  opener.expire(start + 11s);
  EXPECT_FALSE(opener.deadline().has_value());
  EXPECT_EQ(*receiving.live, 1);
  EXPECT_EQ(open(opener, third, start + 11s).error(), OpenCounter::kEndedEpoch);
}

TEST(SealRotation, LooksAtTheTimeAlsoWhenNobodyCallsExpire) {
  Keys keys(1);
  Sealer sealer(keys, {});
  Opener opener(keys, {.old_time = 10s});
  const Buffer first = seal(sealer, {});
  const Buffer late = seal(sealer, {});
  EXPECT_TRUE(open(opener, first).has_value());
  sealer.rotate();
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  EXPECT_EQ(open(opener, late, Time{} + 10s).error(), OpenCounter::kEndedEpoch);
}

TEST(SealRotation, OpensOfTheEpochBeforeNoMoreThanItsShare) {
  Keys keys(1);
  Sealer sealer(keys, {});
  Keys receiving(1);
  Opener opener(receiving, {.old_datagrams = 3});
  std::deque<Buffer> late;
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  for (int i = 0; i < 4; ++i)
    late.push_back(seal(sealer, {}));
  sealer.rotate();
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  Buffer forged = late[3];
  forged.back() ^= std::byte{1};
  for (int i = 0; i < 10; ++i)  // these cost nobody a share
    EXPECT_EQ(open(opener, forged).error(), OpenCounter::kForged);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(open(opener, late[static_cast<std::size_t>(i)]).has_value());
  EXPECT_EQ(open(opener, late[3]).error(), OpenCounter::kEndedEpoch);
  EXPECT_EQ(*receiving.live, 1);
}

TEST(SealRotation, KeepsNoKeyOfTheEpochBeforeThatHasNoShare) {
  Keys keys(1);
  Sealer sealer(keys, {});
  Keys receiving(1);
  Opener opener(receiving, {.old_datagrams = 0});
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  const Buffer late = seal(sealer, {});
  sealer.rotate();
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  EXPECT_EQ(*receiving.live, 1);
  EXPECT_EQ(open(opener, late).error(), OpenCounter::kEndedEpoch);
}

TEST(SealRotation, FollowsASenderOverEpochsOfWhichNothingArrived) {
  Keys keys(1);
  Sealer sealer(keys, {});
  Opener opener(keys, {});
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  Buffer lost;
  for (std::uint32_t i = 0; i < Opener::kMostAhead; ++i) {
    sealer.rotate();
    lost = seal(sealer, {});
  }
  EXPECT_TRUE(open(opener, lost).has_value());
  EXPECT_EQ(opener.epoch(), Opener::kMostAhead);
  for (std::uint32_t i = 0; i <= Opener::kMostAhead; ++i) {
    sealer.rotate();
    lost = seal(sealer, {});
  }
  EXPECT_EQ(open(opener, lost).error(), OpenCounter::kUnknownEpoch);
}

TEST(SealRotation, LetsNoForgerHaveKeysDerivedWithoutEnd) {
  Keys keys(1);
  Keys receiving(1);
  Sealer sealer(keys, {});
  Opener opener(receiving, {});
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  Buffer forged = seal(sealer, some_bytes(8, 1));
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t epoch = 0; epoch < 1000; ++epoch) {
      SealHeader{epoch, 77}.write(MutableBytes(forged).first<SealHeader::kSize>());
      ASSERT_FALSE(open(opener, forged).has_value());
    }
  }
  EXPECT_EQ(receiving.given, 1 + static_cast<int>(Opener::kMostAhead));
  EXPECT_EQ(opener.epoch(), 0u);
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  sealer.rotate();
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  EXPECT_EQ(*receiving.live, 2);  // the others went with the epoch that they were ahead of
}

TEST(SealRotation, GivesUpAKeyThatMetTooManyForgedDatagrams) {
  Keys keys(1);
  Sealer sealer(keys, {});
  Opener opener(keys, {.limits = {.forged = 5}});
  Buffer forged = seal(sealer, some_bytes(8, 1));
  const Buffer genuine = forged;
  forged.back() ^= std::byte{1};
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(open(opener, forged).error(), OpenCounter::kForged);
  EXPECT_EQ(open(opener, genuine).error(), OpenCounter::kWorn);
  sealer.rotate();
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
}

TEST(SealRotation, RefusesToSealWhenNumbersOrEpochsAreUsedUp) {
  Keys keys(1);
  Sealer last_number(keys, {.first = {.epoch = 3, .sequence = kLastSequence}});
  EXPECT_EQ(header_of(seal(last_number, {})).sequence, kLastSequence);
  Buffer out(kSealOverhead);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(last_number.seal({}, {}, out).error(), std::errc::value_too_large);
  EXPECT_EQ(last_number.counters().get(SealCounter::kRefused), 3u);

  keys.end = std::uint64_t{1} << 33;
  Sealer last_epoch(keys, {.limits = {.datagrams = 2}, .first = {.epoch = kLastEpoch}});
  seal(last_epoch, {});
  seal(last_epoch, {});
  EXPECT_EQ(last_epoch.seal({}, {}, out).error(), std::errc::value_too_large);
}

TEST(SealRotation, RefusesToGoOnWithAKeyThatIsSpentWhenThereIsNoOther) {
  Keys keys(1);
  keys.end = 1;
  Sealer sealer(keys, {.limits = {.datagrams = 2}});
  Opener opener(keys, {});
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  EXPECT_TRUE(open(opener, seal(sealer, {})).has_value());
  Buffer out(kSealOverhead);
  EXPECT_EQ(sealer.seal({}, {}, out).error(), std::errc::not_connected);
  EXPECT_EQ(sealer.counters().get(SealCounter::kRotated), 0u);
  SealHeader{1, 9}.write(MutableBytes(out).first<SealHeader::kSize>());
  EXPECT_EQ(open(opener, out).error(), OpenCounter::kUnknownEpoch);
}

// A path that loses, doubles, reorders and spoils, and a sender that changes its key every few
// datagrams. What is opened was sealed, each datagram once; what was neither lost nor later than
// both the window and the epochs allow, is opened.
class RotationPath {
 public:
  explicit RotationPath(std::uint64_t seed) : random_(seed) {}

  void run() {
    for (std::uint64_t step = 0; step < 3000; ++step) {
      now_ += 1ms;
      send();
      while (!on_way_.empty() && random_.chance(0.6))
        arrive();
      if (testing::Test::HasFailure()) return;
    }
    while (!on_way_.empty())
      arrive();
    EXPECT_GT(opener_.counters().get(OpenCounter::kRotated), 20u);
    EXPECT_GT(opened_, 1000u);
    // What arrived unspoilt was opened, but for copies, and for what two changes of the key at once
    // have overtaken.
    EXPECT_EQ(opened_ + late_.size(), intact_.size());
    EXPECT_LT(late_.size(), opened_ / 50);
    EXPECT_LE(*keys_.live, 3 + static_cast<int>(Opener::kMostAhead));
  }

 private:
  void send() {
    if (random_.chance(0.01)) sealer_.rotate();
    const Buffer frame = some_bytes(random_.below(300), random_.next());
    const Buffer datagram = seal(sealer_, frame);
    sent_[header_of(datagram).sequence] = frame;
    const std::uint64_t copies = random_.chance(0.1) ? 0 : random_.chance(0.1) ? 2 : 1;
    for (std::uint64_t i = 0; i < copies; ++i)
      on_way_.push_back(datagram);
  }
  void arrive() {
    const std::size_t at = random_.below(std::min<std::size_t>(on_way_.size(), 30));
    Buffer datagram = on_way_[at];
    on_way_.erase(on_way_.begin() + static_cast<std::ptrdiff_t>(at));
    const std::uint64_t sequence = header_of(datagram).sequence;
    const bool spoilt = random_.chance(0.1);
    if (spoilt) {
      datagram[random_.below(datagram.size())] ^= std::byte(1 << random_.below(8));
    } else {
      intact_.insert(sequence);
    }
    const auto opened = open(opener_, datagram, now_);
    if (!opened && opened.error() == OpenCounter::kEndedEpoch && !spoilt) {
      EXPECT_LT(header_of(datagram).epoch, opener_.epoch());
      late_.insert(sequence);
    }
    if (!opened) return;
    ++opened_;
    ASSERT_FALSE(spoilt);
    ASSERT_TRUE(sent_.contains(sequence)) << "twice: " << sequence;
    ASSERT_EQ(*opened, sent_.extract(sequence).mapped());
  }

  Random random_;
  Time now_{};
  Keys keys_{7};
  Sealer sealer_{keys_, {.limits = {.datagrams = 50}}};
  Opener opener_{keys_, {}};
  std::deque<Buffer> on_way_;
  std::map<std::uint64_t, Buffer> sent_;
  std::set<std::uint64_t> intact_;  // arrived so, once at least
  std::set<std::uint64_t> late_;
  std::uint64_t opened_ = 0;
};

TEST(SealRotation, LosesAndRepeatsNothingUnderTraffic) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "SealRotation.LosesAndRepeatsNothingUnderTraffic"));
    RotationPath(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::wan::test
