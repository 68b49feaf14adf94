// SPDX-License-Identifier: Apache-2.0
// What must hold of links whatever happens to them.
#include "chain.h"

#include <gtest/gtest.h>

#include "sim/seeds.h"

namespace weft::link {
namespace {

constexpr int kSteps = 150;

class Chains : public ::testing::Test {
 protected:
  static void check(const Chain& chain) {
    EXPECT_GT(chain.sent(), 500);
    EXPECT_EQ(chain.excesses(), 0) << "packets beyond the credit";
    EXPECT_EQ(chain.counted(PortCounter::kRxOverrun), 0) << "packets that found no room";
    EXPECT_EQ(chain.out_of_order(), 0);
    EXPECT_EQ(chain.delivered() + chain.lost_for_a_reason(), chain.sent());
    EXPECT_EQ(chain.waiting(), 0) << "packets that wait for credit that never comes";
    EXPECT_EQ(chain.in_use(), 0) << "packets that nobody has";
    if (HasFailure()) ADD_FAILURE() << chain.describe();
  }
  static std::string replay(std::uint64_t seed) {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    return sim::how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
  }
};

TEST_F(Chains, LoseNothingWhereNothingIsWrong) {
  for (const std::uint64_t seed : sim::seeds(100)) {
    SCOPED_TRACE(replay(seed));
    Chain chain(seed, seed % 3, {});
    chain.run(kSteps);
    check(chain);
    EXPECT_EQ(chain.delivered(), chain.sent());
    if (HasFailure()) return;
  }
}

TEST_F(Chains, CountWhatIsLostOnLossyLinksAndGoOn) {
  for (const std::uint64_t seed : sim::seeds(100)) {
    SCOPED_TRACE(replay(seed));
    Chain chain(seed, seed % 3, {.loss = true});
    chain.run(kSteps);
    check(chain);
    if (HasFailure()) return;
  }
}

TEST_F(Chains, CountWhatIsLostWhenLinksComeAndGo) {
  for (const std::uint64_t seed : sim::seeds(100)) {
    SCOPED_TRACE(replay(seed));
    Chain chain(seed, seed % 3, {.loss = true, .flaps = true});
    chain.run(kSteps);
    check(chain);
    if (HasFailure()) return;
  }
}

TEST_F(Chains, CountWhatLivesTooLong) {
  for (const std::uint64_t seed : sim::seeds(100)) {
    SCOPED_TRACE(replay(seed));
    Chain chain(seed, 1 + seed % 2, {.loss = true, .flaps = true, .lifetimes = true});
    chain.run(kSteps);
    check(chain);
    if (HasFailure()) return;
  }
}

TEST_F(Chains, DoTheSameAgainForTheSameSeed) {
  const auto digest = [](std::uint64_t seed) {
    Chain chain(seed, 2, {.loss = true, .flaps = true, .lifetimes = true});
    chain.run(kSteps);
    return chain.digest();
  };
  EXPECT_EQ(digest(5), digest(5));
  EXPECT_NE(digest(5), digest(6));
}

}  // namespace
}  // namespace weft::link
