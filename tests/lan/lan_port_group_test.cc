// SPDX-License-Identifier: Apache-2.0
// The fabric's group of LAN ports, by which a frame to many is sent once.
#include <array>
#include <set>

#include "lan_port_fixture.h"

namespace weft::lan::test {
namespace {

class LanPortGroup : public LanPortTest {
 protected:
  // Those of 6, 7 and 8 that have joined say so; and that they want no group of Ethernet.
  void joined(const std::set<std::uint16_t>& lids) {
    for (const std::uint16_t lid : std::array<std::uint16_t, 3>{6, 7, 8})
      wants(lid, {.all = false, .joined = lids.contains(lid), .groups = {}});
  }
  void settle() {
    port.group_joined(now);
    now += 2s;
    EXPECT_LE(port.deadline(), now);
    run();
    host.new_deeds();
  }
};

TEST_F(LanPortGroup, TakesABroadcastToAllWhoHaveJoinedAndOthersGetTheSameFrame) {
  joined({6, 7});
  settle();
  const Frame frame = to(kBroadcast);
  send(frame);
  EXPECT_EQ(host.new_deeds(), (Deeds{"group", "datagrams 8"}));
  EXPECT_EQ(host.sent.data(), frame.data());
  EXPECT_EQ(host.in_group.number, host.last.number);
  joined({6, 7, 8});
  send(frame);
  EXPECT_EQ(host.new_deeds(), Deeds{"group"});
  EXPECT_NE(host.in_group.number, host.last.number);
  EXPECT_EQ(count(LanCounter::kTxByGroup), 2u);
  EXPECT_EQ(count(LanCounter::kTxCopies), 1u);
  EXPECT_EQ(count(LanCounter::kTxFrames), 2u);
  send(frame);
  const std::uint32_t last = host.in_group.number;
  send(to(mac_at(6)));
  EXPECT_EQ(host.last.number, last + 1);  // each frame has one of its own
}

TEST_F(LanPortGroup, IsNotUsedForOneAloneNorForFramesThatOthersInItDoNotWant) {
  joined({7});
  settle();
  send(to(kBroadcast));
  EXPECT_EQ(host.new_deeds().size(), 3u);
  joined({6, 7, 8});
  wants(6, {.all = false, .joined = true, .groups = {kGroup}});
  wants(7, {.all = false, .joined = true, .groups = {kGroup}});
  send(to(kGroup));
  EXPECT_EQ(host.new_deeds().size(), 2u);
  EXPECT_EQ(count(LanCounter::kTxByGroup), 0u);
  wants(8, {.all = true, .joined = true, .groups = {}});
  send(to(kGroup));
  EXPECT_EQ(host.new_deeds(), Deeds{"group"});
}

// No service sees what goes to a group.
TEST_F(LanPortGroup, DoesNotLeadAroundADataService) {
  joined({6, 7, 8});
  settle();
  send(to(kBroadcast));
  EXPECT_EQ(host.new_deeds(), Deeds{"group"});
  service = Lid{0x40};
  port.directory().ways_changed(now);
  for (int i = 0; i < 5; ++i) {
    now += 200ms;
    run();
  }
  host.new_deeds();
  send(to(kBroadcast));
  EXPECT_EQ(host.new_deeds().size(), 3u);
  EXPECT_EQ(count(LanCounter::kTxByGroup), 1u);
}

TEST_F(LanPortGroup, IsUsedAndSaidOnceTheFabricHasIt) {
  joined({6, 7, 8});
  port.group_joined(now);
  send(to(kBroadcast));
  EXPECT_EQ(host.new_deeds().size(), 3u);
  now += 1s;
  run();
  EXPECT_FALSE(host.groups.joined);
  now += 1s;
  run();
  now += 20ms;
  run();
  EXPECT_TRUE(host.groups.joined);
  EXPECT_TRUE(port.peer_joined(peer(6)));
  send(to(kBroadcast));
  EXPECT_EQ(host.new_deeds(), Deeds{"group"});
  port.group_left(now);
  now += 20ms;
  run();
  EXPECT_FALSE(host.groups.joined);
  send(to(kBroadcast));
  EXPECT_EQ(host.new_deeds().size(), 3u);
}

TEST_F(LanPortGroup, BringsBackItsOwnFramesForNobody) {
  receive(5, frame_of(kBroadcast, port.mac()));
  EXPECT_EQ(count(LanCounter::kRxOwn), 1u);
  EXPECT_EQ(count(LanCounter::kRxStranger), 0u);
  EXPECT_TRUE(host.came.empty());
}

TEST_F(LanPortGroup, CountsWhatThereIsNoRoomFor) {
  joined({6, 7});
  settle();
  host.full = true;
  send(to(kBroadcast));
  EXPECT_EQ(count(LanCounter::kTxNoRoom), 2u);
}

}  // namespace
}  // namespace weft::lan::test
