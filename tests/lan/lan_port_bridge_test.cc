// SPDX-License-Identifier: Apache-2.0
// Stations that are no LAN ports, behind a port or behind its peers.
#include <array>
#include <span>
#include <utility>

#include "lan/spanning_tree.h"
#include "lan_port_fixture.h"

namespace weft::lan::test {
namespace {

constexpr MacAddress kHere{0x52, 0x54, 0, 0, 0, 1};
constexpr MacAddress kThere{0x52, 0x54, 0, 0, 0, 2};
constexpr MacAddress kPort8{0x02, 0x57, 0x4C, 2, 0, 8};
constexpr MacAddress kBridgeGroup{0x01, 0x80, 0xC2, 0, 0, 0};

// Of a bridge behind `from`: a BPDU of this type with these flags.
Frame bpdu_of(const MacAddress& from, std::uint8_t type, std::uint8_t flags) {
  Frame frame = frame_of(kBridgeGroup, from, 60, 38);
  const std::array<std::uint8_t, 8> begin{0x42, 0x42, 0x03, 0, 0, 0, type, flags};
  std::ranges::transform(begin, frame.begin() + 14,
                         [](std::uint8_t octet) { return std::byte{octet}; });
  return frame;
}

class LanPortBridge : public LanPortTest {
 protected:
  explicit LanPortBridge(bool bridge = true) : LanPortTest(bridge) {
    for (const std::uint16_t lid : std::array<std::uint16_t, 2>{6, 7})
      wants(lid, {.all = false, .bridges = true, .groups = {}});
    wants(8, {.all = false, .groups = {}});
    host.new_deeds();
  }
  Deeds sorted_deeds() {
    Deeds out = host.new_deeds();
    std::ranges::sort(out);
    return out;
  }
};

// Whose host is no bridge.
class LanPortBesideBridges : public LanPortBridge {
 protected:
  LanPortBesideBridges() : LanPortBridge(false) {}
};

TEST_F(LanPortBridge, SaysThatItIsOne) {
  EXPECT_TRUE(host.groups.bridges);
  EXPECT_TRUE(port.peer_bridges(peer(6)));
  EXPECT_FALSE(port.peer_bridges(peer(8)));
}

TEST_F(LanPortBesideBridges, SaysThatItIsNone) {
  EXPECT_FALSE(host.groups.bridges);
}

TEST_F(LanPortBesideBridges, BecomesOneAndSaysSoAtOnce) {
  host.groups_said = 0;
  port.set_bridge(true, now);
  EXPECT_EQ(host.groups_said, 3u);
  EXPECT_TRUE(host.groups.bridges);
  send(frame_of(kPort8, kHere));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 8"});
  port.set_bridge(true, now);
  EXPECT_EQ(host.groups_said, 3u);
  port.set_bridge(false, now);
  EXPECT_EQ(host.groups_said, 6u);
  EXPECT_FALSE(host.groups.bridges);
  send(frame_of(kPort8, kHere));
  EXPECT_TRUE(host.new_deeds().empty());
  receive(8, frame_of(kHere, kPort8));
  EXPECT_EQ(count(LanCounter::kRxNotOurs), 1u);
}

// Those behind a bridge are asked, when there may be others: as by a querier and, for bridges that
// listen, as by a router.
TEST_F(LanPortBesideBridges, AsksThoseBehindItWhenItBecomesOneAndWhenTheTopologyChanges) {
  const auto asked = [this] {
    host.came.clear();
    EXPECT_LE(port.deadline(), now);
    run();
    std::vector<std::pair<std::byte, std::byte>> out;  // ends of addresses of groups, and kinds
    for (const Frame& frame : host.came) {
      EXPECT_TRUE(std::ranges::equal(
          std::span(frame).subspan(6, 6), kAskingAddress,
          [](std::byte one, std::uint8_t other) { return one == std::byte{other}; }));
      out.emplace_back(frame[5], frame[frame[12] == std::byte{0x86} ? 14 + 48 : 14 + 24]);
    }
    return out;
  };
  const std::vector<std::pair<std::byte, std::byte>> queries{{std::byte{1}, std::byte{0x11}},
                                                             {std::byte{1}, std::byte{130}}};
  auto all = queries;
  all.emplace_back(std::byte{0x6A}, std::byte{0x30});
  port.set_bridge(true, now);
  EXPECT_TRUE(host.groups.all);
  EXPECT_EQ(asked(), all);
  now += 10s;
  run();
  EXPECT_TRUE(host.groups.all);
  now += 21250ms;
  EXPECT_EQ(asked(), all);
  now += 10s;
  run();
  now += 20ms;
  run();
  EXPECT_FALSE(host.groups.all);
  wants(6, {.all = false, .bridges = true, .groups = {}});
  receive(6, bpdu_of(kThere, 0, 1));
  EXPECT_EQ(asked(), all);
  now += 20ms;
  run();
  EXPECT_TRUE(host.groups.all);
}

// By an Ethernet behind both, to which its peer bridges too.
TEST_F(LanPortBridge, KeepsQuestionsOfOtherPortsToTheirHostsFromTheFabric) {
  send(frame_of(kBroadcast, kAskingAddress));
  EXPECT_EQ(count(LanCounter::kTxQuestion), 1u);
  EXPECT_TRUE(host.new_deeds().empty());
}

TEST_F(LanPortBesideBridges, ForgetsTheStationsOfAPeerThatBridgesNoMore) {
  receive(7, frame_of(port.mac(), kThere));
  wants(7, {.all = false, .bridges = true, .groups = {}});
  EXPECT_EQ(port.stations().count(), 1u);
  wants(7, {.all = false, .groups = {}});
  EXPECT_EQ(port.stations().count(), 0u);
  // Or that does not say so any more.
  receive(6, frame_of(port.mac(), kThere));
  EXPECT_EQ(port.stations().count(), 1u);
  now += GroupList::kLifetime;
  run();
  EXPECT_EQ(port.stations().count(), 0u);
}

TEST_F(LanPortBridge, SendsFramesOfTheStationsBehindIt) {
  send(frame_of(kPort8, kHere));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 8"});
  send(frame_of(kBroadcast, kHere));
  EXPECT_EQ(host.new_deeds().size(), 3u);
  // But not in the name of LAN ports, nor of groups.
  send(frame_of(kPort8, mac_at(7)));
  send(frame_of(kPort8, kGroup));
  EXPECT_EQ(count(LanCounter::kTxForeignSource), 2u);
}

TEST_F(LanPortBridge, HandsOnWhatMayBeForAnybodyBehindIt) {
  receive(8, frame_of(kHere, kPort8));
  EXPECT_EQ(host.came.size(), 1u);
  receive(8, frame_of(mac_at(7), kPort8));
  EXPECT_EQ(count(LanCounter::kRxNotOurs), 1u);
}

TEST_F(LanPortBesideBridges, FindsAStationAndLearnsWhereItIs) {
  send(to(kThere));
  EXPECT_EQ(sorted_deeds(), (Deeds{"datagrams 6", "datagrams 7"}));
  EXPECT_EQ(count(LanCounter::kTxFlooded), 1u);
  receive(7, frame_of(port.mac(), kThere));
  ASSERT_EQ(host.came.size(), 1u);
  send(to(kThere));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 7"});
  EXPECT_EQ(count(LanCounter::kTxToStation), 1u);
  // It goes elsewhere, and is heard there.
  receive(6, frame_of(kBroadcast, kThere));
  send(to(kThere));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 6"});
  EXPECT_EQ(count(LanCounter::kStationsMoved), 1u);
  // What is for others is not for it.
  receive(6, frame_of(kHere, kThere));
  EXPECT_EQ(count(LanCounter::kRxNotOurs), 1u);
}

TEST_F(LanPortBesideBridges, UsesChannelsToStationsToo) {
  receive(7, frame_of(port.mac(), kThere));
  send(to(kThere, 60, EthernetFrame::kArp));
  EXPECT_EQ(host.new_deeds(), (Deeds{"connect 7", "datagrams 7"}));
  EXPECT_TRUE(port.channel_up(peer(7), now));
  send(to(kThere));
  EXPECT_EQ(host.new_deeds(), Deeds{"message 7"});
}

// Which had been cut off, and could not be told that it was given up.
TEST_F(LanPortBesideBridges, GivesUpAChannelOfWhichThePeerKnowsNothing) {
  GroupList said{.all = false, .bridges = true, .no_channel = true, .groups = {}};
  receive(7, frame_of(port.mac(), kThere));
  send(to(kThere, 60, EthernetFrame::kArp));
  EXPECT_TRUE(port.channel_up(peer(7), now));
  host.new_deeds();
  wants(7, said);  // on its way when the channel was made
  EXPECT_TRUE(host.new_deeds().empty());
  now += 1s;
  said.no_channel = false;
  wants(7, said);
  EXPECT_TRUE(host.new_deeds().empty());
  said.no_channel = true;
  wants(7, said);
  EXPECT_EQ(host.new_deeds(), Deeds{"disconnect 7"});
  EXPECT_EQ(count(LanCounter::kChannelsLost), 1u);
  wants(7, said);
  EXPECT_TRUE(host.new_deeds().empty());
  send(to(kThere));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 7"});
}

TEST_F(LanPortBesideBridges, SaysToWhomItHasNoChannel) {
  host.groups_said = 0;
  port.set_bridge(true, now);
  EXPECT_EQ(host.groups_said, 3u);
  EXPECT_TRUE(host.groups.no_channel);
  for (const std::uint16_t lid : std::array<std::uint16_t, 3>{6, 7, 8}) {
    EXPECT_TRUE(port.accept_channel(peer(lid), now));
    EXPECT_TRUE(port.channel_up(peer(lid), now));
  }
  port.set_bridge(false, now);
  EXPECT_EQ(host.groups_said, 6u);
  EXPECT_FALSE(host.groups.no_channel);
}

TEST_F(LanPortBesideBridges, BelievesOnlyThoseWhoSayThatTheyBridge) {
  receive(8, frame_of(port.mac(), kThere));
  EXPECT_EQ(count(LanCounter::kRxForeignSource), 1u);
  receive(6, frame_of(port.mac(), kGroup));
  EXPECT_EQ(count(LanCounter::kRxForeignSource), 2u);
  receive(6, frame_of(port.mac(), mac_at(7)));
  EXPECT_EQ(count(LanCounter::kRxForgedSource), 1u);
  EXPECT_TRUE(host.came.empty());
  EXPECT_EQ(port.stations().count(), 0u);
}

TEST_F(LanPortBesideBridges, SendsToUnknownStationsOnlyWhereThereAreAny) {
  for (const std::uint16_t lid : std::array<std::uint16_t, 2>{6, 7})
    wants(lid, {.all = false, .groups = {}});
  send(to(kThere));
  EXPECT_EQ(count(LanCounter::kTxForeignDestination), 1u);
  EXPECT_TRUE(host.new_deeds().empty());
}

TEST_F(LanPortBesideBridges, LimitsWhatGoesToUnknownStations) {
  for (int i = 0; i < 3000; ++i)
    send(to(kThere));
  EXPECT_EQ(count(LanCounter::kTxFlooded), 1000u);
  EXPECT_EQ(count(LanCounter::kTxStorm), 2000u);
}

TEST_F(LanPortBridge, ForgetsAStationThatComesBehindItself) {
  receive(7, frame_of(kHere, kThere));
  EXPECT_EQ(port.stations().find(kThere), peer(7));
  send(frame_of(kBroadcast, kThere));
  EXPECT_EQ(port.stations().find(kThere), std::nullopt);
}

TEST_F(LanPortBridge, ForgetsTheStationsOfAPeerThatGoes) {
  receive(7, frame_of(kHere, kThere));
  port.directory().out_of_service(Guid{7}, now);
  EXPECT_EQ(port.stations().count(), 0u);
}

TEST_F(LanPortBesideBridges, ForgetsStationsThatAreNotHeard) {
  receive(7, frame_of(port.mac(), kThere));
  for (int i = 0; i < 299; ++i) {
    now += 1s;
    wants(7, {.all = false, .bridges = true, .groups = {}});
    run();
  }
  EXPECT_EQ(port.stations().count(), 1u);
  now += 1s;
  EXPECT_LE(port.deadline(), now);
  run();
  EXPECT_EQ(port.stations().count(), 0u);
}

TEST_F(LanPortBridge, CarriesSpanningTreesThroughStorms) {
  for (int i = 0; i < 2000; ++i) {
    send(frame_of(kBroadcast, kHere));
    receive(6, frame_of(kBroadcast, kThere));
  }
  EXPECT_GT(count(LanCounter::kTxStorm), 0u);
  EXPECT_GT(count(LanCounter::kRxStorm), 0u);
  host.new_deeds();
  host.came.clear();
  send(bpdu_of(kHere, 0, 0));
  EXPECT_EQ(host.new_deeds().size(), 3u);
  receive(6, bpdu_of(kThere, 0, 0));
  EXPECT_EQ(host.came.size(), 1u);
  // Even of these there may be too many.
  for (int i = 0; i < 2000; ++i) {
    send(bpdu_of(kHere, 0, 0));
    receive(6, bpdu_of(kThere, 0, 0));
  }
  EXPECT_LE(host.came.size(), 200u);
  EXPECT_LE(host.new_deeds().size(), 600u);
}

TEST_F(LanPortBridge, ForgetsAllStationsWhenTheTopologyChanges) {
  const auto learn = [this] { receive(7, frame_of(kHere, kThere)); };
  learn();
  receive(6, bpdu_of(kThere, 0, 0));  // which says nothing of a change, and where that bridge is
  EXPECT_EQ(port.stations().find(kThere), peer(6));
  send(bpdu_of(kHere, 0, 1));
  EXPECT_EQ(port.stations().count(), 0u);
  learn();
  send(bpdu_of(kHere, 2, 1));  // so soon again, it is not done
  EXPECT_EQ(port.stations().count(), 1u);
  now += 1s;
  receive(6, bpdu_of(mac_at(6), 0x80, 0));
  EXPECT_EQ(port.stations().count(), 0u);
}

TEST(SpanningTree, IsToldFromOtherFrames) {
  const auto change = [](const Frame& frame) {
    return is_topology_change(*EthernetFrame::read(frame));
  };
  const Frame said = bpdu_of(kHere, 0, 1);
  EXPECT_TRUE(change(said));
  EXPECT_TRUE(change(bpdu_of(kHere, 2, 0x7F)));
  EXPECT_TRUE(change(bpdu_of(kHere, 0x80, 0)));
  EXPECT_FALSE(change(bpdu_of(kHere, 2, 0xFE)));
  EXPECT_FALSE(change(bpdu_of(kHere, 1, 1)));
  // Its address, LLC and protocol, each another one; and cut short.
  for (const std::size_t at : {5U, 14U, 15U, 16U, 17U, 18U}) {
    Frame other = said;
    other[at] ^= std::byte{1};
    EXPECT_FALSE(change(other)) << at;
  }
  Frame cut = said;
  cut.resize(21);
  EXPECT_FALSE(change(cut));
  cut[20] = std::byte{0x80};
  EXPECT_TRUE(change(cut));
  cut.resize(20);
  EXPECT_FALSE(change(cut));
  EXPECT_TRUE(is_link_local({0x01, 0x80, 0xC2, 0, 0, 0x0E}));
  EXPECT_FALSE(is_link_local({0x01, 0x80, 0xC2, 0, 0, 0x10}));
  EXPECT_FALSE(is_link_local({0x01, 0x80, 0xC2, 0, 1, 0x0E}));
}

}  // namespace
}  // namespace weft::lan::test
