// SPDX-License-Identifier: Apache-2.0
// What receivers notice, when, what they do about it, and what the other end hears of it.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/random.h"
#include "sonet_stage.h"

namespace weft::wan::sonet {
namespace {

constexpr Level kLevel = Level::kStm1;
constexpr Geometry kG = geometry(kLevel);

// Two ends that have talked for long enough for everything to be well.
class SonetDefects : public testing::Test {
 protected:
  explicit SonetDefects(Level level = kLevel)
      : level_(level), options_(options(level)), west_(options_), east_(options_) {
    talk(west_, east_, 60, level);
    west_.pieces.clear();
    east_.pieces.clear();
  }
  static TerminalOptions options(Level level) { return {.level = level}; }

  std::vector<std::byte> frame() { return filled(west_.terminal, geometry(level_).frame()); }
  // A frame with these bits of an octet wrong.
  void lead_wrong(std::size_t at, unsigned bits) {
    auto octets = frame();
    octets[at] ^= static_cast<std::byte>(bits);
    east_.terminal.take(octets);
  }
  std::uint64_t count(SonetCounter counter) const { return east_.count(counter); }
  bool stands(Defect defect) const { return east_.terminal.defects().stands(defect); }
  std::uint64_t entered(Defect defect) const {
    return east_.terminal.defects().counters().get(defect);
  }
  // Frames until it is so; a hundred when it never is.
  std::size_t frames_until(Defect defect, bool so) {
    for (std::size_t i = 1; i <= 100; ++i) {
      lead(west_, east_, 1, level_);
      if (stands(defect) == so) return i;
    }
    return 100;
  }

