// SPDX-License-Identifier: Apache-2.0
// Packets end to end: their bytes become bits of lanes, which two ports have trained over those
// same wires, and bytes again; or it is known that they did not.
#include "whole_link.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "quick_times.h"

namespace weft::phy {
namespace {

constexpr std::array kAllWidths{LinkWidth::k1x, LinkWidth::k4x, LinkWidth::k8x, LinkWidth::k12x};

TrainingOptions options_of(LinkWidth width) {
  TrainingOptions options;
  options.lanes = lanes_of(width);
  options.widths = static_cast<std::uint8_t>(width);
  options.times = quick_times();
  return options;
}

Wiring random_wiring(Random& random) {
  Wiring wiring;
  for (unsigned& late : wiring.late)
    late = static_cast<unsigned>(random.below(Deskew::kMostSkewBits));
  wiring.crossed = static_cast<std::uint32_t>(random.below(1U << kMaxLanes));
  wiring.reversed = random.below(2) != 0;
  return wiring;
}

// Of both kinds, some of the greatest length; returns how long they take.
Duration give_packets(WholePort& port, LinkWidth width, Random& random, std::size_t count) {
  std::size_t symbols = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t payload = random.below(12) == 0 ? 1024 : 4 * random.below(60);
    port.to_send.push_back(random.below(4) == 0 ? flow_control_packet(random)
                                                : data_packet(random, payload));
    symbols += port.to_send.back().bytes.size() + 2 + 4 * lanes_of(width);
  }
  return symbols / lanes_of(width) * 4ns;
}

// What a receiver has counted since it was looked at before.
class Counted {
 public:
  explicit Counted(WholePort& port) : port_(port) {
    for (std::size_t i = 0; i < before_.size(); ++i)
      before_[i] = port.receiver.counters().get(static_cast<LaneCounter>(i));
  }
  [[nodiscard]] std::uint64_t operator()(LaneCounter counter) const {
    return port_.receiver.counters().get(counter) - before_[static_cast<std::size_t>(counter)];
  }
  [[nodiscard]] std::uint64_t packets() const {
    std::uint64_t sum = 0;
    for (const LaneCounter counter :
         {LaneCounter::kDataPackets, LaneCounter::kLinkPackets, LaneCounter::kBadByEnd,
          LaneCounter::kBadBySymbol, LaneCounter::kMalformed, LaneCounter::kOverlong})
      sum += (*this)(counter);
    return sum;
  }

 private:
  WholePort& port_;
  std::array<std::uint64_t, static_cast<std::size_t>(LaneCounter::kCount)> before_{};
};

TEST(WholeLinks, BringEachPacketByteForByteOverAnyWiringAndBetweenAnyClocks) {
  for (const LinkWidth width : kAllWidths) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      Random random(seed);
      const std::array wirings{random_wiring(random), random_wiring(random)};
      const std::array clocks{static_cast<double>(random.below(201)) - 100,
                              static_cast<double>(random.below(201)) - 100};
      WholeLink link(width, {options_of(width), options_of(width)}, wirings, clocks, seed);
      link.poll();
      ASSERT_TRUE(link.run_until_up(2ms)) << lanes_of(width) << "x, seed " << seed;
      link.run(2us);
      const std::array counted{Counted(link.port(0)), Counted(link.port(1))};
      const Duration both = give_packets(link.port(0), width, random, 60) +
                            give_packets(link.port(1), width, random, 60);
      link.run(both + 10us);
      for (const std::size_t to : {0U, 1U}) {
        const std::vector<SentPacket>& sent = link.port(1 - to).sent;
        const std::vector<ArrivedPacket>& arrived = link.port(to).arrived;
        ASSERT_EQ(sent.size(), 60U);
        ASSERT_EQ(arrived.size(), sent.size()) << lanes_of(width) << "x, seed " << seed;
        for (std::size_t i = 0; i < sent.size(); ++i) {
          ASSERT_EQ(arrived[i].bytes, sent[i].bytes);
          EXPECT_EQ(arrived[i].kind, sent[i].kind);
          EXPECT_EQ(arrived[i].fault, PacketFault::kNone);
          EXPECT_TRUE(is_whole(arrived[i]));
        }
        EXPECT_EQ(counted[to].packets(), sent.size());
        for (const LaneCounter counter :
             {LaneCounter::kSymbolErrors, LaneCounter::kCodeErrors, LaneCounter::kDisparityErrors,
              LaneCounter::kMisplacedCommas, LaneCounter::kStraySymbols, LaneCounter::kDeskewLost,
              LaneCounter::kElasticOverflows, LaneCounter::kElasticUnderflows})
          EXPECT_EQ(counted[to](counter), 0U) << static_cast<int>(counter);
        const LinkTraining& training = link.port(to).training;
        EXPECT_EQ(training.width(), width);
        EXPECT_EQ(training.counters().get(TrainingCounter::kSymbolErrors), 0U);
        EXPECT_EQ(training.counters().get(TrainingCounter::kLinkUps), 1U);
        for (std::size_t place = 0; place < lanes_of(width); ++place) {
          const Wiring& wiring = wirings[1 - to];
          const std::size_t lane = wiring.reversed ? lanes_of(width) - 1 - place : place;
          EXPECT_EQ(training.receiver(place).inverts, (wiring.crossed >> lane & 1) != 0);
        }
      }
    }
  }
}

