// SPDX-License-Identifier: Apache-2.0
// Two ends of a fibre between two ports of a fabric.
#include <gtest/gtest.h>

#include <numeric>

#include "fibre_world.h"

namespace weft::wan {
namespace {

using link::PortPhysicalState;
using link::PortState;

template <class Counts>
std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TEST(Fibre, JoinsTwoPortsAsOneCableWould) {
  FibreWorld world({.fibre = line(0, 50us)});
  auto& [first, second] = world.sites;
  world.run_for(10ms);
  ASSERT_EQ(first->port.state(), PortState::kInitialize) << world.describe();
  ASSERT_EQ(second->port.state(), PortState::kInitialize);
  // Active waits until the port at the other site is armed.
  first->port.set_state(PortState::kArmed, world.now());
  first->port.set_state(PortState::kActive, world.now());
  world.run_for(10ms);
  EXPECT_EQ(first->port.state(), PortState::kArmed);
  second->port.set_state(PortState::kArmed, world.now());
  world.run_for(10ms);
  EXPECT_EQ(first->port.state(), PortState::kActive) << world.describe();
  EXPECT_EQ(second->port.state(), PortState::kArmed);
  // The first data packet does the rest (IBA 7.2.7, ActiveTrigger).
  first->send(Vl{0}, 64);
  world.run_for(10ms);
  EXPECT_EQ(second->port.state(), PortState::kActive);
  EXPECT_EQ(second->came[0], 1) << world.describe();
}

TEST(Fibre, CarriesPacketsOfEverySizeAndLaneUnchangedAndInOrder) {
  FibreWorld world({.fibre = line(1'000'000'000, 50us)});
  ASSERT_TRUE(world.activate()) << world.describe();
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    for (const auto& site : world.sites)
      site->send(Vl{static_cast<std::uint8_t>(random.below(15))}, 4 * random.below(1025));
    if (i % 7 == 0) world.run_for(100us);
  }
  world.run_for(10ms);
  for (const auto& site : world.sites) {
    EXPECT_EQ(sum(site->came), 300);
    EXPECT_EQ(site->disorder, 0);
    EXPECT_EQ(site->damaged, 0);
  }
  EXPECT_EQ(world.dropped(), 0) << world.describe();
  EXPECT_EQ(world.pool.in_use(), 0) << "something keeps packets";
}

TEST(Fibre, PassesManagementPacketsBeforeTheLinkIsActive) {
  FibreWorld world({});
  world.run_for(10ms);
  world.sites[0]->port.transmit(
      world.pool.copy(link::make_packet({.vl = link::kVl15, .payload = 256})), link::kVl15,
      world.now());
  world.run_for(10ms);
  EXPECT_EQ(world.sites[1]->management, 1) << world.describe();
}

TEST(Fibre, UsesTheLaneThatTheSenderChoosesAndSpendsItsCredit) {
  FibreWorldOptions options;
  options.ends[0].egress[2] = Vl{9};
  FibreWorld world(options);
  ASSERT_TRUE(world.activate());
  world.sites[1]->blocked = 1U << 9;
  world.run_for(10ms, [&] { world.sites[0]->keep_full(Vl{2}, 1024); });
  EXPECT_EQ(world.sites[1]->came_on[2], Vl{9});
  const link::Port& far = world.ends[1]->far();
  EXPECT_LT(far.receive_room(Vl{9}), 20);
  EXPECT_EQ(far.receive_room(Vl{2}), far.options().vl_buffer);
  EXPECT_EQ(world.dropped(), 0) << world.describe();
}

TEST(Fibre, LetsFourteenLanesGoOnWhileOneIsBlocked) {
  FibreWorld world({.fibre = line(1'000'000'000, 50us)});
  ASSERT_TRUE(world.activate());
  const auto run = [&](std::uint16_t blocked) {
    world.sites[1]->blocked = blocked;
    const auto before = world.sites[1]->came;
    world.run_for(20ms, [&] {
      for (std::uint8_t vl = 0; vl < kLanes; ++vl)
        world.sites[0]->keep_full(Vl{vl}, 1024);
    });
    auto came = world.sites[1]->came;
    for (std::size_t vl = 0; vl < kLanes; ++vl)
      came[vl] -= before[vl];
    return came;
  };
  const auto all = run(0);
  run(1U << 4);  // until its buffers are full
  const auto rest = run(1U << 4);
  for (std::size_t vl = 0; vl < kLanes; ++vl) {
    if (vl == 4) continue;
    EXPECT_GE(static_cast<double>(rest[vl]), 0.98 * static_cast<double>(all[vl])) << "lane " << vl;
  }
  EXPECT_EQ(rest[4], 0) << "its buffer at the far end is full";
  world.sites[1]->blocked = 0;
  world.sites[1]->kept.clear();
  world.run_for(50ms);
  EXPECT_EQ(world.sites[1]->came, world.sites[0]->sent);
  EXPECT_EQ(world.dropped(), 0) << world.describe();
}

TEST(Fibre, TakesThePortsDownWhenItIsCutAndUpWhenItIsBack) {
  FibreWorld world({});
  ASSERT_TRUE(world.activate());
  world.fibre.set_plugged(false, world.now());
  world.run_for(1ms);
  EXPECT_EQ(world.sites[0]->port.state(), PortState::kDown);
  EXPECT_EQ(world.sites[1]->port.state(), PortState::kDown);
  world.run_for(60s);
  EXPECT_EQ(world.sites[0]->port.state(), PortState::kDown);
  world.fibre.set_plugged(true, world.now());
  EXPECT_TRUE(world.activate()) << world.describe();
  world.sites[0]->send(Vl{0}, 64);
  world.run_for(1ms);
  EXPECT_EQ(world.sites[1]->came[0], 1);
}

TEST(Fibre, FollowsAFabricPortThatTrainsAnewAtTheOtherSite) {
  FibreWorld world({});
  ASSERT_TRUE(world.activate());
  world.sites[0]->port.set_state(PortState::kDown, world.now());
  world.run_for(100ms);
  EXPECT_EQ(link::count(world.sites[1]->port, link::PortCounter::kLinkDowned), 1);
  EXPECT_EQ(world.sites[0]->port.state(), PortState::kInitialize);
  EXPECT_EQ(world.sites[1]->port.state(), PortState::kInitialize);
  EXPECT_TRUE(world.activate()) << world.describe();
}

TEST(Fibre, KeepsThePortDownWhileTheOtherSitesIsDisabled) {
  FibreWorld world({});
  ASSERT_TRUE(world.activate());
  auto& [first, second] = world.sites;
  first->port.set_physical_state(PortPhysicalState::kDisabled, world.now());
  world.run_for(2s);
  EXPECT_EQ(second->port.state(), PortState::kDown) << world.describe();
  const auto downs = link::count(second->port, link::PortCounter::kLinkDowned);
  world.run_for(60s);
  EXPECT_EQ(second->port.state(), PortState::kDown);
  EXPECT_EQ(link::count(second->port, link::PortCounter::kLinkDowned), downs);
  first->port.set_physical_state(PortPhysicalState::kPolling, world.now());
  EXPECT_TRUE(world.activate()) << world.describe();
}

TEST(Fibre, KeepsBothPortsDownWhileBothAreDisabledAndFindsThemInEitherOrder) {
  FibreWorld world({});
  ASSERT_TRUE(world.activate());
  const auto set = [&](std::size_t site, PortPhysicalState state) {
    world.sites[site]->port.set_physical_state(state, world.now());
    world.run_for(3s);
  };
  for (const std::size_t site : {0, 1})
    set(site, PortPhysicalState::kDisabled);
  set(1, PortPhysicalState::kPolling);
  EXPECT_EQ(world.sites[1]->port.state(), PortState::kDown) << world.describe();
  set(0, PortPhysicalState::kPolling);
  EXPECT_TRUE(world.activate()) << world.describe();
}

// Two clocks are never the same: one of the three lines is slower, and the buffers between them
// hold back whoever is faster, however long that lasts.
TEST(Fibre, AbsorbsADifferenceOfAHundredPartsPerMillionForEver) {
  constexpr std::uint64_t kRate = 100'000'000;
  constexpr std::uint64_t kSlower = kRate - kRate / 10'000;
  constexpr std::uint32_t kSmall = 256;  // blocks: 16 KiB, less than what the clocks part by
  for (const std::size_t slow : {0, 1, 2}) {
    SCOPED_TRACE(slow);
    const std::array rates{slow == 0 ? kSlower : kRate, slow == 1 ? kSlower : kRate,
                           slow == 2 ? kSlower : kRate};
    FibreWorldOptions options{.local = {line(rates[0]), line(rates[2])}, .fibre = line(rates[1])};
    for (FibreOptions& end : options.ends)
      end.near.vl_buffer = end.far.vl_buffer = kSmall;
    FibreWorld world(options);
    ASSERT_TRUE(world.activate());
    const auto busy = [&] { world.sites[0]->keep_full(Vl{0}, 4096); };
    world.run_for(100ms, busy);
    const std::uint64_t before = world.sites[1]->came_bytes;
    constexpr Duration kLong = 4s;  // in which they part by 40 kB
    world.run_for(kLong, busy);
    const double rate = static_cast<double>(world.sites[1]->came_bytes - before) / 4;
    EXPECT_LE(rate, kSlower);
    EXPECT_GE(rate, 0.998 * kSlower);  // delimiters and credit have their share
    EXPECT_EQ(world.dropped(), 0) << world.describe();
    EXPECT_EQ(world.sites[1]->disorder, 0);
  }
}

}  // namespace
}  // namespace weft::wan
