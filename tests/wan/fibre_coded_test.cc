// SPDX-License-Identifier: Apache-2.0
// Two fabrics with a fibre between them that is a stream of bytes, in each line code.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "base/fibre_address.h"
#include "base/random.h"
#include "fibre_world.h"

namespace weft::wan {
namespace {

class CodedFibres : public ::testing::TestWithParam<FibreCodeKind> {
 protected:
  [[nodiscard]] static std::uint64_t sum(const std::array<std::uint32_t, kLanes>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  // An extender's end with bytes for each lane.
  [[nodiscard]] static FibreWorldOptions with(std::uint64_t lane_bytes, link::Emulation line) {
    FibreWorldOptions options{.fibre = line, .code = GetParam()};
    for (FibreOptions& end : options.ends)
      end.far = fibre_port(lane_bytes, 15);
    return options;
  }
};

// With those that bear bits that are wrong.
class NoisyFibres : public CodedFibres {};

std::string code_in_name(const ::testing::TestParamInfo<FibreCodeKind>& info) {
  return "Of" + std::string(kFibreCodeNames[static_cast<std::size_t>(info.param)]);
}

INSTANTIATE_TEST_SUITE_P(EachCode, CodedFibres,
                         ::testing::Values(FibreCodeKind::kSymbols, FibreCodeKind::k8b10b,
                                           FibreCodeKind::k64b66b),
                         code_in_name);
INSTANTIATE_TEST_SUITE_P(EachCode, NoisyFibres,
                         ::testing::Values(FibreCodeKind::k8b10b, FibreCodeKind::k64b66b),
                         code_in_name);

TEST_P(CodedFibres, CarryPacketsOfEverySizeAndLaneUnchangedAndInOrder) {
  FibreWorld world(with(128 << 10, line(1'000'000'000, 50us)));
  ASSERT_TRUE(world.activate()) << world.describe();
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    for (const auto& site : world.sites)
      site->send(Vl{static_cast<std::uint8_t>(random.below(15))}, 4 * random.below(1025));
    if (i % 7 == 0) world.run_for(100us);
  }
  world.run_for(10ms);
  for (const auto& site : world.sites) {
    EXPECT_EQ(sum(site->came), 300U);
    EXPECT_EQ(site->disorder, 0U);
    EXPECT_EQ(site->damaged, 0U);
  }
  EXPECT_EQ(world.dropped(), 0U) << world.describe();
  EXPECT_EQ(world.pool.in_use(), 0U) << "something keeps packets";
}

// Credit of 24 bits and of large blocks crosses: without it the rate would be 128 KiB in 4 ms.
TEST_P(CodedFibres, AreAsLongAsTheirCreditSays) {
  FibreWorld world(with(8 << 20, line(1'000'000'000, 2ms)));
  EXPECT_GT(world.rate(), 0.95e9);
  EXPECT_EQ(world.dropped(), 0U) << world.describe();
}

// Bits that get wrong: packets are lost, and with them credit until it is told again.
TEST_P(NoisyFibres, GoOnWhenBitsAreWrong) {
  FibreWorld world(with(256 << 10, line(1'000'000'000, 50us)));
  ASSERT_TRUE(world.activate()) << world.describe();
  Random random(2);
  std::uint64_t wrong = 0;
  world.coded->harm = [&](std::vector<std::byte>& bytes) {
    if (!random.chance(0.02)) return;
    bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
    ++wrong;
  };
  for (int i = 0; i < 3000; ++i) {
    world.sites[0]->send(Vl{static_cast<std::uint8_t>(random.below(15))}, 4 * random.below(500));
    world.run_for(20us);
  }
  world.coded->harm = {};
  world.run_for(500ms);
  EXPECT_GT(wrong, 30U);
  EXPECT_EQ(world.sites[1]->damaged, 0U);
  EXPECT_GT(sum(world.sites[1]->came), 1000U);
  EXPECT_EQ(world.count(link::PortCounter::kRxOverrun), 0U) << "a buffer was too small";
  EXPECT_EQ(world.pool.in_use(), 0U) << "something waits for ever";
  EXPECT_EQ(world.coded->channels[1]->counters().get(FibreCounter::kOutOfStep), 0U);
}

}  // namespace
}  // namespace weft::wan