TEST(WholeLinks, BringThemWhenTheSenderHasToTurnItsLanes) {
  Random random(3);
  Wiring there = random_wiring(random);
  there.reversed = true;
  TrainingOptions plain = options_of(LinkWidth::k4x);
  plain.reverses_receive = false;
  WholeLink link(LinkWidth::k4x, {options_of(LinkWidth::k4x), plain}, {there, Wiring{}}, {}, 3);
  link.poll();
  ASSERT_TRUE(link.run_until_up(2ms));
  const Duration time = give_packets(link.port(0), LinkWidth::k4x, random, 40);
  link.run(time + 10us);
  ASSERT_EQ(link.port(1).arrived.size(), 40U);
  for (std::size_t i = 0; i < 40; ++i)
    EXPECT_EQ(link.port(1).arrived[i].bytes, link.port(0).sent[i].bytes);
}

struct Outcome {
  std::size_t sent = 0;
  std::size_t whole = 0;
  std::size_t marked = 0;     // received with a fault
  std::size_t by_crc = 0;     // received without one, and not whole
  std::size_t untouched = 0;  // sent, and no wrong bit in them nor near
  std::size_t spoilt = 0;     // bits
  std::uint64_t symbol_errors = 0;
};

// A wrong bit may be told by a symbol behind it, and make one that belongs to no packet begin one.
constexpr std::uint64_t kNear = 40 * kSymbolBits;

bool is_near(const std::vector<std::uint64_t>& spoilt, const SentPacket& packet) {
  const auto first =
      std::lower_bound(spoilt.begin(), spoilt.end(), packet.from - std::min(packet.from, kNear));
  return first != spoilt.end() && *first < packet.to;
}

// What arrived whole is a part of what was sent, in order, and all of that no bit of which was hit.
Outcome judge(WholeLink& link, std::size_t from) {
  const std::vector<SentPacket>& sent = link.port(from).sent;
  const std::vector<std::uint64_t>& spoilt = link.spoilt(from);
  std::vector<bool> came(sent.size());
  Outcome out{.sent = sent.size(), .spoilt = spoilt.size()};
  std::size_t next = 0;
  for (const ArrivedPacket& packet : link.port(1 - from).arrived) {
    if (packet.fault != PacketFault::kNone) {
      ++out.marked;
      continue;
    }
    if (!is_whole(packet)) {
      ++out.by_crc;
      continue;
    }
    while (next < sent.size() && sent[next].bytes != packet.bytes)
      ++next;
    EXPECT_LT(next, sent.size()) << "made up, or out of order";
    if (next == sent.size()) break;
    came[next++] = true;
    ++out.whole;
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (is_near(spoilt, sent[i])) continue;
    ++out.untouched;
    EXPECT_TRUE(came[i]) << "packet " << i << " from bit " << sent[i].from;
  }
  return out;
}

