// SPDX-License-Identifier: Apache-2.0
#include "service/limiter/limiter.h"

#include <numeric>

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

TEST_F(LimiterTest, SaysWhatBecameOfEachTenant) {
  limit({.usual = {.bytes_per_s = 1, .burst = 1'100}, .mirrors = true});
  const std::uint64_t size = make(in_partition(1)).size();
  through(in_partition(0x8001));
  through(in_partition(0x0001));
  through(in_partition(0x0001));
  through(in_partition(0x8002));
  const auto tenants = limiter->tenants(10);
  ASSERT_EQ(tenants.size(), 2u);
  EXPECT_EQ(tenants[0].partition, PKey{2});
  EXPECT_EQ(tenants[1].partition, PKey{1});
  EXPECT_EQ(tenants[1].packets, 1u);
  EXPECT_EQ(tenants[1].bytes, size);
  EXPECT_EQ(tenants[1].dropped, 2u);
  EXPECT_EQ(tenants[1].rate.burst, 1'100u);
  EXPECT_EQ(limiter->tenants(1).size(), 1u);
  // What is dropped is what the mirror gets.
  EXPECT_EQ(count(RuntimeCounter::kMirrored), 2u);
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

TEST_F(LimiterTest, LimitsWhatOneEndSendsToAnother) {
  const Gid c = gid(0xCCCC);
  limit({.by = Limiter::By::kPair, .usual = {.bytes_per_s = 1, .burst = 1'100}});
  runtime->pin_path(c, {.dlid = kB});
  limiter->limit(b, c, {.bytes_per_s = 0});
  const auto sent = [&](const Gid& from, const Gid& to) {
    Made made = in_partition(1);
    made.gids = {from, to};
    return !through(made).empty();
  };
  EXPECT_TRUE(sent(a, b));
  EXPECT_FALSE(sent(a, b)) << "it has used up its burst";
  EXPECT_TRUE(sent(a, c)) << "to others it may send";
  EXPECT_TRUE(sent(c, b)) << "and others may send there";
  EXPECT_TRUE(sent(b, a)) << "and it may answer";
  EXPECT_FALSE(sent(b, c)) << "a pair with a rate of its own";
  const auto tenants = limiter->tenants(10);
  ASSERT_EQ(tenants.size(), 5u);
  EXPECT_EQ(tenants[0].source, b);
  EXPECT_EQ(tenants[0].destination, c);
  EXPECT_EQ(tenants[0].dropped, 1u);
  EXPECT_EQ(tenants[4].source, a);
  EXPECT_EQ(tenants[4].destination, b);
  EXPECT_EQ(tenants[4].packets, 1u);
  EXPECT_EQ(tenants[4].dropped, 1u);
}

TEST_F(LimiterTest, RemembersABoundedNumberOfPairs) {
  limit({.by = Limiter::By::kPair, .usual = {.bytes_per_s = 1, .burst = 1'100}, .tenants = 2});
  const auto sent = [&](std::uint16_t from) {
    Made made = in_partition(1);
    made.gids = {gid(from), b};
    return !through(made).empty();
  };
  EXPECT_TRUE(sent(1));
  EXPECT_TRUE(sent(2));
  EXPECT_FALSE(sent(1)) << "it is the one that was seen last now";
  EXPECT_TRUE(sent(3)) << "in place of the second";
  EXPECT_EQ(limiter->tenants(10).size(), 2u);
  EXPECT_FALSE(sent(1));
  EXPECT_FALSE(sent(3));
  EXPECT_TRUE(sent(2)) << "it is new again";
}

TEST_F(LimiterTest, TakesLidsOfPacketsWithoutAGrhForThePair) {
  constexpr Lid kOther{0xFF};
  limit({.by = Limiter::By::kPair, .usual = {.bytes_per_s = 1, .burst = 1'100}});
  for (const Lid lid : {kService, kOther})
    runtime->set_chain(lid, {.services = {limiter.get()}});
  const auto send = [&](Lid from, Lid to) {
    Made made = in_partition(1);
    made.gids.reset();
    made.slid = from;
    made.dlid = to;
    through(made);
  };
  send(kA, kService);
  send(kA, kService);
  send(kB, kService);
  send(kA, kOther);
  const auto tenants = limiter->tenants(10);
  ASSERT_EQ(tenants.size(), 3u);
  const auto dropped = [](std::uint64_t sum, const auto& tenant) { return sum + tenant.dropped; };
  EXPECT_EQ(std::accumulate(tenants.begin(), tenants.end(), std::uint64_t{0}, dropped), 1u);
}

}  // namespace
}  // namespace weft::service::test
