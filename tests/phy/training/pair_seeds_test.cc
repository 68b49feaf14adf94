// SPDX-License-Identifier: Apache-2.0
// Two ports and a medium, all of it drawn from a seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "sim/seeds.h"
#include "world.h"

namespace weft::phy {
namespace {

using Physical = wire::PortPhysicalState;

// From the moment that both may, or that the medium is as it stays.
constexpr Duration kTrained = 2s;
// Both ends say LinkUp and do not mean the same.
constexpr Duration kDisagreement = 10ms;

struct Draw {
  TrainingOptions a;
  TrainingOptions b;
  Medium medium;
};

TrainingOptions draw_port(Random& random) {
  TrainingOptions options;
  options.lanes = std::array<std::size_t, 5>{1, 4, 4, 8, 12}[random.below(5)];
  do {
    options.widths = static_cast<std::uint8_t>(random.between(1, 15));
    for (const LinkWidth width : kWidestFirst) {
      if (lanes_of(width) > options.lanes)
        options.widths = static_cast<std::uint8_t>(options.widths & ~static_cast<unsigned>(width));
    }
  } while (options.widths == 0);
  options.speeds = static_cast<std::uint8_t>(random.chance(0.7) ? 1 : random.between(1, 3));
  options.reverses_receive = random.chance(0.7);
  options.reverses_transmit = random.chance(0.7);
  return options;
}

Draw draw(Random& random) {
  Draw drawn{.a = draw_port(random), .b = draw_port(random), .medium = {}};
  drawn.medium.delay = Duration(random.between(1, random.chance(0.5) ? 1'000 : 240'000));
  for (Strand& strand : drawn.medium.strands) {
    strand.lanes = std::min(drawn.a.lanes, drawn.b.lanes);
    strand.reversed = random.chance(0.3);
    const double dead = random.chance(0.5) ? 0.1 : 0;
    for (std::size_t i = 0; i < kMaxLanes; ++i) {
      strand.dead[i] = random.chance(dead);
      strand.inverted[i] = random.chance(0.2);
    }
  }
  return drawn;
}

// --- what the medium allows, worked out apart from the machine ---------------------------------

enum class Way { kNone, kPlain, kTurnedBySender };

Way way_through(const Strand& strand, const TrainingOptions& sender,
                const TrainingOptions& receiver, LinkWidth width) {
  const std::size_t lanes = lanes_of(width);
  if (lanes > strand.lanes) return Way::kNone;
  if (std::any_of(strand.dead.begin(), strand.dead.begin() + static_cast<std::ptrdiff_t>(lanes),
                  [](bool dead) { return dead; }))
    return Way::kNone;
  if (!strand.reversed || strand.lanes == 1) return Way::kPlain;
  if (receiver.reverses_receive) {
    for (const LinkWidth within : kWidestFirst) {
      if (lanes_of(within) == strand.lanes && has(receiver.widths, within)) return Way::kPlain;
    }
  }
  const bool turns = sender.reverses_transmit && lanes == strand.lanes;
  return turns ? Way::kTurnedBySender : Way::kNone;
}

std::optional<LinkWidth> widest(const Draw& drawn) {
  for (const LinkWidth width : kWidestFirst) {
    if (!has(drawn.a.widths & drawn.b.widths, width)) continue;
    const Way there = way_through(drawn.medium.strands[0], drawn.a, drawn.b, width);
    const Way back = way_through(drawn.medium.strands[1], drawn.b, drawn.a, width);
    if (there == Way::kNone || back == Way::kNone) continue;
    // A sender turns its lanes when it hears the other end; one has to be heard first.
    if (there == Way::kTurnedBySender && back == Way::kTurnedBySender) continue;
    return width;
  }
  return std::nullopt;
}

bool has_common_speed(const Draw& drawn) {
  return (drawn.a.speeds & drawn.b.speeds) != 0;
}

TEST(PairSeeds, ComesUpWithTheWidestWidthThatTheMediumAllows) {
  std::size_t up = 0;
  Duration longest{};
  for (const std::uint64_t seed : sim::seeds(600)) {
    Random random(seed);
    const Draw drawn = draw(random);
    World world(drawn.a, drawn.b, drawn.medium, seed);
    const Duration later = Duration(random.below(300'000'000));
    world.change([&] { world.a().command(Physical::kPolling, world.now()); });
    world.run_for(later);
    world.change([&] { world.b().command(Physical::kPolling, world.now()); });
    const Time began = world.now();
    const auto width = has_common_speed(drawn) ? widest(drawn) : std::nullopt;
    world.run_while([&] { return !world.agree(); }, began + kTrained);
    ASSERT_EQ(world.agree(), width.has_value())
        << world.report() << sim::how_to_replay(seed, "PairSeeds.*");
    ASSERT_LE(world.longest_disagreement(), kDisagreement) << world.report();
    if (!width) continue;
    ASSERT_EQ(world.a().width(), width)
        << world.report() << sim::how_to_replay(seed, "PairSeeds.*");
    ++up;
    longest = std::max(longest, world.now() - began);
    // It stays so.
    const std::size_t downs = world.station(0).downs + world.station(1).downs;
    world.run_for(1s);
    ASSERT_TRUE(world.agree()) << world.report() << sim::how_to_replay(seed, "PairSeeds.*");
    ASSERT_EQ(world.station(0).downs + world.station(1).downs, downs);
  }
  std::printf("%zu pairs came up, the slowest after %.1f ms\n", up,
              static_cast<double>(longest.count()) / 1e6);
}

// --- trouble ------------------------------------------------------------------------------------

void trouble(World& world, Random& random) {
  Strand& strand = world.medium().strands[random.below(2)];
  LinkTraining& port = random.chance(0.5) ? world.a() : world.b();
  const std::size_t lane = random.below(kMaxLanes);
  switch (random.below(9)) {
    case 0:
      strand.dead[lane] = !strand.dead[lane];
      break;
    case 1:
      strand.noisy[lane] = !strand.noisy[lane];
      break;
    case 2:
      strand.dead.fill(random.chance(0.5));
      break;
    case 3:
      for (Strand& each : world.medium().strands)
        each.dead.fill(true);
      break;
    case 4:
      for (Strand& each : world.medium().strands) {
        each.dead.fill(false);
        each.noisy.fill(false);
      }
      break;
    case 5:
      port.symbol_errors(lane, static_cast<std::uint32_t>(random.below(30)), world.now());
      break;
    case 6:
      port.retrain(world.now());
      break;
    case 7:
      port.command(static_cast<Physical>(random.between(1, 3)), world.now());
      break;
    default:
      port.set_speed(random.chance(0.5) ? LinkSpeed::kSdr : LinkSpeed::kDdr, world.now());
  }
}

// As soon as trouble is over and both poll, they come up; until then they never mean different
// things for long.
TEST(PairSeeds, ComesUpAgainAfterAnyTrouble) {
  std::size_t up = 0;
  Duration longest{};
  Duration disagreed{};
  for (const std::uint64_t seed : sim::seeds(300)) {
    Random random(seed + 1'000'000);
    const Draw drawn = draw(random);
    World world(drawn.a, drawn.b, drawn.medium, seed);
    world.begin();
    world.run_for(Duration(random.below(200'000'000)));
    for (int i = 0; i < 60; ++i) {
      world.change([&] { trouble(world, random); });
      const bool soon = random.chance(0.6);
      world.run_for(Duration(random.below(soon ? 3'000'000 : 200'000'000)));
    }
    ASSERT_LE(world.longest_disagreement(), kDisagreement)
        << world.report() << sim::how_to_replay(seed, "PairSeeds.*");
    world.change([&] {
      world.medium() = drawn.medium;
      for (LinkTraining* const port : {&world.a(), &world.b()}) {
        port->release_speed();
        port->command(Physical::kPolling, world.now());
      }
    });
    const Time began = world.now();
    world.run_while([&] { return !world.agree(); }, began + kTrained);
    const auto width = has_common_speed(drawn) ? widest(drawn) : std::nullopt;
    ASSERT_EQ(world.agree(), width.has_value())
        << world.report() << sim::how_to_replay(seed, "PairSeeds.*");
    if (!width) continue;
    ASSERT_EQ(world.a().width(), width)
        << world.report() << sim::how_to_replay(seed, "PairSeeds.*");
    ++up;
    longest = std::max(longest, world.now() - began);
    disagreed = std::max(disagreed, world.longest_disagreement());
    // The cable is out: both know it soon.
    world.change([&] {
      for (Strand& each : world.medium().strands)
        each.dead.fill(true);
    });
    world.run_for(10ms);
    ASSERT_EQ(world.a().physical_state(), Physical::kPolling) << world.report();
    ASSERT_EQ(world.b().physical_state(), Physical::kPolling) << world.report();
  }
  std::printf("%zu pairs came up again, the slowest after %.1f ms; disagreed for %.3f ms\n", up,
              static_cast<double>(longest.count()) / 1e6,
              static_cast<double>(disagreed.count()) / 1e6);
}

}  // namespace
}  // namespace weft::phy
