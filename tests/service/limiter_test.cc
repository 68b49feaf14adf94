// SPDX-License-Identifier: Apache-2.0
#include "service/limiter/limiter.h"

#include "runtime_fixture.h"

namespace weft::service::test {
namespace {

class LimiterTest : public RuntimeTest {
 protected:
  void limit(const Limiter::Options& options) {
    limiter = std::make_unique<Limiter>(options);
    runtime->set_chain(kService, {.services = {limiter.get()}});
    runtime->pin_path(b, {.dlid = kB});
    runtime->pin_path(a, {.dlid = kA});
  }
  // Bytes of `made` that pass in so much time, when one comes each `apart`.
  std::uint64_t pass(const Made& made, Duration time, Duration apart) {
    std::uint64_t bytes = 0;
    for (const Time end = now + time; now < end; now += apart)
      bytes += through(made).size();
    return bytes;
  }
  Made in_partition(std::uint16_t key) {
    Made made = from_a({});
    made.payload = Buffer(1000);
    made.bth.pkey = PKey{key};
    return made;
  }
  std::unique_ptr<Limiter> limiter;
};

TEST_F(LimiterTest, LetsEachTenantHaveItsRateAndItsBurst) {
  limit({.usual = {.bytes_per_s = 1'000'000, .burst = 20'000}});
  limiter->limit(PKey{0x0002}, {.bytes_per_s = 3'000'000, .burst = 20'000});
  const std::uint64_t size = make(in_partition(1)).size();
  // Ten times as much comes as one may send.
  const std::uint64_t one = pass(in_partition(0x8001), 2s, 100us);
  EXPECT_LE(one, 2'020'000u);
  EXPECT_GE(one + size + 100, 2'020'000u);  // and what is earned in the last 100 us
  const std::uint64_t other = pass(in_partition(0x8002), 2s, 100us);
  EXPECT_LE(other, 6'020'000u);
  EXPECT_GE(other + size + 300, 6'020'000u);
  EXPECT_GT(runtime->drops(*limiter)[0].value, 0u);
}

TEST_F(LimiterTest, TakesBothMembershipsOfAPartitionForOneTenant) {
  limit({.usual = {.bytes_per_s = 1, .burst = 1'100}});
  EXPECT_FALSE(through(in_partition(0x8001)).empty());
  EXPECT_TRUE(through(in_partition(0x0001)).empty());
  EXPECT_FALSE(through(in_partition(0x0002)).empty());
}

TEST_F(LimiterTest, DropsNothingOfWhoKeepsToHisRate) {
  limit({.usual = {.bytes_per_s = 1'000'000, .burst = 2'000}});
  const std::uint64_t size = make(in_partition(1)).size();
  const auto apart = std::chrono::nanoseconds(size * 1'000);
  pass(in_partition(1), 1s, apart);
  EXPECT_EQ(runtime->drops(*limiter)[0].value, 0u);
}

TEST_F(LimiterTest, LimitsEndsByTheirGids) {
  limit({.by = Limiter::By::kSource, .usual_limited = false});
  limiter->limit(a, {.bytes_per_s = 0});
  EXPECT_TRUE(through(from_a({})).empty());
  EXPECT_FALSE(through(from_b({})).empty());
}

}  // namespace
}  // namespace weft::service::test
