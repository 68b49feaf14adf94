// SPDX-License-Identifier: Apache-2.0
#include "ud_world.h"

namespace weft::sim::test {
namespace {

using hca::UdCounter;

std::string ud_replay(std::uint64_t seed) {
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  return how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
}

// A network as bad as the seed likes.
Faults some_ud_faults(Random& random) {
  const auto up_to = [&](double most) {
    return random.chance(0.3) ? 0.0 : most * static_cast<double>(random.below(1001)) / 1000.0;
  };
  return {.loss = up_to(0.3),
          .duplicate = up_to(0.2),
          .reorder = up_to(0.2),
          .credit_loss = up_to(0.5),
          .delay = Duration(static_cast<std::int64_t>(random.between(1'000, 500'000))),
          .jitter = Duration(static_cast<std::int64_t>(random.below(100'000))),
          .reorder_delay = Duration(static_cast<std::int64_t>(random.between(1'000, 3'000'000))),
          .rate_bytes_per_s = random.between(10'000'000, 5'000'000'000)};
}

TEST(UdSimulation, DeliversIntactOrNotAtAllOnAnyNetwork) {
  for (const std::uint64_t seed : seeds(200)) {
    SCOPED_TRACE(ud_replay(seed));
    Random random(seed);
    UdWorldOptions options{.faults = some_ud_faults(random),
                           .senders = random.between(1, 4),
                           .messages = random.between(1, 200),
                           .receive_depth = static_cast<std::uint32_t>(random.between(1, 300)),
                           .socket_buffer = random.between(20'000, 1'000'000),
                           .batch = static_cast<std::uint32_t>(random.between(1, 128)),
                           .credits = random.chance(0.9),
                           .shared_receives = seed % 3 == 0};
    UdWorld world(seed, options);
    ASSERT_TRUE(world.run()) << "still busy after a minute";
    world.check_invariants();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(UdSimulation, DeliversToEveryMemberOfAGroup) {
  for (const std::uint64_t seed : seeds(60)) {
    SCOPED_TRACE(ud_replay(seed));
    Random random(seed);
    const bool faults = random.chance(0.7);
    // Nothing paces multicast, so only a slow sender into large buffers loses nothing.
    UdWorldOptions options{.faults = faults ? some_ud_faults(random) : Faults{},
                           .senders = random.between(1, 3),
                           .receivers = random.between(2, 5),
                           .messages = 60,
                           .longest = 1500,
                           .socket_buffer = 4'000'000,
                           .batch = 8};
    UdWorld world(seed, options);
    ASSERT_TRUE(world.run());
    world.check_invariants();
    if (!faults) {
      EXPECT_EQ(world.delivered(), world.sent() * options.receivers);
    }
    EXPECT_EQ(world.counter(UdCounter::kRxMulticast), world.delivered());
    EXPECT_EQ(world.sender_counter(UdCounter::kRxCredits), 0u);
    if (::testing::Test::HasFailure()) return;
  }
}

// Credits keep what the network delivers from being dropped for want of buffer or receives.
class UdCredits : public ::testing::TestWithParam<std::size_t> {};

TEST_P(UdCredits, LoseNothingOnANetworkThatLosesNothing) {
  for (const std::uint64_t seed : seeds(40)) {
    SCOPED_TRACE(ud_replay(seed));
    Random random(seed);
    const bool small = random.chance(0.4);
    const bool large = !small && random.chance(0.5);
    UdWorldOptions options{
        .faults = {.delay = Duration(random.between(1'000, 100'000)),
                   .jitter = Duration(random.below(20'000)),
                   .rate_bytes_per_s = random.between(100'000'000, 5'000'000'000)},
        .senders = GetParam(),
        .messages = 2000 / GetParam(),
        .shortest = large ? 4096u : 12u,
        .longest = small ? 64u : 4096u,
        .receive_depth = static_cast<std::uint32_t>(random.between(264, 1024)),
        .batch = random.chance(0.3) ? 1u : 128u,
        .poll_time = Duration(random.between(1'000, 200'000)),
        .shared_receives = seed % 2 == 0};
    UdWorld world(seed, options);
    ASSERT_TRUE(world.run());
    world.check_invariants();
    EXPECT_EQ(world.delivered(), world.sent());
    EXPECT_EQ(world.network().overrun, 0u);
    EXPECT_EQ(world.counter(UdCounter::kRxNoReceive), 0u);
    EXPECT_EQ(world.counter(UdCounter::kRxLost), 0u);
    if (::testing::Test::HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Senders, UdCredits, ::testing::Values(1, 2, 3, 8));

TEST(UdSimulation, OverrunsTheReceiverWithoutCredits) {
  UdWorldOptions options{.senders = 8, .messages = 1000, .shortest = 4096, .credits = false};
  UdWorld world(1, options);
  ASSERT_TRUE(world.run());
  world.check_invariants();
  EXPECT_GT(world.network().overrun, 0u) << "else the tests of credits above could not fail";
}

TEST(UdSimulation, DoesNotStallWhenHalfOfTheCreditsAreLost) {
  for (const std::uint64_t seed : seeds(40)) {
    SCOPED_TRACE(ud_replay(seed));
    UdWorldOptions options{
        .faults = {.credit_loss = 0.5}, .senders = 1 + seed % 3, .messages = 1000};
    UdWorld world(seed, options);
    ASSERT_TRUE(world.run());
    world.check_invariants();
    EXPECT_LT(world.now(), Time{1s});
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(UdSimulation, GoesOnBlindlyToAPeerThatGivesNoCredits) {
  UdWorldOptions options{.faults = {.credit_loss = 1.0}, .messages = 5000, .longest = 64};
  UdWorld world(1, options);
  ASSERT_TRUE(world.run());
  world.check_invariants();
  EXPECT_EQ(world.sender_counter(UdCounter::kTxCreditStalls), hca::CreditPacer::kWaitsUntilBlind)
      << "it waits that often, then no more";
  EXPECT_EQ(world.network().sent - world.counter(UdCounter::kTxCredits), world.sent());
}

TEST(UdSimulation, CountsWhatTheNetworkLost) {
  UdWorldOptions options{.faults = {.loss = 0.05}, .messages = 3000, .longest = 200};
  UdWorld world(3, options);
  ASSERT_TRUE(world.run());
  world.check_invariants();
  // But for what was lost before the first or after the last that arrived.
  EXPECT_NEAR(static_cast<double>(world.counter(UdCounter::kRxLost)),
              static_cast<double>(world.sent() - world.delivered()), 3);
}

TEST(UdSimulation, DoesNotCountReorderingAsLoss) {
  UdWorldOptions options{
      .faults = {.reorder = 0.2, .reorder_delay = 50us}, .messages = 3000, .longest = 2000};
  UdWorld world(4, options);
  ASSERT_TRUE(world.run());
  world.check_invariants();
  EXPECT_GT(world.network().reordered, 100u);
  EXPECT_EQ(world.delivered(), world.sent());
  EXPECT_EQ(world.counter(UdCounter::kRxLost), 0u);
}

TEST(UdSimulation, KeepsAFastWireBusyWithALargeWindow) {
  UdWorldOptions options{.faults = {.delay = 20us, .rate_bytes_per_s = 5'000'000'000},
                         .messages = 20'000,
                         .shortest = 4096,
                         .receive_depth = 1024,
                         .socket_buffer = 2'097'152,
                         .batch = 128};
  UdWorld world(1, options);
  ASSERT_TRUE(world.run());
  world.check_invariants();
  EXPECT_EQ(world.delivered(), world.sent());
  // 80 MB at 5 GB/s are 16 ms; the program offers 128 messages each 10 us, more than that.
  EXPECT_LT(world.last_delivery(), Time{25ms});
  EXPECT_LT(world.sender_counter(UdCounter::kRxCredits), 500u);
}

TEST(UdSimulation, IsTheSameToTheLastByteForTheSameSeed) {
  for (const std::uint64_t seed : seeds(5)) {
    SCOPED_TRACE(ud_replay(seed));
    Random random(seed);
    UdWorldOptions options{.faults = some_ud_faults(random), .senders = 3, .messages = 100};
    options.trace = true;
    UdWorld first(seed, options);
    UdWorld second(seed, options);
    UdWorld other(seed + 1, options);
    ASSERT_TRUE(first.run() && second.run() && other.run());
    ASSERT_FALSE(first.trace().empty());
    EXPECT_TRUE(first.trace() == second.trace());
    EXPECT_FALSE(first.trace() == other.trace());
  }
}

}  // namespace
}  // namespace weft::sim::test
