// SPDX-License-Identifier: Apache-2.0
#include "wan/session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/random.h"

namespace weft::wan {
namespace {

using namespace std::chrono_literals;

// Two ends that hear each other's hellos, the second of which is not as it should be.
class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    options_.capacity.fill(1000);
    other_.capacity.fill(1000);
  }

  void meet() {
    Session one(options_, entropy_);
    Session other(other_, entropy_);
    one.open(now_);
    other.open(now_);
    for (int i = 0; i < 10; ++i) {
      now_ += 10ms;
      tell(one, other);
      tell(other, one);
    }
    state_ = one.state();
    other_state_ = other.state();
    why_ = one.why();
    other_why_ = other.why();
  }

  void expect_refusal(const std::string& why, const std::string& other_why) {
    meet();
    EXPECT_EQ(state_, Session::State::kRefused);
    EXPECT_EQ(other_state_, Session::State::kRefused);
    EXPECT_EQ(why_, why);
    EXPECT_EQ(other_why_, other_why);
  }

  SeededEntropy entropy_{Random(1)};
  SessionOptions options_;
  SessionOptions other_;
  Session::State state_ = Session::State::kClosed;
  Session::State other_state_ = Session::State::kClosed;
  std::string why_;
  std::string other_why_;

 private:
  void tell(Session& from, Session& to) {
    if (!from.hello_due()) return;
    const std::uint64_t named = from.named();
    const auto refusal = from.why_not();
    to.hear(from.hello(now_), named, now_, refusal);
  }

  Time now_{};
};

TEST_F(SessionTest, AgreesWhereBothEndsAreAsTheyShouldBe) {
  meet();
  EXPECT_EQ(state_, Session::State::kUp);
  EXPECT_EQ(other_state_, Session::State::kUp);
  EXPECT_EQ(why_, "");
}

TEST_F(SessionTest, RefusesAnotherModeAndSaysSoAtBothEnds) {
  other_.mode = TunnelMode::kRouter;
  expect_refusal("the other end is in mode router, this one in mode bridge",
                 "the other end is in mode bridge, this one in mode router");
}

TEST_F(SessionTest, RefusesFramesThatAreTooShort) {
  other_.longest_frame = 500;
  expect_refusal("the other end takes frames of 500 bytes, at least 512 are needed",
                 "the frames that this end takes are too short for the other one");
}

TEST_F(SessionTest, RefusesAFifoThatHasNoRoomForAPacket) {
  other_.capacity[7] = 1;
  expect_refusal("a FIFO of the other end has no room for one packet",
                 "a FIFO of this end has no room for one packet");
}

TEST_F(SessionTest, RefusesOtherRepairsOfLostFrames) {
  other_.fec = {.frames = 20, .repairs = 2};
  expect_refusal("the other end has fec 20+2, this one no fec",
                 "the other end has no fec, this one fec 20+2");
}

TEST_F(SessionTest, RefusesAnotherVersionOnlyWhileItLooksForAnEnd) {
  Session session(options_, entropy_);
  session.open(Time{});
  EXPECT_EQ(session.hear_other_version(), Session::Event::kRefused);
  EXPECT_NE(session.why().find("another version of the format"), std::string::npos);
  EXPECT_EQ(session.hear_other_version(), Session::Event::kNone);
}

TEST_F(SessionTest, RefusesAPathThatLeadsBackToItself) {
  Session session(options_, entropy_);
  session.open(Time{});
  const std::uint64_t named = session.named();
  const Hello own = session.hello(Time{});
  EXPECT_EQ(session.hear(own, named, Time{}), Session::Event::kRefused);
  EXPECT_EQ(session.why(), "the path leads back to this end");
}

}  // namespace
}  // namespace weft::wan
