// SPDX-License-Identifier: Apache-2.0
// Whole links: what comes out of them is what was put in, or it is known to be otherwise.
#include <gtest/gtest.h>

#include <vector>

#include "link_bench.h"

namespace weft::phy {
namespace {

constexpr std::array kWidths{LinkWidth::k1x, LinkWidth::k4x, LinkWidth::k8x, LinkWidth::k12x};

std::uint64_t count(const LinkReceiver& receiver, LaneCounter counter) {
  return receiver.counters().get(counter);
}

// Everything that ends in a counter of packets.
std::uint64_t packets_counted(const LinkReceiver& receiver) {
  std::uint64_t sum = 0;
  for (const LaneCounter counter :
       {LaneCounter::kDataPackets, LaneCounter::kLinkPackets, LaneCounter::kBadByEnd,
        LaneCounter::kBadBySymbol, LaneCounter::kMalformed, LaneCounter::kOverlong}) {
    sum += count(receiver, counter);
  }
  return sum;
}

// Brings the bits of a medium to a receiver, in pieces of random length.
void deliver(LinkReceiver& receiver, std::span<const BitVector> lanes, Random& random,
             Collector& out) {
  std::vector<std::size_t> at(lanes.size());
  for (bool more = true; more;) {
    more = false;
    for (std::size_t place = 0; place < lanes.size(); ++place) {
      const BitSpan bits = lanes[place].span();
      BitVector piece;
      const std::size_t size = std::min<std::size_t>(random.below(900), bits.count - at[place]);
      for (std::size_t i = 0; i < size; ++i)
        piece.put(bits.bit(at[place] + i) ? 1 : 0, 1);
      receiver.receive(place, piece.span());
      at[place] += size;
      more = more || at[place] != bits.count;
    }
    receiver.read(out);
  }
}

std::vector<BitVector> carry_all(const LinkTransmitter& sender, LinkWidth width,
                                 const Medium& medium, Random& random) {
  std::vector<BitVector> lanes;
  for (std::size_t place = 0; place < lanes_of(width); ++place) {
    lanes.push_back(carry(sender, lanes_of(width), place, medium, random));
  }
  return lanes;
}

TEST(Link, BringsAllPacketsAtAnyWidthSkewPolarityAndOrderOfLanes) {
  for (const LinkWidth width : kWidths) {
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
      Random random(seed);
      LinkTransmitter sender(width);
      train(sender);
      const std::vector<TestPacket> sent = send_packets(sender, random, 60, 80);
      LinkReceiver receiver({.width = width});
      Collector out;
      const Medium medium = random_medium(random, 70);
      deliver(receiver, carry_all(sender, width, medium, random), random, out);
      ASSERT_EQ(out.packets, sent) << lanes_of(width) << "x, seed " << seed;
      EXPECT_TRUE(receiver.in_step());
      EXPECT_EQ(receiver.reversed(), medium.reversed && width != LinkWidth::k1x);
      for (std::size_t place = 0; place < lanes_of(width); ++place) {
        EXPECT_EQ(receiver.lane(place).inverted(), (medium.crossed >> place & 1) != 0);
      }
      for (const LaneCounter counter :
           {LaneCounter::kSymbolErrors, LaneCounter::kCodeErrors, LaneCounter::kMisplacedSets,
            LaneCounter::kStraySymbols, LaneCounter::kDeskewLost, LaneCounter::kSlips}) {
        EXPECT_EQ(count(receiver, counter), 0U) << static_cast<int>(counter);
      }
      EXPECT_EQ(packets_counted(receiver), sent.size());
    }
  }
}

TEST(Link, BringsThemWhenTheSenderHasTurnedItsLanes) {
  for (const LinkWidth width : kWidths) {
    Random random(1);
    LinkTransmitter sender(width, true);
    train(sender);
    const std::vector<TestPacket> sent = send_packets(sender, random, 30, 40);
    // The two undo each other.
    const Medium medium{.reversed = true};
    LinkReceiver receiver({.width = width, .correct_reversal = false});
    Collector out;
    deliver(receiver, carry_all(sender, width, medium, random), random, out);
    EXPECT_EQ(out.packets, sent);
  }
}

TEST(Link, BringsNothingRightWithoutTheCorrectionsItWouldNeed) {
  Random random(1);
  LinkTransmitter sender(LinkWidth::k4x);
  train(sender);
  send_packets(sender, random, 30, 40);
  for (const bool crossed : {false, true}) {
    Medium medium;
    medium.reversed = !crossed;
    medium.crossed = crossed ? 0b0100 : 0;
    LinkReceiver receiver(
        {.width = LinkWidth::k4x, .correct_polarity = false, .correct_reversal = false});
    Collector out;
    deliver(receiver, carry_all(sender, LinkWidth::k4x, medium, random), random, out);
    for (const TestPacket& packet : out.good())
      EXPECT_FALSE(packet.has_right_crc());
  }
}

// Two clocks, in parts of a million from nominal; both ends take turns as time goes by.
void run_clocks(LinkReceiver& receiver, std::span<const BitVector> lanes, double sender_ppm,
                double receiver_ppm, Collector& out) {
  const double bits_per_tick = kSymbolBits * (1 + sender_ppm * 1e-6) / (1 + receiver_ppm * 1e-6);
  std::vector<std::size_t> at(lanes.size());
  std::size_t longest = 0;
  for (const BitVector& lane : lanes)
    longest = std::max(longest, lane.size());
  for (std::size_t ticks = 1; at.front() < longest; ++ticks) {
    const auto until = static_cast<std::size_t>(static_cast<double>(ticks) * bits_per_tick);
    for (std::size_t place = 0; place < lanes.size(); ++place) {
      const BitSpan bits = lanes[place].span();
      const std::size_t end = std::min(until, bits.count);
      BitVector piece;
      const auto size = static_cast<unsigned>(end > at[place] ? end - at[place] : 0);
      piece.put(bits.take(at[place], size), size);
      at[place] = std::max(at[place], until);
      receiver.receive(place, piece.span());
    }
    receiver.tick(1, out);
  }
}

TEST(Link, BringsAllPacketsBetweenClocksThatAreApart) {
  struct Case {
    double sender;
    double receiver;
  };
  for (const LinkWidth width : {LinkWidth::k1x, LinkWidth::k4x}) {
    for (const Case clocks : {Case{100, -100}, Case{-100, 100}, Case{0, 0}, Case{37, -20}}) {
      Random random(static_cast<std::uint64_t>(clocks.sender + 1000));
      LinkTransmitter sender(width);
      train(sender);
      std::vector<TestPacket> sent;
      while (sender.symbol_times() < 150'000) {
        // As long as packets can be: on one lane, one of them is as long as a SKIP interval.
        const auto more = send_packets(sender, random, 20, 1050);
        sent.insert(sent.end(), more.begin(), more.end());
      }
      LinkReceiver receiver({.width = width, .own_clock = true});
      Collector out;
      const Medium medium = random_medium(random, 60);
      run_clocks(receiver, carry_all(sender, width, medium, random), clocks.sender, clocks.receiver,
                 out);
      EXPECT_EQ(out.packets.size(), sent.size());
      ASSERT_EQ(out.packets, sent) << lanes_of(width) << "x " << clocks.sender;
      const double drift =
          (clocks.sender - clocks.receiver) * 1e-6 * static_cast<double>(sender.symbol_times());
      const auto removed = static_cast<double>(count(receiver, LaneCounter::kSkipsRemoved));
      const auto added = static_cast<double>(count(receiver, LaneCounter::kSkipsAdded));
      EXPECT_NEAR(removed - added, drift, 4) << clocks.sender;
      EXPECT_EQ(count(receiver, LaneCounter::kElasticOverflows), 0U);
      EXPECT_EQ(count(receiver, LaneCounter::kSymbolErrors), 0U);
    }
  }
}

TEST(Link, LosesSymbolsAndSaysSoBetweenClocksThatAreTooFarApart) {
  for (const double ppm : {3000.0, -3000.0}) {
    Random random(5);
    LinkTransmitter sender(LinkWidth::k4x);
    train(sender);
    std::vector<TestPacket> sent;
    while (sender.symbol_times() < 60'000) {
      const auto more = send_packets(sender, random, 20, 1050);
      sent.insert(sent.end(), more.begin(), more.end());
    }
    LinkReceiver receiver({.width = LinkWidth::k4x, .own_clock = true});
    Collector out;
    run_clocks(receiver, carry_all(sender, LinkWidth::k4x, {}, random), ppm, 0, out);
    EXPECT_GT(
        count(receiver, ppm > 0 ? LaneCounter::kElasticOverflows : LaneCounter::kElasticUnderflows),
        0U);
    EXPECT_GT(count(receiver, LaneCounter::kBadBySymbol), 0U);
    // What is not whole is marked, without the help of a CRC.
    std::size_t next = 0;
    for (const TestPacket& packet : out.good()) {
      const auto found =
          std::find(sent.begin() + static_cast<std::ptrdiff_t>(next), sent.end(), packet);
      ASSERT_NE(found, sent.end());
      next = static_cast<std::size_t>(found - sent.begin()) + 1;
    }
  }
}

// What is received without a fault and with a right CRC, in order: is each of it one of `sent`?
void expect_part_of(const std::vector<TestPacket>& received, const std::vector<TestPacket>& sent) {
  auto next = sent.begin();
  for (const TestPacket& packet : received) {
    if (!packet.has_right_crc()) continue;
    next = std::find(next, sent.end(), packet);
    ASSERT_NE(next, sent.end()) << "made up, or out of order";
    ++next;
  }
}

TEST(Link, BringsAPartInOrderPastBitErrorsAndCountsThem) {
  std::size_t all_sent = 0;
  std::size_t all_whole = 0;
  std::size_t unmarked = 0;  // not whole, and only the CRC tells
  for (const LinkWidth width : kWidths) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(100 + seed);
      LinkTransmitter sender(width);
      train(sender);
      const std::vector<TestPacket> sent = send_packets(sender, random, 150, 60);
      Medium medium = random_medium(random, 60);
      medium.bit_errors = 2e-4;
      LinkReceiver receiver({.width = width});
      Collector out;
      deliver(receiver, carry_all(sender, width, medium, random), random, out);
      expect_part_of(out.good(), sent);
      std::size_t whole = 0;
      for (const TestPacket& packet : out.good()) {
        if (packet.has_right_crc()) {
          ++whole;
        } else {
          ++unmarked;
        }
      }
      all_sent += sent.size();
      all_whole += whole;
      EXPECT_EQ(packets_counted(receiver), out.packets.size());
      if (out.packets != sent) {
        EXPECT_GT(count(receiver, LaneCounter::kSymbolErrors), 0U);
      }
    }
  }
  EXPECT_GT(all_whole, all_sent / 2);
  EXPECT_LT(all_whole, all_sent * 99 / 100);
  EXPECT_GT(unmarked, 0U) << "so that the CRC is needed";
  EXPECT_LT(unmarked, all_sent / 20);
}

