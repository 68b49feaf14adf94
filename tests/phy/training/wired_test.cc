// SPDX-License-Identifier: Apache-2.0
// Two ports whose lanes carry real bits: 8b/10b, training sequences, idle data.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "base/random.h"
#include "phy/lanes/lane_receiver.h"
#include "phy/training/lane_source.h"
#include "phy/training/link_training.h"
#include "quick_times.h"

namespace weft::phy {
namespace {

// An ordered set at 2.5 Gb/s.
constexpr Duration kSetTime = 64ns;

TrainingOptions soon() {
  TrainingOptions options;
  options.times = quick_times();
  return options;
}

struct Wires {
  bool reversed = false;
  std::array<bool, 4> cut{};
  std::array<bool, 4> crossed{};
  std::array<unsigned, 4> late{};  // bits
  double bit_error_rate = 0;
};

class WiredEnd final : public TrainingOwner {
 public:
  explicit WiredEnd(const TrainingOptions& options) : training(options, *this) {
    for (std::uint16_t lane = 0; lane < 4; ++lane) {
      sources.emplace_back(static_cast<std::uint16_t>(lane * 77 + 1));
      receivers.emplace_back(counters, false);
    }
  }
  void trained(const TrainingStep&, Time) override {}

  LinkTraining training;
  std::vector<LaneSource> sources;
  LaneCounters counters;
  std::vector<LaneReceiver> receivers;
};

class WiredPair {
 public:
  WiredPair(const TrainingOptions& a, const TrainingOptions& b, std::array<Wires, 2> wires)
      : ends_{std::make_unique<WiredEnd>(a), std::make_unique<WiredEnd>(b)}, wires_(wires) {
    for (const auto& end : ends_)
      end->training.command(wire::PortPhysicalState::kPolling, now_);
  }

  LinkTraining& a() { return ends_[0]->training; }
  LinkTraining& b() { return ends_[1]->training; }
  std::array<Wires, 2>& wires() { return wires_; }
  [[nodiscard]] bool up() { return a().may_send_packets() && b().may_send_packets(); }

  bool run(Duration time, bool until_up = true) {
    for (const Time end = now_ + time; now_ < end && !(until_up && up());) {
      now_ += kSetTime;
      for (const std::size_t from : {0U, 1U})
        carry(from);
    }
    return up();
  }

 private:
  // What one end sends in the time of an ordered set; it arrives as much later as the wire is long.
  void carry(std::size_t from) {
    WiredEnd& sender = *ends_[from];
    WiredEnd& receiver = *ends_[1 - from];
    const Wires& wires = wires_[from];
    for (std::size_t lane = 0; lane < 4; ++lane) {
      LaneSource& source = sender.sources[lane];
      source.send(sender.training.transmit(lane));
      BitVector bits;
      source.produce(1, bits);
      const std::size_t to = wires.reversed ? 3 - lane : lane;
      LaneReceiver& ear = receiver.receivers[to];
      ear.set_inverted(receiver.training.receiver(to).inverts);
      if (wires.cut[lane] || !source.sounds()) {
        ear.silence();
        waiting_[from][lane].clear();
      } else {
        symbols_.clear();
        ear.receive(delayed(waiting_[from][lane], bits, wires, lane).span(), symbols_);
      }
      receiver.training.receive(to, ear.input(), now_);
      receiver.training.symbol_errors(to, ear.take_errors(), now_);
    }
  }

  BitVector delayed(std::deque<bool>& waiting, const BitVector& bits, const Wires& wires,
                    std::size_t lane) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const bool wrong = wires.bit_error_rate > 0 && random_.chance(wires.bit_error_rate);
      waiting.push_back(bits.span().bit(i) != (wrong != wires.crossed[lane]));
    }
    BitVector out;
    while (waiting.size() > wires.late[lane]) {
      out.put(waiting.front() ? 1 : 0, 1);
      waiting.pop_front();
    }
    return out;
  }

