// SPDX-License-Identifier: Apache-2.0
// Drivers of LAN ports in a lab, with interfaces of the kernel's own.
#include <gmock/gmock.h>

#include <utility>

#include "hca/connected_counters.h"
#include "lan_lab.h"

namespace weft::daemon {
namespace {

using LanDriverTest = LanLab;

TEST_F(LanDriverTest, NodesReachEachOther) {
  Host& a = add("a");
  Host& d = add("d");
  EXPECT_EQ(a.report().mac, lan::mac_of(a.report().lids));
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  EXPECT_EQ(run(a, "ping -q -c 3 -i 0.01 10.9.0.2 >/dev/null"), 0);
  EXPECT_EQ(run(d, "ping -q -c 3 -i 0.01 -s 1472 -M do 10.9.0.1 >/dev/null"), 0);
  // The address that it has tells the LID that it was asked from.
  EXPECT_EQ(run(a, "ip neigh show 10.9.0.2 | grep -q 'lladdr 02:57:4c'"), 0);
  EXPECT_EQ(a.count("tx_copied"), 0u);
}

// Addresses of IPv6 are resolved by frames to groups.
TEST_F(LanDriverTest, AnyProtocolIsCarried) {
  Host& a = add("a");
  Host& b = add("b");
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  EXPECT_EQ(run(a, "ip address add fd00::1/64 dev lan0 nodad"), 0);
  EXPECT_EQ(run(b, "ip address add fd00::2/64 dev lan0 nodad"), 0);
  EXPECT_EQ(run(a, "ping -q -c 3 -i 0.01 fd00::2 >/dev/null"), 0);
}

TEST_F(LanDriverTest, WithoutChannelsAllGoesByDatagrams) {
  LanDriverOptions options;
  options.mtu = lan::kMostMtu;
  options.channels = 0;
  Host& a = add("a", options);
  add("d", options);
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  EXPECT_EQ(run(a, "ping -q -c 3 -i 0.01 10.9.0.2 >/dev/null"), 0);
  // More datagrams than there are places for at a time.
  EXPECT_EQ(run(a, "ping -q -c 40 -i 0.005 -s 65000 -M do 10.9.0.2 >/dev/null"), 0);
  EXPECT_EQ(a.count("tx_by_channel"), 0u);
  EXPECT_GT(a.count("rx_packets"), LanQueuePairs::kDatagramSlots);
  EXPECT_EQ(a.count("tx_copied"), 0u);
}

TEST_F(LanDriverTest, BroadcastsGoToAllAndAreNotCopied) {
  Host& a = add("a");
  for (const char* name : {"b", "c", "d"})
    add(name);
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  // Whoever is there answers; one datagram has less than such a frame.
  for (Host& host : hosts_)
    EXPECT_EQ(run(host, "sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0"), 0);
  // The kernel tells of its own groups when it likes, which goes to many as well.
  std::uint64_t to_all = 0, to_groups = 0, sent = 0;
  const auto since = [&a](const char* name, std::uint64_t& before) {
    return a.count(name) - std::exchange(before, a.count(name));
  };
  const auto sent_now = [&a] { return a.count("tx_copies") + 3 * a.count("tx_by_group"); };
  do {
    since("tx_to_all", to_all);
    since("tx_to_group", to_groups);
    sent = sent_now();
    EXPECT_EQ(run(a, "ping -q -b -c 1 -s 1400 10.9.0.255 2>&1 >/dev/null"), 0);
    // The switches make them, when the ports have been in the group of the fabric for a while.
    sent = sent_now() - sent;
  } while (since("tx_to_group", to_groups) != 0);
  EXPECT_EQ(since("tx_to_all", to_all), 1u);
  EXPECT_EQ(sent, 3u);
  EXPECT_EQ(a.count("tx_copied"), 0u);
  for (std::size_t i = 1; i < hosts_.size(); ++i)
    EXPECT_GE(hosts_[i].count("rx_by_datagram"), 1u);
}

TEST_F(LanDriverTest, WhatIsForAllGoesOnceByTheGroupOfTheFabric) {
  LanDriverOptions options;
  options.mtu = 9000;
  Host& a = add("a", options);
  for (const char* name : {"b", "c", "d"})
    add(name, options);
  for (Host& host : hosts_)
    EXPECT_EQ(run(host, "sysctl -qw net.ipv6.conf.lan0.disable_ipv6=1"), 0);
  const auto send = [&](int times) {
    return run(a,
               "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
               "s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); "
               "[s.sendto(bytes(8000), (\"10.9.0.255\", 9)) for i in range(" +
                   std::to_string(times) + ")]'");
  };
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  // From two seconds after the ports have joined.
  ASSERT_TRUE(until([&] { return send(1) == 0 && a.count("tx_by_group") > 0; }));
  std::vector<std::uint64_t> before;
  for (const Host& host : hosts_)
    before.push_back(host.count("rx_by_datagram"));
  const std::uint64_t copies = a.count("tx_copies");
  const std::uint64_t by_group = a.count("tx_by_group");
  // Each of several datagrams.
  EXPECT_EQ(send(5), 0);
  EXPECT_TRUE(until([&] { return a.count("tx_by_group") == by_group + 5; }));
  EXPECT_TRUE(until([&] {
    return std::ranges::all_of(hosts_, [&](const Host& host) {
      const auto i = static_cast<std::size_t>(&host - &hosts_[0]);
      return &host == &a || host.count("rx_by_datagram") == before[i] + 5;
    });
  }));
  EXPECT_EQ(a.count("tx_copies"), copies);
  // The queue pair of other datagrams is in no group.
  for (const Host& host : hosts_)
    EXPECT_EQ(host.count("rx_not_attached"), 0u);
  EXPECT_EQ(a.count("tx_copied"), 0u);
}

// Segments of TCP cross the fabric uncut: the one kernel leaves them to the other.
TEST_F(LanDriverTest, LongFramesGoByChannelsAsOneMessage) {
  Host& a = add("a");
  Host& d = add("d");
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  const std::string text = "head -c 64000000 /dev/zero";
  auto listening =
      start(d,
            "sh -c 'test \"$(timeout 30 socat -u TCP-LISTEN:7,reuseaddr - | sha256sum)\" = "
            "\"$(" +
                text + " | sha256sum)\"'");
  EXPECT_EQ(run(a, "sh -c '" + text + " | timeout 30 socat -u - TCP:10.9.0.2:7,retry=100'"), 0);
  EXPECT_TRUE(until([&] { return listening.wait_for(0s) == std::future_status::ready; }, 30s));
  EXPECT_EQ(listening.get(), 0);
  EXPECT_GT(a.count("tx_by_channel"), 0u);
  EXPECT_LT(a.count("tx_by_channel"), 64'000'000u / 1448 / 4);
  EXPECT_EQ(a.report().peers.at(0).channel, lan::Channels::State::kUp);
  EXPECT_EQ(a.count("tx_copied"), 0u);
  EXPECT_EQ(a.count("tx_no_room"), 0u);
}

// Nobody takes them meanwhile: a receiver has so many places and no more.
TEST_F(LanDriverTest, MessagesThatFindNoPlaceAreDrops) {
  Host& a = add("a");
  Host& d = add("d");
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  ASSERT_EQ(run(d, "ping -q -c 1 10.9.0.1 >/dev/null"), 0);
  ASSERT_TRUE(until([&] { return a.report().peers.at(0).channel == lan::Channels::State::kUp; }));
  EXPECT_EQ(d.report().drops, 0u);
  d.paused = true;
  EXPECT_EQ(run(a,
                "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                "[s.sendto(bytes(1000), (\"10.9.0.2\", 9)) for i in range(100)]'"),
            0);
  ASSERT_TRUE(until([&] { return a.count("tx_by_channel") >= 100; }));
  d.paused = false;
  EXPECT_TRUE(until([&] { return d.report().drops > 0; }));
  const LanReport report = d.report();
  const auto dropped = static_cast<std::size_t>(hca::ConnectedCounter::kRxNoReceive);
  EXPECT_EQ(report.channels.at(dropped).value, report.drops);
  // Nor are they forgotten with their connection.
  a.driver.reset();
  EXPECT_TRUE(until([&] { return d.report().peers.empty(); }));
  EXPECT_EQ(d.report().drops, report.drops);
}

TEST_F(LanDriverTest, TheMtuIsWhatTheHostsInterfaceHas) {
  Host& a = add("a");
  Host& d = add("d");
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  EXPECT_EQ(run(a, "ip link set lan0 mtu 9000"), 0);
  EXPECT_EQ(run(d, "ip link set lan0 mtu 9000"), 0);
  EXPECT_TRUE(until([&] { return a.report().mtu == 9000 && d.report().mtu == 9000; }));
  EXPECT_EQ(run(a, "ping -q -c 3 -i 0.01 -s 8972 -M do 10.9.0.2 >/dev/null"), 0);
  EXPECT_EQ(a.count("tx_too_long"), 0u);
  EXPECT_EQ(run(d, "ip link set lan0 mtu 1400"), 0);
  EXPECT_TRUE(until([&] { return d.report().mtu == 1400; }));
  EXPECT_NE(run(a, "ping -q -c 1 -W 0.2 -s 8972 -M do 10.9.0.2 >/dev/null"), 0);
  EXPECT_EQ(d.count("rx_too_long"), 1u);
}

TEST_F(LanDriverTest, TheCarrierFollowsThePort) {
  Host& a = add("a");
  EXPECT_EQ(run(a, "ip link show lan0 | grep -q LOWER_UP"), 0);
  lab_.fabric.link(0).set_plugged(false, io::now());
  EXPECT_TRUE(until([&] { return a.report().state == LanState::kDown; }));
  EXPECT_EQ(run(a, "ip link show lan0 | grep -q NO-CARRIER"), 0);
  EXPECT_FALSE(a.report().why.empty());
  lab_.fabric.link(0).set_plugged(true, io::now());
  EXPECT_TRUE(until([&] { return a.report().state == LanState::kUp; }));
  EXPECT_EQ(run(a, "ip link show lan0 | grep -q LOWER_UP"), 0);
}

// Another program might be there by then: it has other queue pairs, and knows of no connection.
TEST_F(LanDriverTest, ADriverThatBeginsAnewIsFoundAgain) {
  Host& a = add("a");
  Host& d = add("d");
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  const auto connected = [](const Host& host) {
    const auto peers = host.report().peers;
    return peers.size() == 1 && peers[0].channel == lan::Channels::State::kUp;
  };
  ASSERT_EQ(run(d, "ping -q -c 1 10.9.0.1 >/dev/null"), 0);
  ASSERT_TRUE(until([&] { return connected(a) && connected(d); }));
  const Qpn before = a.report().qpn;
  a.driver.reset();
  EXPECT_TRUE(until([&] { return !connected(d); }));
  EXPECT_NE(run(a, "ip link show lan0 2>/dev/null"), 0);
  ASSERT_TRUE(open(a, {}));
  EXPECT_NE(a.report().qpn, before);
  EXPECT_EQ(run(a, "ip address add 10.9.0.1/24 dev lan0"), 0);
  EXPECT_TRUE(until([&] { return all_know_all() && d.report().peers[0].qpn == a.report().qpn; }));
  EXPECT_EQ(run(d, "ping -q -c 1 10.9.0.1 >/dev/null"), 0);
  // Connections are asked for when addresses are resolved; not again at once.
  EXPECT_TRUE(until([&] {
    EXPECT_EQ(run(d, "ip neigh flush dev lan0"), 0);
    EXPECT_EQ(run(d, "ping -q -c 2 -i 0.2 10.9.0.1 >/dev/null"), 0);
    return connected(a) && connected(d);
  }));
}

// The subnet manager says so to a port that was away from it, whose peers have given it up
// meanwhile and could not tell it.
TEST_F(LanDriverTest, APortThatIsToRegisterAnewGivesItsConnectionsUp) {
  Host& a = add("a");
  Host& d = add("d");
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  const auto connected = [](const Host& host) {
    return host.report().peers.at(0).channel == lan::Channels::State::kUp;
  };
  ASSERT_EQ(run(d, "ping -q -c 1 10.9.0.1 >/dev/null"), 0);
  ASSERT_TRUE(until([&] { return connected(a) && connected(d); }));
  fabric::Node& node = *lab_.fabric.find_node("d");
  wire::PortInfo info = node.port_info(1);
  info.client_reregister = true;
  node.set_port_info(1, info, io::now());
  EXPECT_TRUE(until([&] { return !connected(d) && !connected(a); }));
  EXPECT_EQ(run(a, "ping -q -c 1 10.9.0.2 >/dev/null"), 0);
  EXPECT_EQ(run(d, "ping -q -c 1 10.9.0.1 >/dev/null"), 0);
}

TEST_F(LanDriverTest, FramesInAnothersNameAreDroppedAndNotedOnce) {
  Host& a = add("a");
  EXPECT_EQ(run(a,
                "python3 -c 'import socket; s = socket.socket(socket.AF_PACKET, "
                "socket.SOCK_RAW); s.bind((\"lan0\", 0)); "
                "[s.send(b\"\\xff\" * 6 + b\"\\x02WL\\0\\0c\\x88\\xb5\" + bytes(50)) "
                "for i in range(100)]'"),
            0);
  EXPECT_TRUE(until([&] { return a.count("tx_foreign_source") == 100; }));
  EXPECT_TRUE(until([&] { return !a.report().notes.empty(); }));
  EXPECT_EQ(a.report().notes.size(), 1u);
  EXPECT_THAT(a.report().notes[0].text, testing::StartsWith("tx_foreign_source: "));
}

// Nobody says of them again that they are there.
TEST_F(LanDriverTest, FramesThatHavePiledUpAreAllRead) {
  Host& a = add("a");
  auto sending = start(a,
                       "python3 -c 'import socket; s = socket.socket(socket.AF_PACKET, "
                       "socket.SOCK_RAW); s.bind((\"lan0\", 0)); "
                       "[s.send(b\"\\xff\" * 6 + b\"\\x02WL\\0\\0c\\x88\\xb5\" + bytes(50)) "
                       "for i in range(100)]'");
  ASSERT_EQ(sending.get(), 0);
  EXPECT_TRUE(until([&] { return a.count("tx_foreign_source") == 100; }));
}

// Of two ports each, of which the second has the second LID.
class LanDriverTwoPorts : public LanLab {
 protected:
  LanDriverTwoPorts()
      : LanLab(R"(
[switch]
s1 = { ports = 4 }
[node]
a = { ports = 2 }
b = { ports = 2 }
[[link]]
ends = ["a:1", "s1:1"]
[[link]]
ends = ["a:2", "s1:2"]
[[link]]
ends = ["b:1", "s1:3"]
[[link]]
ends = ["b:2", "s1:4"]
)") {}
  Host& add_port(const std::string& node, mgmt::PortNumber port) {
    LanDriverOptions options;
    options.port = port;
    return add(node, options);
  }
};

TEST_F(LanDriverTwoPorts, EachPortIsOneOfTheLan) {
  add_port("a", 1);
  Host& second = add_port("a", 2);
  add_port("b", 1);
  add_port("b", 2);
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  for (const char* const number : {"1", "3", "4"})
    EXPECT_EQ(run(second, std::string("ping -q -c 3 -i 0.01 10.9.0.") + number + " >/dev/null"), 0);
}

// As bonds do; frames of either port are of it, and go to either.
TEST_F(LanDriverTwoPorts, PortsOfOneAddressThatTheHostHasGivenAreOne) {
  Host& first = add_port("a", 1);
  Host& second = add_port("a", 2);
  Host& other = add_port("b", 1);
  ASSERT_TRUE(until([&] { return all_know_all(); }));
  for (const Host* const host : {&first, &second})
    EXPECT_EQ(run(*host, "ip link set lan0 address 02:00:00:00:00:0a"), 0);
  const MacAddress bond{2, 0, 0, 0, 0, 10};
  ASSERT_TRUE(until([&] {
    const auto peers = other.report().peers;
    return std::ranges::count(peers, bond, &LanPeerReport::mac) == 2;
  }));
  EXPECT_EQ(first.report().mac, bond);
  // Without a bond behind them only one of the two hosts is the right one for each; but both are
  // sent to by the address that they share.
  EXPECT_EQ(run(other, "ip neigh add 10.9.0.1 lladdr 02:00:00:00:00:0a dev lan0"), 0);
  EXPECT_EQ(run(other, "ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:0a dev lan0"), 0);
  const std::uint64_t before = other.count("tx_to_bond");
  EXPECT_EQ(run(other,
                "sh -c 'ping -q -c 1 -W 1 10.9.0.1; ping -q -c 1 -W 1 10.9.0.2; true' "
                ">/dev/null"),
            0);
  EXPECT_GE(other.count("tx_to_bond"), before + 2);
  EXPECT_EQ(other.count("tx_foreign_destination"), 0u);
  // The address of its LIDs again.
  EXPECT_EQ(run(first, "ip link set lan0 address 02:57:4c:00:00:07"), 0);
  EXPECT_TRUE(until([&] {
    const auto peers = other.report().peers;
    return std::ranges::count(peers, bond, &LanPeerReport::mac) == 1;
  }));
}

TEST_F(LanDriverTest, AnInterfaceThatSomebodyDeletesIsGone) {
  Host& a = add("a");
  EXPECT_EQ(run(a, "ip link delete lan0"), 0);
  EXPECT_TRUE(until([&] { return a.report().state == LanState::kFailed; }));
  EXPECT_THAT(a.report().why, testing::HasSubstr("lan0"));
  EXPECT_EQ(a.report().interface, "");
}

TEST_F(LanDriverTest, WhatCannotBeIsSaid) {
  Host& a = add("a");
  Host other{"x", std::make_unique<io::Elsewhere>(), nullptr, false};
  EXPECT_EQ(open(other, {}).error().code, std::errc::no_such_device);
  other.node = "b";
  LanDriverOptions options;
  options.port = 2;
  EXPECT_THAT(open(other, options).error().message, testing::HasSubstr("no port 2"));
  options = {};
  options.mtu = 67;
  EXPECT_EQ(open(other, options).error().code, std::errc::invalid_argument);
  // The port is active, and there is an interface of that name.
  std::swap(other.place, a.place);
  EXPECT_EQ(open(other, {}).error().code, std::errc::file_exists);
  std::swap(other.place, a.place);
}

}  // namespace
}  // namespace weft::daemon