TEST(Link, ComesBackAfterSlipsWithoutMakingAnythingUp) {
  std::uint64_t slips = 0;
  std::uint64_t lost = 0;
  for (const LinkWidth width : kWidths) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Random random(200 + seed);
      LinkTransmitter sender(width);
      train(sender);
      std::vector<TestPacket> sent;
      while (sender.symbol_times() < 60'000) {
        const auto more = send_packets(sender, random, 30, 60);
        sent.insert(sent.end(), more.begin(), more.end());
      }
      Medium medium = random_medium(random, 40);
      medium.slips = 3e-6;
      LinkReceiver receiver({.width = width});
      Collector out;
      deliver(receiver, carry_all(sender, width, medium, random), random, out);
      expect_part_of(out.good(), sent);
      slips += count(receiver, LaneCounter::kSlips);
      lost += count(receiver, LaneCounter::kDeskewLost);
      if (out.packets != sent) {
        EXPECT_GT(count(receiver, LaneCounter::kSymbolErrors), 0U);
      }
      // The same receiver, trained again over a medium without slips.
      receiver.restart(out);
      out.packets.clear();
      sender.clear();
      train(sender);
      const std::vector<TestPacket> again = send_packets(sender, random, 30, 60);
      medium.slips = 0;
      medium.delay.fill(0);  // it is in the bits that have come already
      deliver(receiver, carry_all(sender, width, medium, random), random, out);
      EXPECT_EQ(out.packets, again) << lanes_of(width) << "x seed " << seed;
    }
  }
  EXPECT_GT(slips, 0U);
  EXPECT_GT(lost, 0U);
}

