// SPDX-License-Identifier: Apache-2.0
// Both ends of a path over one line: what goes in comes out, at every level, however octets are
// cut.
#include <gtest/gtest.h>

#include "base/random.h"
#include "sonet_stage.h"

namespace weft::wan::sonet {
namespace {

TerminalOptions options_of(Level level) {
  return {.level = level,
          .section_trace = trace_of(TraceFormat::k16, "west section"),
          .path_trace = trace_of(TraceFormat::k64, "west path"),
          .expected_section_trace = trace_of(TraceFormat::k16, "west section"),
          .expected_path_trace = trace_of(TraceFormat::k64, "west path")};
}

TEST(SonetTerminal, PayloadsOfEveryLevelComeAsTheyWereAndNothingIsWrong) {
  for (const Level level : kAllLevels) {
    End one(options_of(level));
    End other(options_of(level));
    talk(one, other, 200, level);
    for (End* const end : {&one, &other}) {
      EXPECT_TRUE(end->terminal.up()) << end->terminal.defects().text();
      EXPECT_FALSE(end->terminal.defects().any()) << end->terminal.defects().text();
      ASSERT_EQ(end->pieces.all.size(), 1);
      EXPECT_EQ(end->pieces.interruptions, 0);
      EXPECT_TRUE(place_of(end->pieces.all[0]));
      // The first frame is where a pattern was found, three more are for the pointer, and at the
      // end of the 24th LOF is left.
      EXPECT_GE(end->pieces.size(), geometry(level).payload() * 170);
      EXPECT_EQ(end->count(SonetCounter::kFramesIn), 199);
      for (const SonetCounter counter :
           {SonetCounter::kBadFraming, SonetCounter::kB1Errors, SonetCounter::kB2Errors,
            SonetCounter::kB3Errors, SonetCounter::kLineRei, SonetCounter::kPathRei}) {
        EXPECT_EQ(end->count(counter), 0) << static_cast<int>(counter);
      }
      EXPECT_EQ(end->terminal.receiver().section_trace(), "west section");
      EXPECT_EQ(end->terminal.path().trace(), "west path");
      EXPECT_EQ(end->terminal.path().label(), label::kPpp);
    }
  }
}

TEST(SonetTerminal, ContainersMayBeginAnywhere) {
  for (const std::uint16_t pointer :
       std::to_array<std::uint16_t>({0, 1, 86, 87, 300, 521, 523, 782})) {
    TerminalOptions options = options_of(Level::kStm4);
    options.pointer = pointer;
    End one(options);
    End other(options);
    lead(one, other, 60, Level::kStm4);
    EXPECT_EQ(other.terminal.receiver().pointer().value(), pointer);
    EXPECT_EQ(other.count(SonetCounter::kB3Errors), 0) << pointer;
    ASSERT_EQ(other.pieces.all.size(), 1) << pointer;
    EXPECT_TRUE(place_of(other.pieces.all[0])) << pointer;
  }
}

TEST(SonetTerminal, OctetsMayBeCutAnywhere) {
  Random random(7);
  End whole(options_of(Level::kStm1));
  End cut(options_of(Level::kStm1));
  End ear(options_of(Level::kStm1));
  const auto octets = filled(whole.terminal, 100 * geometry(Level::kStm1).frame());
  std::vector<std::byte> pieces;
  while (pieces.size() < octets.size()) {
    const std::size_t size =
        std::min<std::size_t>(random.next() % 5000, octets.size() - pieces.size());
    const auto piece = filled(cut.terminal, size);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
    ear.terminal.take(piece);
  }
  EXPECT_EQ(pieces, octets);
  ASSERT_EQ(ear.pieces.all.size(), 1);
  EXPECT_TRUE(place_of(ear.pieces.all[0]));
  EXPECT_EQ(ear.count(SonetCounter::kB1Errors), 0);
}

TEST(SonetTerminal, FramesAreFoundAtAnyBit) {
  const std::size_t frame = geometry(Level::kStm1).frame();
  for (unsigned shift = 0; shift < 8; ++shift) {
    End one(options_of(Level::kStm1));
    End other(options_of(Level::kStm1));
    const auto octets = filled(one.terminal, 40 * frame);
    std::vector<std::byte> late(octets.size() + 1);
    for (std::size_t i = 0; i < octets.size(); ++i) {
      const unsigned two = std::to_integer<unsigned>(octets[i]) << (8 - shift);
      late[i] |= static_cast<std::byte>(two >> 8);
      late[i + 1] |= static_cast<std::byte>(two);
    }
    for (std::size_t at = 0; at < late.size(); at += 1000)
      other.terminal.take(Bytes(late).subspan(at, std::min<std::size_t>(1000, late.size() - at)));
    EXPECT_EQ(other.terminal.receiver().aligner().bit_offset(), (8 - shift) % 8);
    ASSERT_EQ(other.pieces.all.size(), 1) << shift;
    EXPECT_TRUE(place_of(other.pieces.all[0])) << shift;
  }
}

TEST(SonetTerminal, GenuinePointersWithOtherSsBitsAreUnderstood) {
  TerminalOptions sonet = options_of(Level::kStm16);
  sonet.sdh = false;
  End one(sonet);
  End other(options_of(Level::kStm16));
  lead(one, other, 10, Level::kStm16);
  EXPECT_EQ(other.terminal.receiver().pointer().value(), kAlignedPointer);
}

}  // namespace
}  // namespace weft::wan::sonet
