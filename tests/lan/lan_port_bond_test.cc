// SPDX-License-Identifier: Apache-2.0
// Ports whose interfaces have an address that their host has chosen, as those of a bond have.
#include <map>
#include <set>

#include "lan_port_fixture.h"
#include "wire/ip.h"

namespace weft::lan::test {
namespace {

constexpr MacAddress kBond{0x02, 0, 0, 0, 0, 0xB0};
constexpr MacAddress kOwnBond{0x02, 0, 0, 0, 0, 0xB1};
constexpr MacAddress kStation{0x52, 0x54, 0, 0, 0, 1};
constexpr int kFlows = 200;

// Those of LIDs 6 and 7 are of a bond.
class LanPortBond : public LanPortTest {
 protected:
  LanPortBond() {
    of_bond(6);
    of_bond(7);
    wants(8, {.all = false, .groups = {}});
    host.new_deeds();
  }
  void of_bond(std::uint16_t lid, const MacAddress& address = kBond, bool bridges = false,
               std::vector<MacAddress> groups = {}) {
    wants(lid, {.all = false, .bridges = bridges, .address = address, .groups = std::move(groups)});
  }
  void gives(const MacAddress& address) {
    port.address_changed(address, now);
    now += 20ms;
    run();
    host.new_deeds();
  }
  // To the bond, of another pair of addresses of IPv4, or of IPv6.
  Frame flow(int number, bool six = false) {
    Frame frame = to(kBond, 80, six ? EthernetFrame::kIpv6 : EthernetFrame::kIpv4);
    const std::size_t last =
        kEthernetHeader + (six ? wire::kIpv6HeaderSize : wire::kIpv4HeaderSize);
    frame[last - 1] = static_cast<std::byte>(number);
    return frame;
  }
  std::string sent_by(const Frame& frame) {
    send(frame);
    const Deeds deeds = host.new_deeds();
    EXPECT_EQ(deeds.size(), 1u);
    return deeds.empty() ? "" : deeds.front();
  }
};

TEST_F(LanPortBond, SaysWhichAddressTheHostHasGivenTheInterface) {
  EXPECT_EQ(host.groups.address, std::nullopt);
  // At once, before frames of it come from the host.
  port.address_changed(kOwnBond, now);
  EXPECT_EQ(host.groups.address, kOwnBond);
  host.groups = {};
  gives(kOwnBond);
  EXPECT_EQ(host.groups.address, kOwnBond);
  EXPECT_EQ(port.own_address(), kOwnBond);
  // In one that holds a LID, a port of the fabric is named: nobody is to take what is for that.
  gives(mac_at(6));
  EXPECT_EQ(host.groups.address, std::nullopt);
  gives(kOwnBond);
  port.address_changed(std::nullopt, now);
  EXPECT_EQ(port.own_address(), std::nullopt);
}

// So that frames of a bond's address are taken from a port that was away as soon as it is back.
TEST_F(LanPortBond, IsAskedForItsAddressWhenItComesAndAnswers) {
  port.directory().out_of_service(Guid{6}, now);
  EXPECT_EQ(host.new_deeds(), Deeds{"went 6"});
  port.directory().in_service(Guid{6}, now);
  for (int i = 0; i < 50 && !host.groups.asks; ++i) {
    now += 100ms;
    run();
  }
  EXPECT_TRUE(host.groups.asks);
  gives(kOwnBond);
  EXPECT_FALSE(host.groups.asks);
  const std::size_t said = host.groups_said;
  wants(7, {.all = false, .asks = true, .groups = {}});
  EXPECT_EQ(host.groups_said, said + 1);
  EXPECT_EQ(host.groups.address, kOwnBond);
  EXPECT_FALSE(host.groups.asks);
  wants(7, {.all = false, .groups = {}});
  EXPECT_EQ(host.groups_said, said + 1);
}

// It may send at once, and is asked only when it is a peer again.
TEST_F(LanPortBond, ThatComesBackIsNotBelievedItsAddressBeforeItHasSaidIt) {
  port.directory().out_of_service(Guid{6}, now);
  port.directory().in_service(Guid{6}, now);
  for (int i = 0; i < 50 && !host.groups.asks; ++i) {
    now += 100ms;
    run();
  }
  ASSERT_TRUE(host.groups.asks);
  receive(6, frame_of(port.mac(), kBond));
  EXPECT_TRUE(host.came.empty());
  EXPECT_EQ(count(LanCounter::kRxForeignSource), 1u);
  of_bond(6);
  receive(6, frame_of(port.mac(), kBond));
  EXPECT_EQ(host.came.size(), 1u);
}

TEST_F(LanPortBond, SendsAndTakesFramesOfTheAddressThatTheHostHasGiven) {
  send(frame_of(mac_at(8), kOwnBond));
  receive(8, frame_of(kOwnBond, MacAddress{0x02, 0x57, 0x4C, 2, 0, 8}));
  EXPECT_EQ(count(LanCounter::kTxForeignSource), 1u);
  EXPECT_EQ(count(LanCounter::kRxNotOurs), 1u);
  gives(kOwnBond);
  send(frame_of(mac_at(6), kOwnBond));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 6"});
  send(frame_of(mac_at(6), kStation));
  send(frame_of(mac_at(6), mac_at(7)));
  EXPECT_EQ(count(LanCounter::kTxForeignSource), 3u);
  send(frame_of(kOwnBond, kOwnBond));
  EXPECT_EQ(count(LanCounter::kTxToSelf), 1u);
  receive(6, frame_of(kOwnBond, mac_at(6)));
  EXPECT_EQ(host.came.size(), 1u);
  receive(6, frame_of(kStation, mac_at(6)));
  EXPECT_EQ(count(LanCounter::kRxNotOurs), 2u);
}

TEST_F(LanPortBond, FramesOfAFlowGoToOnePortAndFlowsToAll) {
  for (const bool six : {false, true}) {
    std::map<std::string, int> flows;
    for (int i = 0; i < kFlows; ++i) {
      const std::string by = sent_by(flow(i, six));
      EXPECT_EQ(sent_by(flow(i, six)), by);
      ++flows[by];
    }
    EXPECT_EQ(flows.size(), 2u);
    for (const auto& [by, count] : flows)
      EXPECT_GT(count, kFlows / 4) << by;
  }
  EXPECT_EQ(count(LanCounter::kTxToBond), 4u * kFlows);
}

TEST_F(LanPortBond, ConnectionsOfTwoHostsAreFlowsEach) {
  std::set<std::string> by;
  for (int i = 0; i < kFlows; ++i) {
    Frame frame = flow(1);
    frame[kEthernetHeader] = std::byte{0x45};
    frame[kEthernetHeader + 6] = frame[kEthernetHeader + 7] = std::byte{};  // is not cut
    frame[kEthernetHeader + 9] = std::byte{6};                              // TCP
    frame[kEthernetHeader + wire::kIpv4HeaderSize] = static_cast<std::byte>(i);
    by.insert(sent_by(frame));
  }
  EXPECT_EQ(by.size(), 2u);
}

TEST_F(LanPortBond, AllFlowsGoToThePortsThatAreLeft) {
  port.directory().out_of_service(Guid{6}, now);
  host.new_deeds();
  for (int i = 0; i < kFlows; ++i)
    EXPECT_EQ(sent_by(flow(i)), "datagrams 7");
  wants(7, {.all = false, .groups = {}});
  send(flow(0));
  EXPECT_EQ(count(LanCounter::kTxForeignDestination), 1u);
  of_bond(8);
  EXPECT_EQ(sent_by(flow(0)), "datagrams 8");
}

TEST_F(LanPortBond, WhatIsForAllComesToABondOnce) {
  send(to(kBroadcast));
  const Deeds deeds = host.new_deeds();
  ASSERT_EQ(deeds.size(), 2u);
  EXPECT_EQ(std::ranges::count(deeds, "datagrams 8"), 1);
  of_bond(7, kBond, false, {kGroup});
  send(to(kGroup));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 7"});
  of_bond(6, kBond, false, {kGroup});
  send(to(kGroup));
  EXPECT_EQ(host.new_deeds().size(), 1u);
  // Of two bonds each.
  of_bond(8, kOwnBond);
  send(to(kBroadcast));
  EXPECT_EQ(host.new_deeds().size(), 2u);
}

TEST_F(LanPortBond, ThatHasJoinedTheGroupOfTheFabricGetsNothingTwice) {
  for (const std::uint16_t lid : std::array<std::uint16_t, 3>{6, 7, 8}) {
    GroupList list{.all = false, .joined = true, .groups = {}};
    if (lid != 8) list.address = kBond;
    wants(lid, list);
  }
  port.group_joined(now);
  now += 2s;
  run();
  host.new_deeds();
  send(to(kBroadcast));
  EXPECT_EQ(host.new_deeds().size(), 2u);
  EXPECT_EQ(count(LanCounter::kTxByGroup), 0u);
}

TEST_F(LanPortBond, DoesNotSpeakToItself) {
  gives(kBond);
  send(to(kBroadcast));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 8"});
  receive(6, frame_of(kBroadcast, kBond));
  EXPECT_EQ(count(LanCounter::kRxOwnBond), 1u);
  EXPECT_TRUE(host.came.empty());
}

TEST_F(LanPortBond, IsBelievedItsAddressAndNobodyElseIs) {
  receive(6, frame_of(port.mac(), kBond));
  receive(7, frame_of(port.mac(), kBond));
  EXPECT_EQ(host.came.size(), 2u);
  receive(8, frame_of(port.mac(), kBond));
  receive(7, frame_of(port.mac(), kStation));
  EXPECT_EQ(count(LanCounter::kRxForeignSource), 2u);
  receive(7, frame_of(port.mac(), mac_at(6)));
  EXPECT_EQ(count(LanCounter::kRxForgedSource), 1u);
  // It is no station that somebody else could take over.
  EXPECT_EQ(port.stations().count(), 0u);
  wants(8, {.all = false, .bridges = true, .groups = {}});
  receive(8, frame_of(port.mac(), kBond));
  EXPECT_NE(sent_by(flow(0)), "datagrams 8");
}

// What the host wants, it may have said to the other one alone.
TEST_F(LanPortBond, AsksTheHostAnewWhenAnotherPortOfItsBondHasGone) {
  gives(kBond);
  now += 10s;
  run();
  now += 20ms;
  run();
  ASSERT_FALSE(host.groups.all);
  host.came.clear();
  port.directory().out_of_service(Guid{7}, now);
  EXPECT_LE(port.deadline(), now);
  run();
  EXPECT_EQ(host.came.size(), 2u);  // by IGMP and by MLD
  now += 20ms;
  run();
  EXPECT_TRUE(host.groups.all);
  now += 3s;
  run();
  now += 20ms;
  run();
  EXPECT_FALSE(host.groups.all);
  host.came.clear();
  port.directory().out_of_service(Guid{8}, now);
  run();
  EXPECT_TRUE(host.came.empty());
}

TEST_F(LanPortBond, ThatIsSilentIsNoneAnyMore) {
  for (int i = 0; i < 5; ++i) {
    now += 10s;
    of_bond(7);
    run();
  }
  host.new_deeds();
  for (int i = 0; i < kFlows; ++i)
    EXPECT_EQ(sent_by(flow(i)), "datagrams 7");
}

TEST_F(LanPortBond, ThatBridgesIsTheWayToItsStationsByAllPorts) {
  of_bond(6, kBond, true);
  of_bond(7, kBond, true);
  send(to(kStation));
  EXPECT_EQ(host.new_deeds().size(), 1u);
  EXPECT_EQ(count(LanCounter::kTxFlooded), 1u);
  receive(6, frame_of(port.mac(), kStation));
  receive(7, frame_of(port.mac(), kStation));
  EXPECT_EQ(count(LanCounter::kStationsMoved), 0u);
  std::set<std::string> by;
  for (int i = 0; i < kFlows; ++i) {
    Frame frame = flow(i);
    std::ranges::transform(kStation, frame.begin(),
                           [](std::uint8_t octet) { return std::byte{octet}; });
    by.insert(sent_by(frame));
  }
  EXPECT_EQ(by.size(), 2u);
}

}  // namespace
}  // namespace weft::lan::test
