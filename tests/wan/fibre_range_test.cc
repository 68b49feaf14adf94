// SPDX-License-Identifier: Apache-2.0
// How far a fibre reaches: the rate over a distance is what the credit allows, and grows with
// larger blocks, with more of them, and with both. Locally 4x SDR, the fibre 1x QDR: both have 8
// Gbit/s of data. Light takes 5 us for a kilometre of it.
#include <gtest/gtest.h>

#include "fibre_world.h"

namespace weft::wan {
namespace {

using link::CreditFormat;

constexpr std::uint64_t kLine = 1'000'000'000;  // bytes per second
constexpr std::size_t kFibreRangePacket = 8 + 12 + 2048 + 4 + 2;

constexpr Duration way(int kilometres) {
  return kilometres * 5us;
}

struct Fibre {
  int kilometres = 0;
  std::uint32_t vl_buffer = 2048;  // 64-byte blocks
  CreditFormat format{};
  bool plain_peer = false;
};

// What the other end has granted crosses the fibre once in a round trip, or the line is full.
double arithmetic(const Fibre& fibre) {
  const CreditFormat format = fibre.plain_peer ? CreditFormat{} : fibre.format;
  const std::uint32_t blocks = std::min(fibre.vl_buffer >> format.scale, format.most());
  const double granted =
      static_cast<double>(blocks / format.blocks(kFibreRangePacket) * kFibreRangePacket);
  const double round_trip = std::chrono::duration<double>(2 * way(fibre.kilometres)).count();
  return std::min<double>(kLine, granted / round_trip);
}

// The one that is measured, of which nothing is dropped.
double measure(const Fibre& fibre) {
  FibreWorldOptions options{.plain_peer = fibre.plain_peer,
                            .fabric = {.data_vls = 4, .vl_buffer = 2048},
                            .local = {line(kLine), line(kLine)},
                            .fibre = line(kLine, way(fibre.kilometres))};
  options.fabric.credit_updates = link::CreditUpdates::kPeriodic;
  options.fabric.credit_period = link::kStandardCreditPeriod;
  for (FibreOptions& end : options.ends) {
    end.near = options.fabric;
    end.far = options.fabric;
    // Between extenders no watchdog of 400,000 symbol times ends what is merely far away.
    if (!fibre.plain_peer) end.far.credit_updates = link::CreditUpdates::kOnChange;
    end.far.vl_buffer = fibre.vl_buffer;
    end.far.credit_format = fibre.format;
  }
  FibreWorld world(options);
  const double rate = world.rate();
  EXPECT_EQ(world.dropped(), 0) << world.describe();
  EXPECT_EQ(world.sites[1]->disorder, 0);
  return rate;
}

void expect_arithmetic(const Fibre& fibre) {
  SCOPED_TRACE(fibre.kilometres);
  const double expected = arithmetic(fibre);
  const double measured = measure(fibre);
  EXPECT_LE(measured, 1.04 * expected);
  // A port that is made for short links tells credit by quarters of its buffer.
  EXPECT_GE(measured, (fibre.plain_peer ? 0.75 : 0.9) * expected);
}

// The port knows nothing of extenders, and grants what the standard lets it.
TEST(FibreRange, OfAnUnmodifiedPortIsWhatStandardCreditAllows) {
  for (const int kilometres : {1, 10, 26, 100}) {
    expect_arithmetic({.kilometres = kilometres, .plain_peer = true});
    // Nor does it make a difference what the extender could do.
    expect_arithmetic({.kilometres = kilometres,
                       .format = CreditFormat{.scale = 3, .wide = true},
                       .plain_peer = true});
  }
  EXPECT_GT(measure({.kilometres = 10, .plain_peer = true}), 0.95e9);
}

TEST(FibreRange, GrowsWithLargerBlocks) {
  const Fibre near{.kilometres = 80, .vl_buffer = 2048 << 3, .format = CreditFormat{.scale = 3}};
  expect_arithmetic(near);
  EXPECT_GT(arithmetic(near), 0.99e9);
  Fibre far = near;
  far.kilometres = 300;
  expect_arithmetic(far);
}

TEST(FibreRange, GrowsWithMoreBlocks) {
  const Fibre near{.kilometres = 100, .vl_buffer = 2048 << 3, .format = CreditFormat{.wide = true}};
  expect_arithmetic(near);
  EXPECT_GT(arithmetic(near), 0.99e9);
  Fibre far = near;
  far.kilometres = 300;
  expect_arithmetic(far);
}

TEST(FibreRange, GrowsWithBoth) {
  const CreditFormat both{.scale = 3, .wide = true};
  const Fibre near{.kilometres = 500, .vl_buffer = 2048 << 6, .format = both};
  expect_arithmetic(near);
  EXPECT_GT(arithmetic(near), 0.99e9);
  Fibre far = near;
  far.kilometres = 1000;
  expect_arithmetic(far);
}

// A short-range extender's memory is small: less than a standard link could grant, and still enough
// for what its fibre is long.
TEST(FibreRange, OfALittleMemoryIsShort) {
  for (const int kilometres : {1, 4, 10})
    expect_arithmetic({.kilometres = kilometres, .vl_buffer = 512});
}

TEST(FibrePort, OffersWhatItsBufferNeeds) {
  const auto offers = [](std::uint64_t bytes) { return *fibre_port(bytes, 15).credit_format; };
  EXPECT_EQ(offers(32U << 10), CreditFormat{});
  EXPECT_EQ(offers(128U << 10), CreditFormat{});
  EXPECT_EQ(offers(256U << 10), (CreditFormat{.wide = true}));
  EXPECT_EQ(offers(512U << 20), (CreditFormat{.wide = true}));
  EXPECT_EQ(offers(4ULL << 30), (CreditFormat{.scale = 3, .wide = true}));
}

}  // namespace
}  // namespace weft::wan
