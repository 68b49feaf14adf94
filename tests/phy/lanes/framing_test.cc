// SPDX-License-Identifier: Apache-2.0
#include "phy/lanes/framing.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "link_bench.h"
#include "phy/lanes/packet_reader.h"

namespace weft::phy {
namespace {

Character d(unsigned value) {
  return {static_cast<std::uint8_t>(value), false};
}

std::vector<std::byte> counting_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

// Reads characters of whole columns; `wrong` has the places of those with an error.
std::vector<TestPacket> read_characters(LinkWidth width, const std::vector<Character>& characters,
                                        LaneCounters& counters,
                                        const std::vector<std::size_t>& wrong = {},
                                        std::size_t longest = PacketReader::kUsualLongest) {
  PacketReader reader(width, counters, longest);
  Collector out;
  const std::size_t lanes = lanes_of(width);
  EXPECT_EQ(characters.size() % lanes, 0U);
  for (std::size_t i = 0; i < characters.size(); i += lanes) {
    Column column{};
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      column[lane] = {characters[i + lane],
                      std::find(wrong.begin(), wrong.end(), i + lane) != wrong.end()};
    }
    reader.read(column, out);
  }
  reader.end(out);
  return out.packets;
}

TEST(Framing, PutsALinkPacketOnTwoColumnsOfFourLanes) {
  std::vector<Character> out;
  append_packet(PacketKind::kLink, counting_bytes(6), PacketEnd::kGood, LinkWidth::k4x, out);
  EXPECT_EQ(out, (std::vector<Character>{kSlp, d(1), d(2), d(3), d(4), d(5), d(6), kEgp}));
}

TEST(Framing, FillsTheLastColumnOfWiderLinksWithPad) {
  std::vector<Character> on12;
  append_packet(PacketKind::kData, counting_bytes(10), PacketEnd::kBad, LinkWidth::k12x, on12);
  EXPECT_EQ(on12, (std::vector<Character>{kSdp, d(1), d(2), d(3), d(4), d(5), d(6), d(7), d(8),
                                          d(9), d(10), kEbp}));
  std::vector<Character> on8;
  append_packet(PacketKind::kData, counting_bytes(10), PacketEnd::kGood, LinkWidth::k8x, on8);
  EXPECT_EQ(on8, (std::vector<Character>{kSdp, d(1), d(2), d(3), d(4), d(5), d(6), d(7), d(8), d(9),
                                         d(10), kEgp, kPad, kPad, kPad, kPad}));
}

TEST(Framing, NeedsNoPadOnOneAndFourLanes) {
  for (const LinkWidth width : {LinkWidth::k1x, LinkWidth::k4x}) {
    for (std::size_t size = 10; size < 200; size += 4) {
      std::vector<Character> out;
      append_packet(PacketKind::kData, counting_bytes(size), PacketEnd::kGood, width, out);
      EXPECT_EQ(out.size(), size + 2);
    }
  }
}

TEST(Framing, KnowsTheSizesThatPacketsHave) {
  EXPECT_TRUE(is_packet_size(PacketKind::kLink, 6));
  EXPECT_FALSE(is_packet_size(PacketKind::kLink, 10));
  EXPECT_FALSE(is_packet_size(PacketKind::kData, 6));
  EXPECT_TRUE(is_packet_size(PacketKind::kData, 10));
  EXPECT_FALSE(is_packet_size(PacketKind::kData, 12));
  EXPECT_TRUE(is_packet_size(PacketKind::kData, 4186));
}

TEST(PacketReader, ReadsWhatIsFramedAtAnyWidthWithIdleDataAround) {
  Random random(1);
  for (const LinkWidth width : kWidestFirst) {
    std::vector<Character> characters;
    std::vector<TestPacket> sent;
    for (int i = 0; i < 100; ++i) {
      sent.push_back(make_packet(random, 60));
      append_packet(sent.back().kind, sent.back().bytes, PacketEnd::kGood, width, characters);
      for (std::uint64_t idle = random.below(3) * lanes_of(width); idle != 0; --idle) {
        characters.push_back(d(static_cast<unsigned>(random.below(256))));
      }
    }
    LaneCounters counters;
    EXPECT_EQ(read_characters(width, characters, counters), sent);
    EXPECT_EQ(counters.get(LaneCounter::kStraySymbols), 0U);
    EXPECT_EQ(counters.get(LaneCounter::kDataPackets) + counters.get(LaneCounter::kLinkPackets),
              100U);
  }
}

struct FaultCase {
  const char* what;
  std::vector<Character> characters;  // on one lane, between good packets
  std::vector<std::size_t> wrong;
  std::vector<PacketFault> faults;
  LaneCounter counter;
  std::uint64_t strays = 0;
};

std::vector<FaultCase> fault_cases() {
  std::vector<Character> whole;
  append_packet(PacketKind::kData, counting_bytes(14), PacketEnd::kGood, LinkWidth::k1x, whole);
  const auto with = [&](std::size_t at, Character character) {
    std::vector<Character> changed = whole;
    changed[at] = character;
    return changed;
  };
  const auto cut = [&](std::size_t size) {
    return std::vector<Character>(whole.begin(), whole.begin() + static_cast<long>(size));
  };
  const auto fault = [](PacketFault one) { return std::vector<PacketFault>{one}; };
  std::vector<Character> one_more = whole;
  one_more.insert(one_more.begin() + 3, d(1));
  return {
      {"an end that says bad",
       with(15, kEbp),
       {},
       fault(PacketFault::kMarkedBad),
       LaneCounter::kBadByEnd},
      {"a wrong symbol", whole, {7}, fault(PacketFault::kSymbolError), LaneCounter::kBadBySymbol},
      {"a wrong start", whole, {0}, fault(PacketFault::kSymbolError), LaneCounter::kBadBySymbol},
      {"a wrong end", whole, {15}, fault(PacketFault::kSymbolError), LaneCounter::kBadBySymbol},
      {"an end that says bad after a wrong symbol",
       with(15, kEbp),
       {3},
       fault(PacketFault::kSymbolError),
       LaneCounter::kBadBySymbol},
      {"a byte too many", one_more, {}, fault(PacketFault::kMalformed), LaneCounter::kMalformed},
      {"no end", cut(15), {}, fault(PacketFault::kMalformed), LaneCounter::kMalformed},
      {"nothing between the delimiters",
       {kSlp, kEgp},
       {},
       fault(PacketFault::kMalformed),
       LaneCounter::kMalformed},
      {"PAD inside", with(5, kPad), {}, fault(PacketFault::kMalformed), LaneCounter::kMalformed, 1},
      {"COM inside", with(5, kCom), {}, fault(PacketFault::kMalformed), LaneCounter::kMalformed, 1},
      {"SKP inside", with(5, kSkp), {}, fault(PacketFault::kMalformed), LaneCounter::kMalformed, 1},
      {"a reserved control character inside",
       with(5, control_character(28, 6)),
       {},
       fault(PacketFault::kMalformed),
       LaneCounter::kMalformed,
       1},
      {"a start inside",
       with(4, kSdp),
       {},
       {PacketFault::kMalformed, PacketFault::kNone},
       LaneCounter::kMalformed},
      {"an end outside", {d(1), kEgp, d(2)}, {}, {}, LaneCounter::kStraySymbols, 1},
      {"PAD outside", {kPad}, {}, {}, LaneCounter::kStraySymbols, 1},
      {"a reserved control character outside",
       {control_character(28, 1)},
       {},
       {},
       LaneCounter::kStraySymbols,
       1},
      {"ordered sets outside",
       {kCom, kSkp, kSkp, kSkp, kCom, d(0)},
       {},
       {},
       LaneCounter::kStraySymbols,
       0},
  };
}

TEST(PacketReader, GivesEachFaultItsNameAndGoesOnWithTheNextPacket) {
  for (const FaultCase& one : fault_cases()) {
    std::vector<Character> around;
    append_packet(PacketKind::kLink, counting_bytes(6), PacketEnd::kGood, LinkWidth::k1x, around);
    std::vector<Character> characters = around;
    characters.insert(characters.end(), one.characters.begin(), one.characters.end());
    characters.insert(characters.end(), around.begin(), around.end());
    std::vector<std::size_t> wrong = one.wrong;
    for (std::size_t& at : wrong)
      at += around.size();
    LaneCounters counters;
    const auto packets = read_characters(LinkWidth::k1x, characters, counters, wrong);
    std::vector<PacketFault> faults;
    for (const TestPacket& packet : packets)
      faults.push_back(packet.fault);
    std::vector<PacketFault> expected = one.faults;
    expected.insert(expected.begin(), PacketFault::kNone);
    expected.push_back(PacketFault::kNone);
    EXPECT_EQ(faults, expected) << one.what;
    EXPECT_EQ(counters.get(LaneCounter::kStraySymbols), one.strays) << one.what;
    if (!one.faults.empty()) {
      EXPECT_EQ(counters.get(one.counter), 1U) << one.what;
    }
  }
}

TEST(PacketReader, TakesStartsOnLaneZeroAndEndsOnEachFourthOnly) {
  LaneCounters counters;
  const auto packets = read_characters(
      LinkWidth::k8x, {d(0), d(0), d(0), d(0), kSlp, d(1), d(2), d(3),  // starts on lane 4
                       d(4), d(5), d(6), kEgp, kPad, kPad, kPad, kPad,  // so that this ends nothing
                       kSlp, d(1), d(2), d(3), d(4), d(5), d(6), kEgp,  // good
                       kSlp, d(1), d(2), d(3), d(4), d(5), kEgp, kPad},  // ends on lane 6
      counters);
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_EQ(packets[0].fault, PacketFault::kNone);
  EXPECT_EQ(packets[1].fault, PacketFault::kMalformed);
  EXPECT_EQ(counters.get(LaneCounter::kStraySymbols), 1U + 1U + 4U);
}

TEST(PacketReader, EndsWhatDoesNotEndAndKeepsNoMoreOfIt) {
  std::vector<Character> characters{kSdp};
  characters.insert(characters.end(), 1000, d(7));
  append_packet(PacketKind::kLink, counting_bytes(6), PacketEnd::kGood, LinkWidth::k1x, characters);
  LaneCounters counters;
  const auto packets = read_characters(LinkWidth::k1x, characters, counters, {}, 90);
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_EQ(packets[0].fault, PacketFault::kOverlong);
  EXPECT_EQ(packets[0].bytes.size(), 90U);
  EXPECT_EQ(packets[1].fault, PacketFault::kNone);
  EXPECT_EQ(counters.get(LaneCounter::kOverlong), 1U);
}

TEST(PacketReader, TakesAPacketOfTheGreatestLengthAndNoneLonger) {
  for (const std::size_t size : {90UL, 94UL}) {
    std::vector<Character> characters;
    append_packet(PacketKind::kData, counting_bytes(size), PacketEnd::kGood, LinkWidth::k4x,
                  characters);
    LaneCounters counters;
    const auto packets = read_characters(LinkWidth::k4x, characters, counters, {}, 90);
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(packets[0].fault, size == 90 ? PacketFault::kNone : PacketFault::kOverlong);
  }
}

TEST(PacketReader, BlamesThePacketInWhichColumnsAreMissingAndNoOther) {
  LaneCounters counters;
  PacketReader reader(LinkWidth::k1x, counters);
  Collector out;
  std::vector<Character> packet;
  append_packet(PacketKind::kData, counting_bytes(14), PacketEnd::kGood, LinkWidth::k1x, packet);
  for (const bool missing : {true, false}) {
    reader.read_gap();  // between packets: nothing of a packet is missing
    for (std::size_t i = 0; i < packet.size(); ++i) {
      Column column{};
      column[0].character = packet[i];
      if (missing && i == 6) reader.read_gap();
      reader.read(column, out);
    }
  }
  ASSERT_EQ(out.packets.size(), 2U);
  EXPECT_EQ(out.packets[0].fault, PacketFault::kSymbolError);
  EXPECT_EQ(out.packets[1].fault, PacketFault::kNone);
}

}  // namespace
}  // namespace weft::phy
