// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "cell_stage.h"
#include "wan/line/atm/oam_end.h"

namespace weft::wan::atm {
namespace {

TEST(Oam, WritesTheLoopbackCellOfTheVector) {
  Octets cell(kCellSize);
  write_header({.channel = kChannel, .payload_type = kOamEndToEnd}, cell);
  std::ranges::copy(write_oam(OamLoopback{.tag = 0x11223344}), cell.begin() + kHeaderSize);
  EXPECT_EQ(
      to_hex(cell),
      "0000064ada180111223344ffffffffffffffffffffffffffffffff6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a6a"
      "6a6a6a6a6a6a6a0211");
}

TEST(Oam, ReadsWhatItWritesAndNothingWithAWrongBit) {
  OamLoopback loopback{.to_be_looped = false, .tag = 0xCAFE'F00D};
  loopback.location.fill(std::byte{1});
  loopback.source.fill(std::byte{2});
  OamPayload payload = write_oam(loopback);
  const auto read = read_oam(payload);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->loopback, loopback);
  EXPECT_TRUE(read_oam(write_oam(OamFunction::kRemote))->is(OamFunction::kRemote));
  for (unsigned bit = 0; bit < 8 * kPayloadSize; ++bit) {
    payload[bit / 8] ^= static_cast<std::byte>(0x80U >> bit % 8);
    EXPECT_FALSE(read_oam(payload)) << bit;
    payload[bit / 8] ^= static_cast<std::byte>(0x80U >> bit % 8);
  }
}

// Two ends, and what goes between them.
class OamEnds : public testing::Test {
 protected:
  static Octets cells_of(OamEnd& end) {
    Octets cells(64 * kCellSize);
    cells.resize(end.put_cells(cells) * kCellSize);
    return cells;
  }
  static void bring(Bytes cells, OamEnd& to) {
    for (; !cells.empty(); cells = cells.subspan(kCellSize)) {
      EXPECT_TRUE(checks_right(cells));
      EXPECT_EQ(read_header(cells).payload_type, kOamEndToEnd);
      EXPECT_EQ(read_header(cells).channel, kChannel);
      to.take_oam({.header = read_header(cells), .first = cells.data() + kHeaderSize, .count = 1});
    }
  }
  void run_for(Duration time, bool there = true, bool back = true) {
    for (const Time end = now_ + time; now_ < end; now_ += 100ms) {
      for (OamEnd* const one : {&west_, &east_})
        one->advance(now_);
      for (int trip = 0; trip < 2; ++trip) {
        const Octets out = cells_of(west_);
        const Octets in = cells_of(east_);
        if (there) bring(out, east_);
        if (back) bring(in, west_);
      }
    }
  }
  void alarm(OamEnd& end) {
    const OamPayload payload = write_oam(OamFunction::kAlarm);
    end.take_oam({.header = {}, .first = payload.data(), .count = 1});
  }

