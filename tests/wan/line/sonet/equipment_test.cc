// SPDX-License-Identifier: Apache-2.0
// What stands in lines: regenerators and add/drop multiplexers, with clocks of their own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "sonet_stage.h"
#include "wan/line/sonet/add_drop.h"
#include "wan/line/sonet/regenerator.h"

namespace weft::wan::sonet {
namespace {

constexpr Level kQuad = Level::kStm4;
constexpr Geometry kQuadG = geometry(kQuad);

void pass(OctetSource& from, OctetSink& to, std::size_t octets) {
  to.take(filled(from, octets));
}

TEST(SonetRegenerator, PassesAllButTheSectionAndCountsItsErrors) {
  End west({.level = kQuad});
  End east({.level = kQuad});
  Regenerator middle(kQuad, Trace(), trace_of(TraceFormat::k16, "middle"));
  const auto run = [&](std::size_t frames) {
    for (std::size_t i = 0; i < frames; ++i) {
      pass(west.terminal, middle, kQuadG.frame());
      pass(middle, east.terminal, kQuadG.frame());
    }
  };
  run(60);
  EXPECT_TRUE(east.pieces.all.size() == 1 && place_of(east.pieces.all[0]));
  // A wrong bit before it is one of its own B1, of the line's B2 and of the path's B3 at the end.
  auto octets = filled(west.terminal, kQuadG.frame());
  octets[kQuadG.at(5, 9) + 100] ^= std::byte{4};
  middle.take(octets);
  pass(middle, east.terminal, kQuadG.frame());
  run(10);
  EXPECT_EQ(middle.counters().get(SonetCounter::kB1Errors), 1);
  EXPECT_EQ(east.count(SonetCounter::kB1Errors), 0);
  EXPECT_EQ(east.count(SonetCounter::kB2Errors), 1);
  EXPECT_EQ(east.count(SonetCounter::kB3Errors), 1);
  EXPECT_EQ(middle.counters().get(SonetCounter::kOverruns), 0);
  EXPECT_EQ(middle.counters().get(SonetCounter::kUnderruns), 0);
}

TEST(SonetRegenerator, SendsAnAisOfTheLineWhereNothingComes) {
  End west({.level = kQuad});
  End east({.level = kQuad});
  Regenerator middle(kQuad, Trace(), Trace());
  for (int i = 0; i < 60; ++i) {
    pass(west.terminal, middle, kQuadG.frame());
    pass(middle, east.terminal, kQuadG.frame());
  }
  EXPECT_TRUE(east.terminal.up());
  middle.lose_signal();
  EXPECT_TRUE(middle.defects().stands(Defect::kLos));
  for (int i = 0; i < 10; ++i)
    pass(middle, east.terminal, kQuadG.frame());
  EXPECT_EQ(east.terminal.defects().text(), "AIS-L");
  lead(east, west, 10, kQuad);
  EXPECT_EQ(west.terminal.defects().text(), "RDI-L RDI-P");
  for (int i = 0; i < 60; ++i) {
    pass(west.terminal, middle, kQuadG.frame());
    pass(middle, east.terminal, kQuadG.frame());
  }
  EXPECT_TRUE(east.terminal.up()) << east.terminal.defects().text();
  EXPECT_TRUE(place_of(east.pieces.all.back()));
}

TEST(SonetRegenerator, DropsOrAddsAFrameWhereItsClockIsNotTheLines) {
  for (const auto& [in, out] : {std::pair{kQuadG.frame(), kQuadG.frame() - 200},
                                std::pair{kQuadG.frame() - 200, kQuadG.frame()}}) {
    End west({.level = kQuad});
    End east({.level = kQuad});
    Regenerator middle(kQuad, Trace(), Trace());
    for (int i = 0; i < 400; ++i) {
      pass(west.terminal, middle, in);
      pass(middle, east.terminal, out);
    }
    EXPECT_TRUE(east.terminal.receiver().aligner().aligned());
    const SonetCounter slips = in > out ? SonetCounter::kOverruns : SonetCounter::kUnderruns;
    EXPECT_GT(middle.counters().get(slips), 2);
    EXPECT_LT(middle.counters().get(slips), 12);
  }
}

// Two ends and a multiplexer, whose lines are led on in pieces, taking turns.
struct Ring {
  Ring() : west({.level = kQuad}), east({.level = kQuad}), middle({.level = kQuad}) {}
  void run(std::size_t turns, std::size_t of_west, std::size_t of_middle) {
    for (std::size_t i = 0; i < turns; ++i) {
      pass(west.terminal, middle.from(Side::kWest), of_west);
      pass(middle.to(Side::kEast), east.terminal, of_middle);
    }
  }
  // Pieces of 1,000 octets, of which `more` come in each tenth turn as well.
  void run_apart(std::size_t tens, int more) {
    for (std::size_t i = 0; i < tens; ++i) {
      run(9, 1000, 1000);
      run(1, static_cast<std::size_t>(1000 + more), 1000);
    }
  }
  std::uint64_t out(SonetCounter counter) const {
    return middle.counters(Side::kEast).get(counter);
  }
  End west;
  End east;
  AddDropMultiplexer middle;
};

TEST(SonetAddDrop, PassesContainersWithoutAnyStepWhereClocksAreTheSame) {
  Ring ring;
  ring.run(400, kQuadG.frame() / 3, kQuadG.frame() / 3);
  EXPECT_TRUE(ring.east.terminal.up()) << ring.east.terminal.defects().text();
  ASSERT_EQ(ring.east.pieces.all.size(), 1);
  EXPECT_TRUE(place_of(ring.east.pieces.all[0]));
  EXPECT_EQ(ring.out(SonetCounter::kNewDataOut), 1);
  EXPECT_EQ(ring.out(SonetCounter::kIncrementsOut), 0);
  EXPECT_EQ(ring.out(SonetCounter::kDecrementsOut), 0);
}

// So many octets of a container are a step: what comes faster has to be sent in as many more.
// `more` is in units of 100 ppm, `settling` and `tens` are of 10,000 octets each.
void expect_steps(int more, std::size_t settling, std::size_t tens) {
  Ring ring;
  ring.run(1200, 1000, 1000);
  const bool is_faster = more > 0;
  const SonetCounter right =
      is_faster ? SonetCounter::kDecrementsOut : SonetCounter::kIncrementsOut;
  const SonetCounter wrong =
      is_faster ? SonetCounter::kIncrementsOut : SonetCounter::kDecrementsOut;
  // First until steps are due, and all of them are made, then count. Octets come in pieces, so that
  // how full it is is seen up to a piece too low; with one step in some 4.3 frames there is room
  // for next to no frame that sees no step due, and what waits has to grow by a piece more for
  // that.
  for (int i = 0; ring.out(right) < 10 && i < 10'000; ++i)
    ring.run_apart(1, more);
  ASSERT_GE(ring.out(right), 10);
  ring.run_apart(settling, more);
  const std::uint64_t before = ring.out(right);
  ring.run_apart(tens, more);
  const double octets = static_cast<double>(tens) * std::abs(more) * 261 / 270;
  EXPECT_NEAR(static_cast<double>(ring.out(right) - before),
              octets / static_cast<double>(kQuadG.unit()), 2);
  EXPECT_EQ(ring.out(wrong), 0);
  EXPECT_EQ(ring.out(SonetCounter::kOverruns) + ring.out(SonetCounter::kUnderruns), 0);
  EXPECT_EQ(ring.out(SonetCounter::kNewDataOut), 1);
  // The end sees what was done but for what is under way, and not a bit is wrong.
  const SonetCounter seen = is_faster ? SonetCounter::kDecrementsIn : SonetCounter::kIncrementsIn;
  EXPECT_NEAR(static_cast<double>(ring.east.count(seen)), static_cast<double>(ring.out(right)), 1);
  ASSERT_EQ(ring.east.pieces.all.size(), 1);
  EXPECT_TRUE(place_of(ring.east.pieces.all[0]));
  EXPECT_EQ(ring.east.count(SonetCounter::kB3Errors), 0);
  EXPECT_TRUE(ring.east.terminal.up());
}

TEST(SonetAddDrop, StepsForClocks100PpmApartAreAsManyAsTheDifferenceAsksFor) {
  expect_steps(1, 0, 1500);
  expect_steps(-1, 0, 1500);
}

TEST(SonetAddDrop, StepsForClocks300PpmApartAreAsManyAsTheDifferenceAsksFor) {
  expect_steps(3, 2000, 1500);
  expect_steps(-3, 2000, 1500);
}

// Between two steps a pointer stays for three frames at least (G.707, 8.1.3): so a step of 3 N
// octets goes with four containers of 2,349 N, which is 319 ppm. At 500 ppm every step that there
// may be is made, and what is beyond that waits until there is no room for it.
TEST(SonetAddDrop, StepsAreOneInFourFramesAtTheMost) {
  Ring ring;
  ring.run(1200, 1000, 1000);
  for (int i = 0; ring.out(SonetCounter::kDecrementsOut) < 10 && i < 10'000; ++i)
    ring.run_apart(1, 5);
  ring.run_apart(1000, 5);
  const std::uint64_t steps = ring.out(SonetCounter::kDecrementsOut);
  const std::uint64_t frames = ring.out(SonetCounter::kFramesOut);
  ring.run_apart(1500, 5);
  EXPECT_NEAR(static_cast<double>(ring.out(SonetCounter::kDecrementsOut) - steps),
              static_cast<double>(ring.out(SonetCounter::kFramesOut) - frames) / 4, 1);
  EXPECT_EQ(ring.out(SonetCounter::kOverruns), 0);
  for (int i = 0; ring.out(SonetCounter::kOverruns) == 0 && i < 20; ++i)
    ring.run_apart(1000, 5);
  EXPECT_EQ(ring.out(SonetCounter::kOverruns), 1);
}

TEST(SonetAddDrop, MoreThanPointersCanDoIsLostInWholePiecesAndCounted) {
  // A step in four frames is 319 ppm.
  for (const auto& [of_west, of_middle] : {std::pair{9800, 9700}, std::pair{9700, 9800}}) {
    Ring ring;
    ring.run(2000, static_cast<std::size_t>(of_west), static_cast<std::size_t>(of_middle));
    EXPECT_GT(ring.out(SonetCounter::kOverruns) + ring.out(SonetCounter::kUnderruns), 0);
    EXPECT_GT(ring.east.pieces.all.size(), 1);
    std::size_t exact = 0;
    for (const auto& piece : ring.east.pieces.all) {
      if (place_of(piece)) ++exact;
    }
    // One frame at most of each piece is of two containers where what was kept was dropped.
    EXPECT_GT(exact, 0);
  }
}

TEST(SonetAddDrop, SendsAnAisOfThePathWhereNothingComesAndNewDataAfterIt) {
  Ring ring;
  ring.run(120, kQuadG.frame(), kQuadG.frame());
  EXPECT_TRUE(ring.east.terminal.up());
  ring.middle.lose_signal(Side::kWest);
  for (int i = 0; i < 10; ++i)
    pass(ring.middle.to(Side::kEast), ring.east.terminal, kQuadG.frame());
  EXPECT_EQ(ring.east.terminal.defects().text(), "AIS-P");
  // The line to west is told by the multiplexer, the path by the far end.
  pass(ring.middle.to(Side::kWest), ring.west.terminal, 20 * kQuadG.frame());
  EXPECT_TRUE(ring.west.terminal.defects().stands(Defect::kRdiLine));
  ring.east.pieces.clear();
  ring.run(60, kQuadG.frame(), kQuadG.frame());
  // West has not heard that the path to it is there again.
  EXPECT_EQ(ring.east.terminal.defects().text(), "RDI-P");
  ASSERT_EQ(ring.east.pieces.all.size(), 1);
  EXPECT_TRUE(place_of(ring.east.pieces.all[0]));
}

TEST(SonetAddDrop, APathThatEndsHereIsDroppedAndAddedAndTheOtherSideIsUnequipped) {
  WordSource add;
  Pieces drop;
  AddDropMultiplexer middle(
      {.level = kQuad}, Side::kWest,
      {.label = label::kPpp, .trace = {}, .expected_trace = {}, .add = &add, .drop = &drop});
  End west({.level = kQuad});
  End east({.level = kQuad});
  for (int i = 0; i < 60; ++i) {
    pass(west.terminal, middle.from(Side::kWest), kQuadG.frame());
    pass(middle.to(Side::kWest), west.terminal, kQuadG.frame());
    pass(middle.to(Side::kEast), east.terminal, kQuadG.frame());
  }
  EXPECT_TRUE(west.terminal.up()) << west.terminal.defects().text();
  ASSERT_EQ(drop.all.size(), 1);
  EXPECT_TRUE(place_of(drop.all[0]));
  EXPECT_TRUE(place_of(west.pieces.all.back()));
  EXPECT_EQ(east.terminal.defects().text(), "UNEQ-P");
  EXPECT_FALSE(middle.defects(Side::kWest).any());
}

}  // namespace
}  // namespace weft::wan::sonet
