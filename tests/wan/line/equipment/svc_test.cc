// SPDX-License-Identifier: Apache-2.0
// Connections of ATM that the ends of a line set up by signalling, through a switch in it.
#include <gtest/gtest.h>

#include <string>

#include "equipment_world.h"

namespace weft::wan {
namespace {

AtmAddress svc_address(std::uint8_t last) {
  AtmAddress address{std::byte{0x47}};
  address.back() = std::byte{last};
  return address;
}

const LineWorld::Circuits kBoth{SwitchedCircuit{svc_address(1), svc_address(2)},
                                SwitchedCircuit{svc_address(2), svc_address(1)}};
constexpr const char* kSwitch = "cell-switch:stm1";

void expect_packets(LineWorld& world) {
  for (std::size_t from = 0; from < 2; ++from) {
    world.ends[1 - from].came.clear();
    const LineWorld::Packet packet = world.make_packet(1000);
    world.ends[from].waiting.push_back(packet);
    world.run(20ms);
    ASSERT_EQ(world.ends[1 - from].came.size(), 1U);
    EXPECT_EQ(world.ends[1 - from].came.front(), packet);
  }
}

TEST(Svc, IsSetUpThroughASwitchAndCarriesPackets) {
  EquipmentWorld world("ipv6/aal5/stm1", kSwitch, 1, kBoth);
  EXPECT_FALSE(world.up());
  ASSERT_TRUE(world.run_until_up(10s));
  auto counters = world.counters();
  EXPECT_EQ(counters["calls_placed"], 1U);
  EXPECT_EQ(counters["calls_connected"], 2U);  // at each of its ports
  expect_packets(world);
}

TEST(Svc, IsNotThereWithoutASwitch) {
  LineWorld world("ipv6/aal5/stm1", 2, LineWorld::kFastest, kBoth);
  EXPECT_FALSE(world.run_until_up(10s));
}

TEST(Svc, IsNotSetUpToAnotherAddress) {
  auto circuits = kBoth;
  circuits[0]->other = svc_address(3);
  EquipmentWorld world("ipv6/aal5/stm1", kSwitch, 3, circuits);
  EXPECT_FALSE(world.run_until_up(10s));
  EXPECT_GT(world.counters()["calls_placed"], 1U);
}

TEST(Svc, IsSetUpAnewByAnotherSwitch) {
  EquipmentWorld world("ipv6/aal5/stm1", kSwitch, 4, kBoth);
  ASSERT_TRUE(world.run_until_up(10s));
  // As when what was in the switch is lost, and the lines are made anew.
  for (LineWorld::End& end : world.ends)
    end.channel->closed(world.now);
  EXPECT_FALSE(world.ends[0].channel->is_up());
  world.put(kSwitch);
  for (LineWorld::End& end : world.ends)
    end.channel->opened(world.now);
  // Nobody takes the old connection for one of the new switch.
  world.run(500ms);
  EXPECT_FALSE(world.ends[0].channel->is_up());
  EXPECT_FALSE(world.ends[1].channel->is_up());
  ASSERT_TRUE(world.run_until_up(20s));
  EXPECT_EQ(world.counters()["calls_placed"], 1U);
  expect_packets(world);
}

TEST(Svc, IsReleasedByAnEndThatEnds) {
  for (const std::size_t first : {0U, 1U}) {
    EquipmentWorld world("aal5/stm1", kSwitch, 5, kBoth);
    ASSERT_TRUE(world.run_until_up(10s));
    LineSession& session = world.ends[first].line->session();
    session.end(world.now);
    EXPECT_FALSE(session.ended());
    EXPECT_FALSE(session.up());
    world.run(50ms);
    EXPECT_TRUE(session.ended());
    EXPECT_FALSE(world.ends[1 - first].channel->is_up());
    EXPECT_EQ(world.counters()["calls_released"], 2U);  // at each of its ports
    // It has no other one, whoever calls.
    world.run(5s);
    EXPECT_FALSE(world.ends[0].channel->is_up() || world.ends[1].channel->is_up());
  }
}

}  // namespace
}  // namespace weft::wan
