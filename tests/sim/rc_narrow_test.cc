// SPDX-License-Identifier: Apache-2.0
// Connections over a link that swallows long packets and tells nobody (RFC 2923), and has the other
// faults besides, against the model.
#include <gtest/gtest.h>

#include "rc_some_world.h"
#include "rc_world.h"
#include "sim/seeds.h"

namespace weft::sim::test {
namespace {

using hca::ConnectedCounter;

// With UDP and the header of IPv6 that is 1280 bytes.
constexpr std::size_t kLongest = 1232;

WorldOptions narrow_world(std::uint64_t seed) {
  WorldOptions options = some_world(seed, true);
  options.plan.mtu = seed % 2 == 0 ? 2048 : 4096;
  options.plan.longest = 6 * options.plan.mtu;
  options.faults.longest = kLongest;
  // A packet is lost with any of its pieces.
  options.faults.loss /= 4;
  options.faults.corrupt /= 4;
  return options;
}

void run(std::uint64_t seed, const WorldOptions& options, std::uint64_t& cut,
         std::uint64_t& gave_up) {
  SCOPED_TRACE(replay(seed));
  RcWorld world(seed, options);
  world.run();
  world.check();
  cut += world.counter(ConnectedCounter::kTxInPieces);
  gave_up += world.gave_up();
}

TEST(RcOverANarrowPath, KeepsToTheModel) {
  std::uint64_t cut = 0;
  std::uint64_t gave_up = 0;
  const auto all = seeds(50);
  for (const std::uint64_t seed : all) {
    run(seed, narrow_world(seed), cut, gave_up);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_LE(gave_up, all.size() / 50 + 1);
  if (all.size() > 1) {
    EXPECT_GT(cut, 10 * all.size());
  }
}

TEST(RcOverANarrowPath, KeepsToTheModelWithXrcTargets) {
  std::uint64_t cut = 0;
  std::uint64_t gave_up = 0;
  const auto all = seeds(25);
  for (const std::uint64_t seed : all) {
    WorldOptions options = narrow_world(seed);
    options.plan.service = hca::QpType::kXrcInitiator;
    options.plan.both_ways = false;
    options.plan.shared_receives = true;
    options.plan.longest_rare = 0;
    run(seed, options, cut, gave_up);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_LE(gave_up, all.size() / 50 + 1);
  if (all.size() > 1) {
    EXPECT_GT(cut, all.size());
  }
}

// Loss, reordering and peers that are slow to read are no such link.
TEST(RcOverAWidePath, SendsNothingInPieces) {
  std::uint64_t doubted = 0;
  std::uint64_t gave_up = 0;
  const auto all = seeds(50);
  for (const std::uint64_t seed : all) {
    WorldOptions options = narrow_world(seed);
    options.faults.longest = 0;
    std::uint64_t cut = 0;
    run(seed, options, cut, gave_up);
    doubted += cut > 0;
    if (::testing::Test::HasFailure()) return;
  }
  // A packet may be lost by chance thrice in a row, while no other long one is on its way.
  EXPECT_LE(doubted, all.size() / 25 + 1);
}

}  // namespace
}  // namespace weft::sim::test
