// SPDX-License-Identifier: Apache-2.0
// The checker finds what is wrong with tables that were spoilt on purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs.h"
#include "sm/routing/check.h"
#include "sm/routing/routing.h"

namespace weft::sm {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(RoutingCheck, FindsTheRingThatShortestWaysMakeOfARing) {
  const SwitchGraph ring = torus({5});
  const auto routes = route(Engine::kMinHop, ring, {});
  ASSERT_TRUE(routes);
  const RoutingCheck found = check(ring, *routes);
  EXPECT_EQ(found.unreachable, 0u);
  EXPECT_FALSE(found.good());
  EXPECT_THAT(found.credit_loop, SizeIs(5));
}

TEST(RoutingCheck, FindsAWayThatEnds) {
  const SwitchGraph tree = fat_tree({2, 2});
  Routes routes = *route(Engine::kMinHop, tree, {});
  ASSERT_TRUE(check(tree, routes).good());
  const EndPort& host = tree.ends().back();
  routes.set_port(host.at, host.lid, kNoPort);
  const RoutingCheck found = check(tree, routes);
  EXPECT_GT(found.unreachable, 0u);
  EXPECT_THAT(found.first_unreachable, HasSubstr("is lost at switch"));
}

TEST(RoutingCheck, FindsAWayThatGoesRound) {
  SwitchGraph pair;
  const auto a = pair.add_switch(Guid{1}, 4);
  const auto b = pair.add_switch(Guid{2}, 4);
  ASSERT_TRUE(pair.connect(a, 1, b, 1));
  ASSERT_TRUE(pair.attach({.at = a, .port = 2, .lid = Lid{1}}));
  ASSERT_TRUE(pair.attach({.at = b, .port = 2, .lid = Lid{2}}));
  pair.finish();
  Routes routes = *route(Engine::kMinHop, pair, {});
  ASSERT_TRUE(check(pair, routes).good());
  routes.set_port(b, Lid{2}, 1);
  EXPECT_EQ(check(pair, routes).unreachable, 2u);
}

TEST(RoutingCheck, FindsAPortThatIsNotTheOwners) {
  const SwitchGraph tree = fat_tree({2, 2});
  Routes routes = *route(Engine::kMinHop, tree, {});
  const EndPort& host = tree.ends().back();
  routes.set_port(host.at, host.lid, host.port == 1 ? 2 : 1);
  EXPECT_FALSE(check(tree, routes).good());
}

TEST(RoutingCheck, FollowsAdditionalLidsToo) {
  const SwitchGraph ring = torus({6});
  Routes routes = *route(Engine::kLayered, ring, {});
  const EndPort& host = ring.ends().back();
  const EndPort& other = ring.ends()[ring.ends().size() - 2];
  const Lid service{static_cast<std::uint16_t>(ring.lid_end() + 100)};
  const std::uint64_t before = check(ring, routes).ways;
  routes.lead(service, host.lid);
  ASSERT_TRUE(check(ring, routes).good());
  EXPECT_EQ(check(ring, routes).ways, before + ring.switches());
  for (SwitchIndex at = 0; at < ring.switches(); ++at)
    EXPECT_EQ(routes.sl(at, service), routes.sl(at, host.lid));
  routes.lead(service, other.lid);
  ASSERT_TRUE(check(ring, routes).good());
  EXPECT_EQ(routes.port(other.at, service), other.port);
  routes.set_port(other.at, service, kNoPort);
  EXPECT_FALSE(check(ring, routes).good());
  routes.lead(service, Lid{});
  EXPECT_TRUE(check(ring, routes).good());
  EXPECT_EQ(routes.port(host.at, service), kNoPort);
  routes.lead(host.lid, other.lid);
  EXPECT_FALSE(check(ring, routes).good()) << "it is a port's own";
}

TEST(RoutingCheck, TellsLanesApart) {
  // A ring with a lane for each half has no loop; with all on one lane it has.
  const SwitchGraph ring = torus({6});
  Routes routes = *route(Engine::kDimensionOrder, ring, {});
  EXPECT_TRUE(check(ring, routes).good());
  routes.plan = LanePlan::kSame;
  routes.lanes = 1;
  EXPECT_FALSE(check(ring, routes).credit_loop.empty());
}

}  // namespace
}  // namespace weft::sm
