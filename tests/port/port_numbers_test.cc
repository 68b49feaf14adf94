// SPDX-License-Identifier: Apache-2.0
#include "port/udp/port_numbers.h"

#include <gtest/gtest.h>

#include <set>

#include "io/system_entropy.h"

namespace weft::port {
namespace {

TEST(PortNumbers, HandsOutEveryNumberOfTheRangeOnceAndThenNone) {
  io::SystemEntropy entropy;
  PortNumbers numbers(50000, 50009, entropy);
  std::set<std::uint16_t> seen;
  while (const auto number = numbers.take())
    seen.insert(*number);
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(*seen.begin(), 50000);
  EXPECT_EQ(*seen.rbegin(), 50009);
  EXPECT_EQ(numbers.available(), 0u);
}

TEST(PortNumbers, LeavesOutTheOneThatIsAgreedForSomethingElse) {
  io::SystemEntropy entropy;
  PortNumbers numbers(50000, 50009, entropy, std::uint16_t{50005});
  EXPECT_EQ(numbers.available(), 9u);
  while (const auto number = numbers.take())
    EXPECT_NE(*number, 50005);
}

TEST(PortNumbers, ReusesANumberOnlyAfterAllOthers) {
  io::SystemEntropy entropy;
  PortNumbers numbers(50000, 50003, entropy);
  const auto first = numbers.take();
  ASSERT_TRUE(first);
  numbers.give_back(*first);
  for (int i = 0; i < 3; ++i)
    EXPECT_NE(numbers.take(), first);
  EXPECT_EQ(numbers.take(), first);
}

TEST(PortNumbers, WorksForARangeOfOneAndUpToTheHighestPort) {
  io::SystemEntropy entropy;
  PortNumbers numbers(65534, 65534, entropy);
  EXPECT_EQ(numbers.take(), 65534);
  EXPECT_FALSE(numbers.take());
}

}  // namespace
}  // namespace weft::port