  Random random_{3};
  Time now_{1s};
  std::array<std::unique_ptr<WiredEnd>, 2> ends_;
  std::array<Wires, 2> wires_;
  std::array<std::array<std::deque<bool>, 4>, 2> waiting_;
  std::vector<LaneSymbol> symbols_;
};

TEST(Wired, TrainsFourLanesThatComeAtDifferentTimes) {
  Wires wires;
  wires.late = {3, 47, 0, 18};
  WiredPair pair(soon(), soon(), {wires, wires});
  ASSERT_TRUE(pair.run(1ms));
  EXPECT_EQ(pair.a().width(), LinkWidth::k4x);
  EXPECT_EQ(pair.b().width(), LinkWidth::k4x);
  pair.run(200us, false);
  EXPECT_TRUE(pair.up());
  EXPECT_EQ(pair.a().counters().get(TrainingCounter::kSymbolErrors), 0U);
  EXPECT_EQ(pair.a().counters().get(TrainingCounter::kLinkUps), 1U);
}

TEST(Wired, CorrectsCrossedWiresAndReversedLanes) {
  Wires there;
  there.reversed = true;
  there.crossed = {true, false, true, false};
  Wires back;
  back.crossed = {false, false, false, true};
  WiredPair pair(soon(), soon(), {there, back});
  ASSERT_TRUE(pair.run(1ms));
  EXPECT_EQ(pair.b().receive_map(), (LaneMap{.width = LinkWidth::k4x, .mirror = 4}));
  EXPECT_TRUE(pair.b().receiver(3).inverts);
  EXPECT_FALSE(pair.b().receiver(0).inverts);
  EXPECT_TRUE(pair.a().receiver(3).inverts);
}

TEST(Wired, ReversesTransmitLanesForAReceiverThatCannot) {
  Wires there;
  there.reversed = true;
  TrainingOptions plain = soon();
  plain.reverses_receive = false;
  WiredPair pair(soon(), plain, {there, Wires{}});
  ASSERT_TRUE(pair.run(2ms));
  EXPECT_EQ(pair.a().transmit_map(), (LaneMap{.width = LinkWidth::k4x, .mirror = 4}));
  EXPECT_EQ(pair.b().receive_map(), LaneMap{.width = LinkWidth::k4x});
}

TEST(Wired, Is1xWithACutWire) {
  Wires there;
  there.cut[3] = true;
  WiredPair pair(soon(), soon(), {there, Wires{}});
  ASSERT_TRUE(pair.run(2ms));
  EXPECT_EQ(pair.a().width(), LinkWidth::k1x);
  EXPECT_EQ(pair.b().width(), LinkWidth::k1x);
}

TEST(Wired, CountsBitErrorsAndRecoversWhenTheyAreMany) {
  WiredPair pair(soon(), soon(), {});
  ASSERT_TRUE(pair.run(1ms));
  pair.wires()[0].bit_error_rate = 1e-3;
  pair.run(100us, false);
  pair.wires()[0].bit_error_rate = 0;
  ASSERT_TRUE(pair.run(2ms));
  EXPECT_GT(pair.b().counters().get(TrainingCounter::kSymbolErrors), 16U);
  EXPECT_GT(pair.b().counters().get(TrainingCounter::kErrorBursts), 0U);
  EXPECT_EQ(pair.a().counters().get(TrainingCounter::kErrorBursts), 0U);
}

TEST(Wired, GoesDownAndComesBackAsWiresDo) {
  WiredPair pair(soon(), soon(), {});
  ASSERT_TRUE(pair.run(1ms));
  pair.wires()[1].cut.fill(true);
  pair.run(200us, false);
  EXPECT_FALSE(pair.a().may_send_packets());
  EXPECT_FALSE(pair.b().may_send_packets());
  EXPECT_EQ(pair.a().counters().get(TrainingCounter::kLinkDowned), 1U);
  pair.wires()[1].cut.fill(false);
  EXPECT_TRUE(pair.run(2ms));
}

}  // namespace
}  // namespace weft::phy
