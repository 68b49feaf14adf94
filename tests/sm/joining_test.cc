// SPDX-License-Identifier: Apache-2.0
#include "sm/joining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::PortState;

// The manager's adapter at a switch, which is linked with another switch that has an adapter:
//
//   0:1 - 1:1   1:2 - 2:1   2:2 - 3:1
//
// All has answered. All is Active but for the link between the switches.
Subnet two_parts() {
  Subnet subnet;
  for (std::uint32_t node = 0; node < 4; ++node) {
    const bool is_switch = node == 1 || node == 2;
    SubnetNode& added = subnet.nodes.emplace_back();
    added.info.type = is_switch ? wire::NodeType::kSwitch : wire::NodeType::kChannelAdapter;
    added.info.node_guid = Guid{node + 1};
    added.ports.resize(is_switch ? 3 : 2);
    for (SubnetPort& port : added.ports)
      port.info.emplace().state = PortState::kActive;
  }
  const auto join = [&](const PortRef& a, const PortRef& b, PortState state) {
    subnet.port(a).peer = b;
    subnet.port(b).peer = a;
    subnet.port(a).info->state = subnet.port(b).info->state = state;
  };
  join({0, 1}, {1, 1}, PortState::kActive);
  join({1, 2}, {2, 1}, PortState::kInitialize);
  join({2, 2}, {3, 1}, PortState::kActive);
  return subnet;
}
void forget_neighbour(Subnet& subnet, const PortRef& at) {
  subnet.port(*subnet.port(at).peer).peer.reset();
  subnet.port(at).peer.reset();
}

TEST(Joining, IsFreeWhereEverybodyHasAnswered) {
  const Joining joining(two_parts(), false);
  EXPECT_FALSE(joining.own_is_closed());
  EXPECT_TRUE(joining.may_touch(1));
  EXPECT_TRUE(joining.may_touch(2));
  EXPECT_THAT(joining.unknown_beyond(), IsEmpty());
}

TEST(Joining, WaitsForThePortsThatCarryDataForSomethingUnknown) {
  Subnet subnet = two_parts();
  forget_neighbour(subnet, {2, 2});
  const Joining joining(subnet, true);
  EXPECT_TRUE(joining.may_touch(1));
  EXPECT_FALSE(joining.may_touch(2));
  EXPECT_THAT(joining.unknown_beyond(), ElementsAre(PortRef{2, 2}));
  // It carries none.
  subnet.port({2, 2}).info->state = PortState::kInitialize;
  EXPECT_TRUE(Joining(subnet, true).may_touch(2));
}

TEST(Joining, WaitsForTheLidsOfNeighboursToBeKnown) {
  Subnet subnet = two_parts();
  subnet.port({3, 1}).info.reset();
  EXPECT_FALSE(Joining(subnet, true).may_touch(2));
  subnet = two_parts();
  subnet.port({2, 0}).info.reset();  // the switch's own
  EXPECT_FALSE(Joining(subnet, true).may_touch(2));
}

TEST(Joining, TrustsTheManagersOwnPartOnlyIfItIsKnown) {
  Subnet subnet = two_parts();
  subnet.port({1, 2}).info->state = subnet.port({2, 1}).info->state = PortState::kActive;
  forget_neighbour(subnet, {2, 2});
  const Joining known(subnet, true);
  EXPECT_FALSE(known.own_is_closed());
  EXPECT_THAT(known.unknown_beyond(), IsEmpty());
  const Joining unknown(subnet, false);
  EXPECT_TRUE(unknown.own_is_closed());
  EXPECT_FALSE(unknown.may_touch(2));
  EXPECT_THAT(unknown.unknown_beyond(), ElementsAre(PortRef{2, 2}));
}

TEST(Joining, PointsAtTheLinksOfASwitchThatDoesNotSayWhatItsPortsAre) {
  Subnet subnet = two_parts();
  subnet.port({1, 2}).info->state = subnet.port({2, 1}).info->state = PortState::kActive;
  subnet.port({2, 2}).info.reset();
  const Joining joining(subnet, false);
  EXPECT_TRUE(joining.own_is_closed());
  EXPECT_THAT(joining.unknown_beyond(), Contains(PortRef{1, 2}));
}

}  // namespace
}  // namespace weft::sm
