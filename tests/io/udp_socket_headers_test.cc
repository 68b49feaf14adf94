// SPDX-License-Identifier: Apache-2.0
// What datagrams say of themselves: source address, traffic class with ECN, hop limit.
#include <gtest/gtest.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <vector>

#include "io/udp_socket.h"
#include "udp_socket_fixture.h"

namespace weft::io::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Headers, UdpSocketOn, every_path(), path_name);

TEST_P(UdpSocketOn, CarriesTrafficClassWithEcnBitsAndHopLimit) {
  const auto sender = open_socket(options());
  const auto receiver = open_socket(options());
  auto payload = pattern(8);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = to(receiver);
  datagram.data = data;
  datagram.tos = 0xBA;
  datagram.ttl = 37;
  ASSERT_EQ(sender.send(datagram).status, IoStatus::kDone);
  std::vector<std::byte> got;
  ReceivedDatagram info;
  ASSERT_EQ(receive_one(receiver, got, info).status, IoStatus::kDone);
  EXPECT_EQ(info.tos, 0xBA);
  EXPECT_EQ(info.ttl, 37);
}

TEST_P(UdpSocketOn, GivesDatagramsItsOwnHopLimitUnlessTheyNameOne) {
  const auto sender = open_socket(options());
  const auto receiver = open_socket(options());
  auto unsaid = options();
  unsaid.tell_hops = false;
  const auto other = open_socket(unsaid);
  auto payload = pattern(8);
  const std::array<iovec, 1> data{vec(payload)};
  const auto hops = [&](const UdpSocket& to_whom, std::optional<std::uint8_t> named) {
    SendDatagram datagram;
    datagram.destination = to(to_whom);
    datagram.data = data;
    datagram.ttl = named;
    EXPECT_EQ(sender.send(datagram).status, IoStatus::kDone);
    std::vector<std::byte> got;
    ReceivedDatagram info;
    EXPECT_EQ(receive_one(to_whom, got, info).status, IoStatus::kDone);
    return info.ttl;
  };
  const std::uint8_t by_system = hops(receiver, {});
  ASSERT_NE(by_system, 41);
  EXPECT_TRUE(sender.set_hop_limit(41));
  EXPECT_EQ(hops(receiver, {}), 41);
  EXPECT_EQ(hops(receiver, 7), 7);
  EXPECT_EQ(hops(other, {}), 0) << "it was not to be told";
  EXPECT_TRUE(sender.set_hop_limit(0));
  EXPECT_EQ(hops(receiver, {}), by_system);
}

TEST_P(UdpSocketOn, GivesDatagramsItsOwnTrafficClassUnlessTheyNameOne) {
  auto wanted = options();
  wanted.tos = 0x2A;
  const auto sender = open_socket(wanted);
  EXPECT_EQ(sender.tos(), 0x2A);
  const auto receiver = open_socket(options());
  auto payload = pattern(2 * 64);
  const std::array<iovec, 1> data{vec(payload)};
  const auto arrives_with = [&](std::optional<std::uint8_t> named, std::uint16_t segment_size) {
    SendDatagram datagram;
    datagram.destination = to(receiver);
    datagram.data = data;
    datagram.tos = named;
    datagram.segment_size = segment_size;
    EXPECT_EQ(sender.send(datagram).status, IoStatus::kDone);
    std::vector<std::byte> got;
    ReceivedDatagram info;
    EXPECT_EQ(receive_one(receiver, got, info).status, IoStatus::kDone);
    return info.tos;
  };
  EXPECT_EQ(arrives_with(std::nullopt, 0), 0x2A);
  EXPECT_EQ(arrives_with(std::nullopt, 64), 0x2A);
  EXPECT_EQ(arrives_with(0, 0), 0);
  EXPECT_EQ(arrives_with(0xBA, 64), 0xBA);
}

TEST_P(UdpSocketOn, SendsFromTheSourceAddressThatIsAskedFor) {
  const auto sender = open_socket(options());
  const auto receiver = open_socket(options());
  auto payload = pattern(8);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = to(receiver);
  datagram.data = data;
  // All of 127/8 is local; IPv6 loopback has one address only.
  datagram.source = GetParam().loopback == kLoopback6 ? kLoopback6 : Gid::from_ipv4(0x7F010203);
  datagram.source_ifindex = if_nametoindex("lo");
  ASSERT_EQ(sender.send(datagram).status, IoStatus::kDone);
  std::vector<std::byte> got;
  ReceivedDatagram info;
  ASSERT_EQ(receive_one(receiver, got, info).status, IoStatus::kDone);
  EXPECT_EQ(info.source.address, datagram.source);
}

TEST_P(UdpSocketOn, RefusesASourceAddressThatTheHostDoesNotHave) {
  const auto sender = open_socket(options());
  auto payload = pattern(8);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = to(sender);
  datagram.data = data;
  datagram.source = GetParam().loopback == kLoopback6 ? *parse_address("2001:db8::99")
                                                      : *parse_address("198.51.100.9");
  EXPECT_EQ(sender.send(datagram).status, IoStatus::kFailed);
}

TEST_P(UdpSocketOn, TellsSegmentSizeTrafficClassAndHopLimitInOneReceive) {
  const auto sender = open_socket(options());
  const auto receiver = open_socket(options());
  auto payload = pattern(4 * 512);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = to(receiver);
  datagram.data = data;
  datagram.source = GetParam().loopback;
  datagram.source_ifindex = if_nametoindex("lo");
  datagram.tos = 0x28;
  datagram.ttl = 3;
  datagram.segment_size = 512;
  ASSERT_EQ(sender.send(datagram).status, IoStatus::kDone);
  std::vector<std::byte> got;
  ReceivedDatagram info;
  ASSERT_EQ(receive_one(receiver, got, info).status, IoStatus::kDone);
  EXPECT_EQ(info.segment_size, 512);
  EXPECT_EQ(info.tos, 0x28);
  EXPECT_EQ(info.ttl, 3);
  EXPECT_EQ(info.destination, GetParam().loopback);
}

}  // namespace
}  // namespace weft::io::test
