// SPDX-License-Identifier: Apache-2.0
#include "hca/receive_shares.h"

#include <gtest/gtest.h>

#include <array>

namespace weft::hca {
namespace {

constexpr std::uint32_t kBudget = 1'000'000;
constexpr std::uint32_t kNoLimit = ~std::uint32_t{0};

// Some connections of one socket, each left when the test is over.
template <std::size_t count>
class Members {
 public:
  explicit Members(ReceiveShares& shares) : shares_(shares) {}
  ~Members() {
    for (auto& member : members_)
      shares_.leave(member);
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ReceiveShares::Member& operator[](std::size_t i) { return members_[i]; }

 private:
  ReceiveShares& shares_;
  std::array<ReceiveShares::Member, count> members_;
};

TEST(ReceiveShares, OneBusyConnectionHasAllOfIt) {
  ReceiveShares shares(kBudget);
  Members<3> members(shares);
  EXPECT_EQ(shares.arrived(members[1], Time{1ms}, kNoLimit), kBudget);
  EXPECT_EQ(shares.arrived(members[1], Time{2ms}, kNoLimit), kBudget);
}

TEST(ReceiveShares, DividesEquallyOnceAllHaveBeenHeardOf) {
  constexpr std::size_t kCount = 10;
  ReceiveShares shares(kBudget);
  Members<kCount> members(shares);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < kCount; ++i)
      shares.arrived(members[i], Time{1ms}, kNoLimit);
  }
  for (std::size_t i = 0; i < kCount; ++i)
    EXPECT_EQ(shares.arrived(members[i], Time{2ms}, kNoLimit), kBudget / kCount) << i;
}

TEST(ReceiveShares, ANewcomerGetsOnlyWhatTheOthersLeave) {
  ReceiveShares shares(kBudget);
  Members<2> members(shares);
  ASSERT_EQ(shares.arrived(members[0], Time{1ms}, kNoLimit), kBudget);
  EXPECT_EQ(shares.arrived(members[1], Time{1ms}, kNoLimit), ReceiveShares::kLeast);
  // The first hears of its smaller share, and the second may have the rest.
  EXPECT_EQ(shares.arrived(members[0], Time{1ms}, kNoLimit), kBudget / 2);
  EXPECT_EQ(shares.arrived(members[1], Time{1ms}, kNoLimit), kBudget / 2);
}

TEST(ReceiveShares, NeverGrantsMoreThanTheWholeBeyondTheLeast) {
  constexpr std::size_t kCount = 40;
  ReceiveShares shares(kBudget);
  Members<kCount> members(shares);
  std::uint64_t dice = 1;
  for (int i = 0; i < 10'000; ++i) {
    dice = dice * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
    const auto when = Time{std::chrono::microseconds(i * 50)};
    shares.arrived(members[(dice >> 33) % (i % 2 == 0 ? kCount : 4)], when, kNoLimit);
    ASSERT_LE(shares.granted(), kBudget + shares.active() * ReceiveShares::kLeast) << i;
  }
}

TEST(ReceiveShares, TheSilentGiveTheirShareBack) {
  ReceiveShares shares(kBudget);
  Members<2> members(shares);
  shares.arrived(members[0], Time{1ms}, kNoLimit);
  shares.arrived(members[1], Time{1ms}, kNoLimit);
  const Time later = Time{1ms} + ReceiveShares::kActive + 1us;
  EXPECT_EQ(shares.arrived(members[1], later, kNoLimit), kBudget);
  EXPECT_EQ(shares.active(), 1u);
}

TEST(ReceiveShares, WhoLeavesFreesItsShareAtOnce) {
  ReceiveShares shares(kBudget);
  Members<2> members(shares);
  shares.arrived(members[0], Time{1ms}, kNoLimit);
  shares.arrived(members[1], Time{1ms}, kNoLimit);
  shares.leave(members[0]);
  EXPECT_EQ(shares.arrived(members[1], Time{1ms}, kNoLimit), kBudget);
  EXPECT_EQ(shares.granted(), kBudget);
}

TEST(ReceiveShares, HoldsToALimitThatCoversOtherSocketsToo) {
  ReceiveShares shares(kBudget);
  Members<1> members(shares);
  EXPECT_EQ(shares.arrived(members[0], Time{1ms}, 50'000), 50'000u);
  EXPECT_EQ(shares.arrived(members[0], Time{1ms}, 1), ReceiveShares::kLeast);
}

TEST(ReceiveShares, ASmallSocketGrantsNoMoreThanItHolds) {
  constexpr std::uint32_t kSmall = ReceiveShares::kLeast / 3;
  ReceiveShares shares(kSmall);
  Members<2> members(shares);
  EXPECT_EQ(shares.arrived(members[0], Time{1ms}, kNoLimit), kSmall);
  EXPECT_EQ(shares.arrived(members[1], Time{1ms}, kNoLimit), kSmall);
}

}  // namespace
}  // namespace weft::hca