  const Level level_;
  const TerminalOptions options_;
  End west_;
  End east_;
};

TEST_F(SonetDefects, IsolatedBitsAreCountedEachAndToldTheOtherEnd) {
  // One bit of the payload is one of each parity; one of the section's overhead only of B1.
  for (int i = 0; i < 10; ++i) {
    lead_wrong(kG.at(6, 9) + 50, 1);
    lead(west_, east_, 1, kLevel);
  }
  lead_wrong(kG.at(1, 3), 0x10);
  lead(west_, east_, 1, kLevel);
  // Bits of different columns of B2 and B3, in one frame.
  lead_wrong(kG.at(7, 9) + 30, 0xFF);
  lead(west_, east_, 2, kLevel);
  EXPECT_EQ(count(SonetCounter::kB1Errors), 10 + 1 + 8);
  EXPECT_EQ(count(SonetCounter::kB1Frames), 12);
  EXPECT_EQ(count(SonetCounter::kB2Errors), 10 + 8);
  EXPECT_EQ(count(SonetCounter::kB2Frames), 11);
  EXPECT_EQ(count(SonetCounter::kB3Errors), 10 + 8);
  EXPECT_EQ(count(SonetCounter::kB3Containers), 11);
  EXPECT_FALSE(east_.terminal.defects().any());
  lead(east_, west_, 2, kLevel);
  EXPECT_EQ(west_.count(SonetCounter::kLineRei), 18);
  // G1 has room for eight at a time.
  lead(east_, west_, 2, kLevel);
  EXPECT_EQ(west_.count(SonetCounter::kPathRei), 18);
}

TEST_F(SonetDefects, AlignmentIsLostAfterFourWrongPatternsAndFoundAfterTwoRightOnes) {
  for (int i = 0; i < 3; ++i) {
    lead_wrong(2, 1);
    EXPECT_FALSE(stands(Defect::kOof));
  }
  lead(west_, east_, 1, kLevel);
  for (int i = 0; i < 3; ++i)
    lead_wrong(3, 0x80);
  EXPECT_FALSE(stands(Defect::kOof));
  lead_wrong(5, 0x80);
  EXPECT_TRUE(stands(Defect::kOof));
  EXPECT_FALSE(east_.terminal.up());
  EXPECT_EQ(frames_until(Defect::kOof, false), 2);
  EXPECT_FALSE(stands(Defect::kLof));
  EXPECT_EQ(count(SonetCounter::kBadFraming), 7);
  lead(west_, east_, 6, kLevel);
  EXPECT_TRUE(east_.terminal.up()) << east_.terminal.defects().text();
}

TEST_F(SonetDefects, FramingOctetsAwayFromTheBoundaryDoNotCount) {
  End west(options(Level::kStm16));
  End east(options(Level::kStm16));
  talk(west, east, 30, Level::kStm16);
  for (int i = 0; i < 10; ++i) {
    auto octets = filled(west.terminal, geometry(Level::kStm16).frame());
    octets[5] ^= std::byte{0xFF};
    east.terminal.take(octets);
  }
  EXPECT_EQ(east.count(SonetCounter::kBadFraming), 0);
}

TEST_F(SonetDefects, WithoutAlignmentFor24FramesThereIsLofAndFor24FramesAfterwards) {
  Random random(3);
  std::size_t frames = 0;
  while (!stands(Defect::kLof) && frames < 100) {
    std::vector<std::byte> noise(kG.frame());
    for (std::byte& octet : noise)
      octet = static_cast<std::byte>(random.next());
    east_.terminal.take(noise);
    ++frames;
  }
  EXPECT_EQ(frames, 4 + 24);
  lead(east_, west_, 6, kLevel);
  EXPECT_TRUE(west_.terminal.defects().stands(Defect::kRdiLine));
  EXPECT_TRUE(west_.terminal.defects().stands(Defect::kRdiPath));
  EXPECT_FALSE(west_.terminal.up());
  const std::size_t before = east_.pieces.size();
  EXPECT_EQ(frames_until(Defect::kOof, false), 2);
  // The second frame is already one of the 24.
  EXPECT_EQ(frames_until(Defect::kLof, false), 23);
  EXPECT_LE(east_.pieces.size(), before + kG.payload());
  lead(west_, east_, 2, kLevel);
  EXPECT_GT(east_.pieces.size(), before);
  lead(east_, west_, 7, kLevel);
  EXPECT_TRUE(west_.terminal.up()) << west_.terminal.defects().text();
}

TEST_F(SonetDefects, ZerosForTwentyMicrosecondsAreALostSignal) {
  east_.terminal.take(Bytes(frame()).first(1000));
  std::vector<std::byte> zeros(388);
  east_.terminal.take(zeros);
  EXPECT_FALSE(stands(Defect::kLos));
  zeros.resize(1);
  east_.terminal.take(zeros);
  EXPECT_TRUE(stands(Defect::kLos));
  EXPECT_EQ(frames_until(Defect::kLos, false), 2);
  EXPECT_EQ(entered(Defect::kLos), 1);
  // In one piece with what is before and after.
  auto octets = frame();
  std::fill(octets.begin() + 1001, octets.begin() + 1001 + 389, std::byte{});
  octets[1000] = octets[1001 + 389] = std::byte{1};
  east_.terminal.take(octets);
  EXPECT_TRUE(stands(Defect::kLos));
}

TEST_F(SonetDefects, ASilentLineIsALostSignal) {
  east_.terminal.advance(Time(1s));
  EXPECT_EQ(east_.terminal.next_deadline(), Time(1s) + 100ms);
  lead(west_, east_, 1, kLevel);
  east_.terminal.advance(Time(1s) + 50ms);
  EXPECT_EQ(east_.terminal.next_deadline(), Time(1s) + 150ms);
  east_.terminal.advance(Time(1s) + 149ms);
  EXPECT_TRUE(east_.terminal.up());
  east_.terminal.advance(Time(1s) + 150ms);
  EXPECT_FALSE(east_.terminal.up());
  EXPECT_TRUE(stands(Defect::kLos));
  EXPECT_EQ(east_.terminal.next_deadline(), Time::max());
  lead(west_, east_, 6, kLevel);
  EXPECT_TRUE(east_.terminal.up()) << east_.terminal.defects().text();
}

TEST_F(SonetDefects, ASlippedOctetCostsFramesUntilAlignmentIsFoundAndEachPieceIsExact) {
  // An octet is lost where the framing octets are about to come.
  auto octets = frame();
  octets.pop_back();
  east_.terminal.take(octets);
  lead(west_, east_, 3, kLevel);
  EXPECT_FALSE(stands(Defect::kOof));
  EXPECT_EQ(frames_until(Defect::kOof, true), 2);
  EXPECT_LE(frames_until(Defect::kOof, false), 3);
  lead(west_, east_, 10, kLevel);
  ASSERT_GE(east_.pieces.all.size(), 2);
  EXPECT_TRUE(place_of(east_.pieces.all.back()));
}

TEST_F(SonetDefects, ACutLeavesOutWhatWasInItAndNothingElse) {
  lead(west_, east_, 5, kLevel);
  (void)filled(west_.terminal, 3 * kG.frame() + 1234);
  east_.terminal.interrupted();
  lead(west_, east_, 20, kLevel);
  ASSERT_EQ(east_.pieces.all.size(), 2);
  const auto first = place_of(east_.pieces.all[0]);
  const auto second = place_of(east_.pieces.all[1]);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_GE(*second, *first + east_.pieces.all[0].size() + 3 * kG.payload());
  EXPECT_LE(*second, *first + east_.pieces.all[0].size() + 10 * kG.payload());
  EXPECT_EQ(count(SonetCounter::kB1Errors), 0);
  EXPECT_EQ(count(SonetCounter::kB2Errors), 0);
  EXPECT_EQ(count(SonetCounter::kB3Errors), 0);
}

TEST(SonetTraces, AnotherTraceIsAMismatchAndThePathIsToldOfIt) {
  TerminalOptions west_options{.level = kLevel};
  west_options.section_trace = trace_of(TraceFormat::k16, "west");
  west_options.path_trace = trace_of(TraceFormat::k16, "west path");
  TerminalOptions east_options{.level = kLevel};
  east_options.expected_section_trace = trace_of(TraceFormat::k16, "north");
  east_options.expected_path_trace = trace_of(TraceFormat::k16, "north path");
  End west(west_options);
  End east(east_options);
  talk(west, east, 80, kLevel);
  EXPECT_EQ(east.terminal.defects().text(), "TIM-S TIM-P");
  EXPECT_EQ(west.terminal.defects().text(), "RDI-P");
  EXPECT_FALSE(east.terminal.up());
  EXPECT_EQ(east.terminal.receiver().section_trace(), "west");
}

TEST(SonetLabels, AnotherLabelIsAMismatchAndNoneIsUnequipped) {
  for (const auto& [sent, defect] :
       {std::pair{label::kAtm, Defect::kPlm}, std::pair{label::kUnequipped, Defect::kUnequipped}}) {
    End west({.level = kLevel, .label = sent});
    End east({.level = kLevel, .label = label::kGfp});
    lead(west, east, 40, kLevel);
    EXPECT_TRUE(east.terminal.defects().stands(defect));
    EXPECT_FALSE(east.terminal.up());
    // The first containers are handed on, those before the fifth is there.
    EXPECT_LT(east.pieces.size(), 5 * kG.payload());
  }
  End west({.level = kLevel, .label = label::kEquipped});
  End east({.level = kLevel, .label = label::kGfp});
  lead(west, east, 40, kLevel);
  EXPECT_TRUE(east.terminal.up());
}

// With so many wrong bits in a frame, for so many frames.
void disturb(End& west, End& east, Random& random, double per_bit, std::size_t frames) {
  for (std::size_t i = 0; i < frames; ++i) {
    auto octets = filled(west.terminal, kG.frame());
    const double expected = per_bit * static_cast<double>(kG.frame() - 9) * 8;
    auto count = static_cast<std::size_t>(expected);
    const auto rest = static_cast<std::uint64_t>((expected - static_cast<double>(count)) * 1e6);
    if (random.next() % 1'000'000 < rest) ++count;
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t bit = random.next() % ((kG.frame() - 9) * 8);
      octets[9 + bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
    east.terminal.take(octets);
  }
}

TEST_F(SonetDefects, ErrorsOfTheLineDegradeItAndMakeItFail) {
  Random random(5);
  disturb(west_, east_, random, 1e-7, 6000);
  EXPECT_FALSE(stands(Defect::kSignalDegrade));
  disturb(west_, east_, random, 2e-6, 6000);
  EXPECT_TRUE(stands(Defect::kSignalDegrade));
  EXPECT_FALSE(stands(Defect::kSignalFail));
  disturb(west_, east_, random, 1e-3, 16);
  EXPECT_TRUE(stands(Defect::kSignalFail));
  lead(west_, east_, 16, kLevel);
  EXPECT_FALSE(stands(Defect::kSignalFail));
  EXPECT_TRUE(stands(Defect::kSignalDegrade));
  lead(west_, east_, 10400, kLevel);
  EXPECT_FALSE(stands(Defect::kSignalDegrade));
}

// Whatever is wrong with bits of the line: what comes out where nothing is wrong is what was sent.
TEST_F(SonetDefects, WhateverGoesWrongWhatFollowsIsExact) {
  Random random(11);
  for (int turn = 0; turn < 60; ++turn) {
    auto octets = filled(west_.terminal, kG.frame() * (1 + random.next() % 6));
    switch (random.next() % 4) {
      case 0:
        octets.erase(octets.begin() + static_cast<std::ptrdiff_t>(random.next() % octets.size()));
        break;
      case 1:
        octets.insert(octets.begin() + static_cast<std::ptrdiff_t>(random.next() % octets.size()),
                      std::byte{0x5A});
        break;
      case 2:
        octets.resize(random.next() % octets.size());
        break;
      default:
        for (std::uint64_t n = random.next() % 2000; n != 0; --n)
          octets[random.next() % octets.size()] ^= static_cast<std::byte>(random.next());
        break;
    }
    east_.terminal.take(octets);
    lead(west_, east_, 40, kLevel);
    EXPECT_TRUE(east_.terminal.up()) << turn << ' ' << east_.terminal.defects().text();
    east_.pieces.clear();
    const std::uint64_t wrong = count(SonetCounter::kB2Errors) + count(SonetCounter::kB3Errors);
    lead(west_, east_, 3, kLevel);
    ASSERT_EQ(east_.pieces.all.size(), 1);
    EXPECT_TRUE(place_of(east_.pieces.all[0])) << turn;
    EXPECT_EQ(count(SonetCounter::kB2Errors) + count(SonetCounter::kB3Errors), wrong) << turn;
  }
}

TEST(SonetTables, ThePageHasTheTablesThatRun) {
  std::ifstream file(std::string(WEFT_TEST_DATA) + "/../../docs/wan-sonet.md");
  ASSERT_TRUE(file);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(defects_table()), std::string::npos) << defects_table();
  EXPECT_NE(page.str().find(pointers_table()), std::string::npos) << pointers_table();
}

}  // namespace
}  // namespace weft::wan::sonet