  Time now_{};
  OamEnd west_{{.channel = kChannel}};
  OamEnd east_{{.channel = kChannel, .first_tag = 900}};
};

TEST_F(OamEnds, AreUpWhenTheOtherOneAnswersAndNotLongerThanItDoes) {
  EXPECT_FALSE(west_.up());
  run_for(200ms);
  EXPECT_TRUE(west_.up());
  EXPECT_TRUE(east_.up());
  run_for(10s);
  EXPECT_EQ(west_.counters().get(OamCounter::kLoopbacksLost), 0U);
  run_for(2s, false);
  EXPECT_TRUE(west_.up());
  run_for(2s, false);
  EXPECT_FALSE(west_.up());
  EXPECT_FALSE(east_.up());
  EXPECT_GE(west_.counters().get(OamCounter::kLoopbacksLost), 3U);
  run_for(2s);
  EXPECT_TRUE(west_.up());
}

// As on a line through something that is busy: beyond a period, and beyond two.
TEST_F(OamEnds, AreUpThoughAnswersTakeLongerThanAPeriod) {
  for (const Duration delay : {1500ms, 2700ms}) {
    SCOPED_TRACE(delay / 1ms);
    OamEnd asking({.channel = kChannel});
    OamEnd answering({.channel = kChannel, .first_tag = 900});
    std::deque<std::pair<Time, Octets>> on_the_way;
    const auto run = [&](Duration time, bool there) {
      for (const Time end = now_ + time; now_ < end; now_ += 100ms) {
        asking.advance(now_);
        bring(cells_of(asking), answering);
        on_the_way.emplace_back(now_ + delay, cells_of(answering));
        for (; on_the_way.front().first <= now_; on_the_way.pop_front())
          if (there) bring(on_the_way.front().second, asking);
      }
    };
    run(3s, true);
    for (int second = 0; second < 20; ++second) {
      EXPECT_TRUE(asking.up()) << second;
      run(1s, true);
    }
    EXPECT_GE(asking.counters().get(OamCounter::kLoopbacksLate), 20U);
    EXPECT_EQ(asking.counters().get(OamCounter::kLoopbacksForOthers), 0U);
    run(4s, false);
    EXPECT_FALSE(asking.up());
  }
}

TEST_F(OamEnds, TakeNoAnswerTwiceAndNoneThatIsTooOld) {
  Octets answers;
  for (int second = 0; second < 5; ++second, now_ += 1s) {
    west_.advance(now_);
    bring(cells_of(west_), east_);
    const Octets answer = cells_of(east_);
    answers.insert(answers.end(), answer.begin(), answer.end());
  }
  const Bytes all(answers);
  bring(all.first(2 * kCellSize), west_);
  EXPECT_FALSE(west_.up()) << "the last three alone are waited for";
  bring(all.subspan(3 * kCellSize, kCellSize), west_);
  EXPECT_TRUE(west_.up());
  EXPECT_EQ(west_.round_trip(), 1s);
  bring(all.subspan(2 * kCellSize, 2 * kCellSize), west_);
  EXPECT_EQ(west_.counters().get(OamCounter::kLoopbacksLate), 1U);
  EXPECT_EQ(west_.counters().get(OamCounter::kLoopbacksForOthers), 4U);
}

TEST_F(OamEnds, SayToTheOtherOneThatNothingComesWhileTheNetworkSaysSo) {
  run_for(1s);
  for (int i = 0; i < 3; ++i) {
    alarm(east_);
    run_for(1s);
  }
  EXPECT_TRUE(east_.alarmed());
  EXPECT_TRUE(west_.remote_defect());
  EXPECT_FALSE(west_.up());
  run_for(6s);
  EXPECT_FALSE(east_.alarmed());
  EXPECT_TRUE(west_.up());
  EXPECT_EQ(east_.counters().get(OamCounter::kAlarms), 1U);
  EXPECT_EQ(west_.counters().get(OamCounter::kRemoteDefects), 1U);
}

TEST_F(OamEnds, TakeUserDataForTheEndOfAnAlarm) {
  run_for(1s);
  alarm(east_);
  EXPECT_FALSE(east_.up());
  east_.user_cells_came();
  EXPECT_TRUE(east_.up());
  alarm(east_);
  const OamPayload continuity = write_oam(OamFunction::kContinuity);
  east_.take_oam({.header = {}, .first = continuity.data(), .count = 1});
  EXPECT_TRUE(east_.up());
}

TEST_F(OamEnds, DoNotTakeTheirOwnCellsForAnothersOnALoopedLine) {
  OamEnd named({.channel = kChannel, .source = OamLoopback::of(std::byte{0x11})});
  named.advance(now_);
  bring(cells_of(named), named);
  EXPECT_EQ(named.counters().get(OamCounter::kLooped), 1U);
  EXPECT_TRUE(cells_of(named).empty());
  EXPECT_FALSE(named.up());
}

TEST_F(OamEnds, LeaveAloneWhatIsForOthers) {
  west_.advance(now_);
  const OamPayload other = write_oam(OamLoopback{.to_be_looped = false, .tag = 77});
  west_.take_oam({.header = {}, .first = other.data(), .count = 1});
  OamLoopback elsewhere;
  elsewhere.location.fill(std::byte{5});
  const OamPayload away = write_oam(elsewhere);
  west_.take_oam({.header = {}, .first = away.data(), .count = 1});
  EXPECT_EQ(west_.counters().get(OamCounter::kLoopbacksForOthers), 2U);
}

TEST_F(OamEnds, KeepNoMoreThanTheyHaveRoomForAndCountTheRest) {
  const OamPayload ask = write_oam(OamLoopback{});
  for (std::size_t i = 0; i < OamEnd::kMostWaiting + 5; ++i)
    west_.take_oam({.header = {}, .first = ask.data(), .count = 1});
  OamPayload wrong = ask;
  wrong[3] ^= std::byte{1};
  west_.take_oam({.header = {}, .first = wrong.data(), .count = 1});
  EXPECT_EQ(west_.counters().get(OamCounter::kQueueFull), 5U);
  EXPECT_EQ(west_.counters().get(OamCounter::kAnswered), OamEnd::kMostWaiting);
  EXPECT_EQ(west_.counters().get(OamCounter::kBadCrc), 1U);
  EXPECT_EQ(cells_of(west_).size(), OamEnd::kMostWaiting * kCellSize);
}

}  // namespace
}  // namespace weft::wan::atm