// Every bit of a packet and its delimiters, one at a time.
TEST(Link, TellsEachSingleWrongBitByASymbolOrByTheCrc) {
  for (const LinkWidth width : {LinkWidth::k1x, LinkWidth::k4x, LinkWidth::k12x}) {
    Random random(7);
    std::size_t seen = 0;
    std::size_t by_crc = 0;
    const std::vector<TestPacket> packets{make_packet(random, 5), make_packet(random, 5),
                                          make_packet(random, 5)};
    LinkTransmitter sender(width);
    sender.send_training(OrderedSet::kTs1, 3);
    sender.send_idle(5);
    sender.send_packet(packets[0].kind, packets[0].bytes);
    const std::size_t from = sender.bits(0).count;
    sender.send_packet(packets[1].kind, packets[1].bytes);
    const std::size_t to = sender.bits(0).count;
    sender.send_idle(30);
    sender.send_packet(packets[2].kind, packets[2].bytes);
    sender.send_idle(10);
    for (std::size_t place = 0; place < lanes_of(width); ++place) {
      for (std::size_t bit = from; bit < to; ++bit) {
        std::vector<BitVector> lanes = carry_all(sender, width, {}, random);
        lanes[place].flip(bit);
        LinkReceiver receiver({.width = width});
        Collector out;
        deliver(receiver, lanes, random, out);
        EXPECT_GT(count(receiver, LaneCounter::kSymbolErrors), 0U);
        std::vector<TestPacket> whole;
        for (const TestPacket& packet : out.good()) {
          if (packet.has_right_crc()) whole.push_back(packet);
        }
        expect_part_of(whole, packets);
        ASSERT_GE(whole.size(), 2U);
        EXPECT_EQ(whole.front(), packets[0]);
        EXPECT_EQ(whole.back(), packets[2]);
        // Whole although a bit was wrong: only in PAD, or an error that another character had.
        if (whole.size() == 3) {
          EXPECT_GT(lanes_of(width), 4U);
        }
        ++seen;
        by_crc += out.good().size() == 3 && whole.size() == 2 ? 1 : 0;
      }
    }
    EXPECT_LT(by_crc, seen / 3) << "the code tells most by itself";
  }
}

}  // namespace
}  // namespace weft::phy
