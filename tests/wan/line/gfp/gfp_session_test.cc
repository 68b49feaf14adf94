// SPDX-License-Identifier: Apache-2.0
#include "wan/line/gfp/gfp_session.h"

#include <gtest/gtest.h>

#include "../line_stage.h"

namespace weft::wan {
namespace {

struct GfpEnd {
  WaitingPackets packets;
  CollectedPackets got;
  GfpTransmitter transmitter{{}, packets};
  GfpReceiver receiver{{}, got};
  GfpSession session{{}, receiver, transmitter};
};

// Two ends and a line of 80 octets a millisecond each way.
struct Pair {
  GfpEnd a;
  GfpEnd b;
  Time now{1s};
  bool there = true;  // from a to b
  bool back = true;

  void run(Duration time) {
    for (const Time end = now + time; now < end; now += 1ms) {
      carry(a, b, there);
      carry(b, a, back);
      a.session.advance(now);
      b.session.advance(now);
    }
  }
  static void carry(GfpEnd& from, GfpEnd& to, bool carries) {
    Packet octets = drawn(from.transmitter, 80);
    if (!carries) octets.assign(80, std::byte{0});
    to.receiver.take(octets);
  }
  [[nodiscard]] bool up() const { return a.session.up() && b.session.up(); }
};

TEST(GfpSession, IsUpAtOnceWhereBothAreInStep) {
  Pair pair;
  EXPECT_FALSE(pair.up());
  pair.run(10ms);
  EXPECT_TRUE(pair.up());
  pair.run(1s);
  EXPECT_EQ(pair.a.session.next_deadline(), Time::max());
}

TEST(GfpSession, IsUpWhoeverBeginsFirst) {
  Pair pair;
  pair.there = false;
  pair.run(500ms);
  EXPECT_FALSE(pair.a.session.up());
  EXPECT_EQ(pair.a.session.remote_defect(), GfpManagement::kReverseDefect);
  pair.there = true;
  pair.run(500ms);
  EXPECT_TRUE(pair.up());
}

TEST(GfpSession, GoesDownAtBothEndsWhereOneDirectionIsCut) {
  Pair pair;
  pair.run(10ms);
  pair.there = false;
  pair.run(45ms);
  EXPECT_TRUE(pair.up()) << "shorter than the line may take to be switched over";
  pair.run(20ms);
  EXPECT_FALSE(pair.b.session.up());
  EXPECT_FALSE(pair.a.session.up());
  EXPECT_EQ(pair.a.session.remote_defect(), GfpManagement::kReverseDefect);
  pair.there = true;
  pair.run(500ms);
  EXPECT_TRUE(pair.up());
}

TEST(GfpSession, TellsTheOtherEndThatTheClientIsGone) {
  Pair pair;
  pair.run(10ms);
  pair.a.session.set_client(false);
  pair.run(10ms);
  EXPECT_FALSE(pair.b.session.up());
  EXPECT_EQ(pair.b.session.remote_defect(), GfpManagement::kLossOfSignal);
  EXPECT_FALSE(pair.a.session.up());
  pair.run(10s);
  EXPECT_FALSE(pair.b.session.up());
  pair.a.session.set_client(true);
  pair.run(10ms);
  EXPECT_TRUE(pair.up());
}

// Of who does not say that its defect is clear, as other makes may not.
TEST(GfpSession, TakesADefectAsOverWhenNobodySaysItAnyMore) {
  Pair pair;
  pair.run(1s);
  pair.b.transmitter.manage(GfpManagement::kForwardDefect);
  pair.run(2ms);
  EXPECT_FALSE(pair.a.session.up());
  EXPECT_EQ(pair.a.session.remote_defect(), GfpManagement::kForwardDefect);
  pair.run(2900ms);
  EXPECT_FALSE(pair.a.session.up());
  pair.run(200ms);
  EXPECT_TRUE(pair.up());
}

TEST(GfpSession, SaysWhatItLacksOncePerPeriod) {
  Pair pair;
  pair.back = false;
  pair.run(1s);
  const auto frames = pair.a.transmitter.counters().get(GfpSendCounter::kManagementFrames);
  EXPECT_EQ(frames, 10);
  EXPECT_EQ(pair.a.session.next_deadline(), Time{1s} + 1s);
}

}  // namespace
}  // namespace weft::wan
