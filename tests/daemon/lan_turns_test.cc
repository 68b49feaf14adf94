// SPDX-License-Identifier: Apache-2.0
// Whose turn it is among LAN ports.
#include "daemon/lan/lan_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace weft::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LanTurnsTest : public testing::Test {
 protected:
  struct Port final : LanTurns::Member {
    bool work(Time, bool look) override {
      log->push_back(name + (look ? "+" : ""));
      return std::exchange(finds, false);
    }
    [[nodiscard]] Time deadline() const override { return due; }
    [[nodiscard]] bool lively(Time) const override { return is_lively; }

    std::string name;
    std::vector<std::string>* log = nullptr;
    Time due = Time::max();
    bool finds = false;
    bool is_lively = false;
  };

  LanTurnsTest() {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      ports_[i].name = std::string(1, static_cast<char>('a' + i));
      ports_[i].log = &log_;
      turns_.add(ports_[i]);
    }
    turn(false);
  }
  // Who had a turn; with "+" those that were to look.
  std::vector<std::string> turn(bool look) {
    log_.clear();
    worked_ = turns_.work(now_, look);
    return log_;
  }

  std::vector<std::string> log_;
  std::array<Port, LanTurns::kFewLively + 1> ports_;
  LanTurns turns_;
  Time now_{1s};
  bool worked_ = false;
};

TEST_F(LanTurnsTest, WhoIsQuietHasNone) {
  EXPECT_THAT(turn(true), IsEmpty());
  EXPECT_FALSE(worked_);
  EXPECT_EQ(turns_.deadline(), Time::max());
}

TEST_F(LanTurnsTest, WhoHasSomethingToDoHasOne) {
  turns_.ready(ports_[1]);
  turns_.ready(ports_[0]);
  turns_.ready(ports_[1]);
  EXPECT_LE(turns_.deadline(), now_);
  ports_[0].finds = true;
  EXPECT_THAT(turn(true), ElementsAre("b", "a"));
  EXPECT_TRUE(worked_);
  EXPECT_THAT(turn(true), IsEmpty());
}

// What a port has found may be for another one, and the answer for the first.
TEST_F(LanTurnsTest, ATurnGoesOnWithThoseAloneThatHaveBecomeReady) {
  ports_[0].is_lively = true;
  turns_.ready(ports_[0]);
  turn(true);
  turns_.ready(ports_[1]);
  log_.clear();
  EXPECT_FALSE(turns_.go_on(now_));
  EXPECT_THAT(log_, ElementsAre("b"));
  for (std::size_t i = 0; i < LanTurns::kFewLively; ++i) {
    turns_.ready(ports_[0]);
    ports_[0].finds = true;
    log_.clear();
    EXPECT_TRUE(turns_.go_on(now_));
    EXPECT_THAT(log_, ElementsAre("a"));
  }
  EXPECT_TRUE(turns_.can_look()) << "it is one port, however often it has been lively";
  EXPECT_THAT(turn(true), ElementsAre("a+"));
}

TEST_F(LanTurnsTest, DeadlinesAreMet) {
  ports_[0].due = now_ + 10ms;
  ports_[1].due = now_ + 5ms;
  turns_.ready(ports_[0]);
  turns_.ready(ports_[1]);
  turn(false);
  EXPECT_EQ(turns_.deadline(), now_ + 5ms);
  now_ += 5ms;
  ports_[1].due = Time::max();
  // What it has become meanwhile counts.
  EXPECT_THAT(turn(false), IsEmpty());
  EXPECT_EQ(turns_.deadline(), Time(1s) + 10ms);
  now_ += 6ms;
  ports_[0].finds = true;
  EXPECT_THAT(turn(false), ElementsAre("a"));
}

// Who has always more to do keeps nobody from his turn, nor the lab from the end of its own.
TEST_F(LanTurnsTest, WhoHasMoreToDoHasItInTheNextTurn) {
  ports_[0].due = now_;
  turns_.ready(ports_[0]);
  turns_.ready(ports_[1]);
  EXPECT_THAT(turn(false), ElementsAre("a", "b"));
  EXPECT_LE(turns_.deadline(), now_);
  EXPECT_THAT(turn(false), ElementsAre("a"));
}

TEST_F(LanTurnsTest, LivelyOnesLookInEveryTurnAndKeepNobodyAwake) {
  EXPECT_FALSE(turns_.can_look());
  ports_[0].is_lively = true;
  turns_.ready(ports_[0]);
  EXPECT_THAT(turn(true), ElementsAre("a"));
  EXPECT_TRUE(turns_.can_look());
  EXPECT_THAT(turn(true), ElementsAre("a+"));
  EXPECT_THAT(turn(false), ElementsAre("a"));
  EXPECT_EQ(turns_.deadline(), Time::max());
  ports_[0].is_lively = false;
  EXPECT_THAT(turn(true), ElementsAre("a+"));
  EXPECT_FALSE(turns_.can_look());
  EXPECT_THAT(turn(true), IsEmpty());
}

TEST_F(LanTurnsTest, NobodyLooksBehindOneWhoHasFoundSomething) {
  for (std::size_t i = 0; i < 3; ++i) {
    ports_[i].is_lively = true;
    turns_.ready(ports_[i]);
  }
  turn(false);
  ports_[1].finds = true;
  EXPECT_THAT(turn(true), ElementsAre("a+", "b+", "c"));
  EXPECT_THAT(turn(true), ElementsAre("a+", "b+", "c+"));
}

TEST_F(LanTurnsTest, ManyLivelyOnesDoNotLook) {
  for (Port& port : ports_) {
    port.is_lively = true;
    turns_.ready(port);
  }
  turn(true);
  EXPECT_FALSE(turns_.can_look());
  EXPECT_THAT(turn(true), ElementsAre("a", "b", "c", "d", "e"));
  turns_.remove(ports_[2]);
  EXPECT_TRUE(turns_.can_look());
  EXPECT_THAT(turn(true), ElementsAre("a+", "b+", "d+", "e+"));
}

TEST_F(LanTurnsTest, WhoHasGoneIsNotCalled) {
  ports_[0].due = now_ + 1ms;
  ports_[0].is_lively = true;
  turns_.ready(ports_[0]);
  turn(false);
  turns_.ready(ports_[0]);
  turns_.remove(ports_[0]);
  now_ += 1ms;
  EXPECT_THAT(turn(true), IsEmpty());
}

}  // namespace
}  // namespace weft::daemon