TEST(WholeLinks, CountWhatBitErrorsSpoilAndBringAllElse) {
  Outcome all;
  for (const LinkWidth width : kAllWidths) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      Random random(100 + seed);
      std::array wirings{random_wiring(random), random_wiring(random)};
      WholeLink link(width, {options_of(width), options_of(width)}, wirings, {80, -80}, seed);
      link.poll();
      ASSERT_TRUE(link.run_until_up(2ms));
      link.run(2us);
      const Counted counted(link.port(1));
      const Duration time = give_packets(link.port(0), width, random, 150);
      // Some ten wrong bits, less than the machine bears in a millisecond.
      link.wiring(0).bit_errors = 10 / (std::chrono::duration<double>(time).count() * 2.5e9 *
                                        static_cast<double>(lanes_of(width)));
      link.run(time);
      link.wiring(0).bit_errors = 0;
      link.run(20us);
      const Outcome one = judge(link, 0);
      ASSERT_EQ(one.sent, 150U);
      const std::size_t arrived = link.port(1).arrived.size();
      EXPECT_EQ(counted.packets(), arrived);
      EXPECT_EQ(counted(LaneCounter::kDataPackets) + counted(LaneCounter::kLinkPackets),
                one.whole + one.by_crc);
      EXPECT_LE(one.sent - std::min(one.sent, arrived), one.spoilt) << "lost without a trace";
      const std::uint64_t errors =
          counted(LaneCounter::kCodeErrors) + counted(LaneCounter::kDisparityErrors);
      EXPECT_LE(counted(LaneCounter::kSymbolErrors), 2 * one.spoilt);
      if (link.port(1).training.counters().get(TrainingCounter::kErrorBursts) == 0) {
        EXPECT_LE(link.port(1).training.counters().get(TrainingCounter::kSymbolErrors), errors);
      }
      EXPECT_EQ(link.port(0).training.counters().get(TrainingCounter::kSymbolErrors), 0U);
      all.sent += one.sent;
      all.whole += one.whole;
      all.marked += one.marked;
      all.by_crc += one.by_crc;
      all.untouched += one.untouched;
      all.spoilt += one.spoilt;
      all.symbol_errors += counted(LaneCounter::kSymbolErrors);
    }
  }
  RecordProperty("spoilt", static_cast<int>(all.spoilt));
  RecordProperty("symbol_errors", static_cast<int>(all.symbol_errors));
  RecordProperty("marked", static_cast<int>(all.marked));
  RecordProperty("by_crc", static_cast<int>(all.by_crc));
  EXPECT_GT(all.untouched, all.sent * 8 / 10);
  EXPECT_GT(all.marked, 0U);
  EXPECT_GT(all.by_crc, 0U) << "so that the CRC is needed";
  EXPECT_LT(all.whole, all.sent);
  // A wrong bit is told by one symbol, now and then by a second one whose disparity it has changed;
  // two in one symbol time are told by one.
  EXPECT_GE(all.symbol_errors, all.spoilt * 95 / 100);
  EXPECT_LE(all.symbol_errors, all.spoilt * 110 / 100);
}

TEST(WholeLinks, RecoverFromBurstsOfErrorsAndGoOnWithTheirPackets) {
  for (const LinkWidth width : kAllWidths) {
    Random random(7);
    WholeLink link(width, {options_of(width), options_of(width)},
                   {random_wiring(random), random_wiring(random)}, {-60, 90}, 7);
    link.poll();
    ASSERT_TRUE(link.run_until_up(2ms));
    link.run(2us);
    const Duration time = give_packets(link.port(0), width, random, 100) +
                          give_packets(link.port(1), width, random, 100);
    link.run(time / 8);
    link.wiring(0).bit_errors = 2e-3 / static_cast<double>(lanes_of(width));
    link.run(12us);
    link.wiring(0).bit_errors = 0;
    ASSERT_TRUE(link.run_until_up(400us)) << lanes_of(width);
    link.run(time + 20us);
    ASSERT_TRUE(link.up());
    const TrainingCounters& counters = link.port(1).training.counters();
    EXPECT_GE(counters.get(TrainingCounter::kErrorBursts), 1U) << lanes_of(width);
    EXPECT_GE(counters.get(TrainingCounter::kLinkErrorRecoveries), 1U);
    EXPECT_EQ(counters.get(TrainingCounter::kLinkDowned), 0U);
    EXPECT_EQ(counters.get(TrainingCounter::kLinkErrorRecoveries),
              link.port(0).training.counters().get(TrainingCounter::kLinkErrorRecoveries));
    for (const std::size_t from : {0U, 1U}) {
      const Outcome out = judge(link, from);
      EXPECT_EQ(out.sent, 100U);
      EXPECT_GT(out.whole, 60U);
    }
    EXPECT_EQ(judge(link, 1).whole, 100U) << "the way back was without errors";
  }
}

}  // namespace
}  // namespace weft::phy
