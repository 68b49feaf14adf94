// SPDX-License-Identifier: Apache-2.0
// Datagrams, segments, groups and failures of UDP sockets, on real ones. Addresses and header
// fields are in udp_socket_headers_test.cc.
#include "io/udp_socket.h"

#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "udp_socket_fixture.h"

namespace weft::io::test {
namespace {

// Linux gives lo no route for IPv6 multicast, so those tests need another interface. They use
// groups of interface-local scope, which never leave the host.
unsigned ipv6_multicast_interface() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return 0;
  unsigned index = 0;
  for (const ifaddrs* entry = list; entry != nullptr && index == 0; entry = entry->ifa_next) {
    constexpr unsigned kWanted = IFF_UP | IFF_RUNNING | IFF_MULTICAST;
    const bool ipv6 = entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == AF_INET6;
    if (ipv6 && (entry->ifa_flags & kWanted) == kWanted) index = if_nametoindex(entry->ifa_name);
  }
  freeifaddrs(list);
  return index;
}

INSTANTIATE_TEST_SUITE_P(Paths, UdpSocketOn, every_path(), path_name);

TEST_P(UdpSocketOn, CarriesADatagramFromAGatherListAndNamesItsSource) {
  const auto sender = open_socket(options());
  const auto receiver = open_socket(options());
  auto head = pattern(12);
  auto tail = pattern(100);
  const std::array<iovec, 2> data{vec(head), vec(tail)};
  SendDatagram datagram;
  datagram.destination = to(receiver);
  datagram.data = data;
  const IoResult sent = sender.send(datagram);
  ASSERT_EQ(sent.status, IoStatus::kDone);
  EXPECT_EQ(sent.bytes, 112u);

  std::vector<std::byte> got;
  ReceivedDatagram info;
  ASSERT_EQ(receive_one(receiver, got, info).status, IoStatus::kDone);
  head.insert(head.end(), tail.begin(), tail.end());
  EXPECT_EQ(got, head);
  EXPECT_EQ(info.source, (SocketAddress{GetParam().loopback, sender.port(), 0}));
  EXPECT_EQ(info.destination, GetParam().loopback);
  EXPECT_EQ(info.ifindex, if_nametoindex("lo"));
  EXPECT_EQ(info.segment_size, 0);
  EXPECT_EQ(info.overflows, 0u);
  EXPECT_FALSE(info.truncated);
}

TEST_P(UdpSocketOn, CutsOneSendIntoSegmentsAndReceivesThemInOneCall) {
  const auto sender = open_socket(options());
  const auto receiver = open_socket(options());
  ASSERT_TRUE(receiver.gro());
  auto payload = pattern(30 * 2048 + 77);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = to(receiver);
  datagram.data = data;
  datagram.segment_size = 2048;
  ASSERT_EQ(sender.send(datagram).bytes, payload.size());

  std::vector<std::byte> got;
  ReceivedDatagram info;
  ASSERT_EQ(receive_one(receiver, got, info).status, IoStatus::kDone);
  EXPECT_EQ(info.segment_size, 2048);
  EXPECT_EQ(got, payload);
  EXPECT_TRUE(nothing_to_receive(receiver));
}

TEST_P(UdpSocketOn, SendsSegmentsThatAPlainReceiverSeesAsSeparateDatagrams) {
  const auto sender = open_socket(options());
  const auto receiver = open_socket(options());
  const int off = 0;
  ASSERT_EQ(setsockopt(receiver.fd(), SOL_UDP, UDP_GRO, &off, sizeof off), 0);
  auto payload = pattern(2 * 1000 + 10);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = to(receiver);
  datagram.data = data;
  datagram.segment_size = 1000;
  ASSERT_EQ(sender.send(datagram).status, IoStatus::kDone);
  for (const std::size_t size : {1000u, 1000u, 10u}) {
    std::vector<std::byte> got;
    ReceivedDatagram info;
    ASSERT_EQ(receive_one(receiver, got, info).status, IoStatus::kDone);
    EXPECT_EQ(got.size(), size);
    EXPECT_EQ(info.segment_size, 0);
  }
}

TEST_P(UdpSocketOn, CountsDatagramsLostToAFullReceiveBuffer) {
  auto wanted = options();
  wanted.receive_buffer = 8192;
  const auto sender = open_socket(options());
  const auto receiver = open_socket(wanted);
  auto payload = pattern(1000);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = to(receiver);
  datagram.data = data;
  constexpr std::uint32_t kSent = 100;
  for (std::uint32_t i = 0; i < kSent; ++i)
    ASSERT_EQ(sender.send(datagram).status, IoStatus::kDone);
  std::vector<std::byte> got;
  ReceivedDatagram info;
  std::uint32_t received = 0;
  while (!nothing_to_receive(receiver))
    ++received;
  ASSERT_EQ(sender.send(datagram).status, IoStatus::kDone);  // carries the count
  ASSERT_EQ(receive_one(receiver, got, info).status, IoStatus::kDone);
  EXPECT_GT(info.overflows, 0u);
  EXPECT_EQ(info.overflows, kSent - received);
}

TEST_P(UdpSocketOn, SaysWhenTheBufferWasTooSmall) {
  const auto sender = open_socket(options());
  const auto receiver = open_socket(options());
  auto payload = pattern(100);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = to(receiver);
  datagram.data = data;
  ASSERT_EQ(sender.send(datagram).status, IoStatus::kDone);
  std::array<std::byte, 60> small;
  ReceivedDatagram info;
  const IoResult result = receiver.receive(small, info);
  EXPECT_EQ(result.status, IoStatus::kDone);
  EXPECT_EQ(result.bytes, 60u);
  EXPECT_TRUE(info.truncated);
}

TEST_P(UdpSocketOn, DeliversAGroupOnlyToSocketsThatJoinedIt) {
  auto wanted = options();
  wanted.reuse_address = true;
  wanted.only_joined_groups = true;
  const auto member = open_socket(wanted);
  wanted.local.port = member.port();
  const auto second_member = open_socket(wanted);
  const auto stranger = open_socket(wanted);
  const auto sender = open_socket(options());
  const bool ipv6 = GetParam().loopback == kLoopback6;
  const unsigned interface = ipv6 ? ipv6_multicast_interface() : if_nametoindex("lo");
  if (interface == 0) GTEST_SKIP() << "no interface here carries IPv6 multicast";
  const Gid group = ipv6 ? *parse_address("ff11::5745:4654") : *parse_address("239.87.70.84");
  for (const auto* socket : {&member, &second_member}) {
    const auto joined = socket->join(group, interface);
    ASSERT_TRUE(joined.has_value()) << joined.error().message;
  }
  // A socket that is in some other group must still not hear this one.
  const Gid other = ipv6 ? *parse_address("ff11::1234") : *parse_address("239.1.1.1");
  ASSERT_TRUE(stranger.join(other, interface).has_value());
  ASSERT_TRUE(sender.set_multicast_interface(interface).has_value());
  ASSERT_TRUE(sender.set_multicast_hops(9).has_value());
  ASSERT_TRUE(sender.set_multicast_loop(true).has_value());

  auto payload = pattern(64);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = {group, member.port(), 0};
  datagram.data = data;
  ASSERT_EQ(sender.send(datagram).status, IoStatus::kDone);
  for (const auto* socket : {&member, &second_member}) {
    std::vector<std::byte> got;
    ReceivedDatagram info;
    ASSERT_EQ(receive_one(*socket, got, info).status, IoStatus::kDone);
    EXPECT_EQ(got, payload);
    EXPECT_EQ(info.destination, group);
    EXPECT_EQ(info.ifindex, interface);
    EXPECT_EQ(info.ttl, 9);
    EXPECT_TRUE(nothing_to_receive(*socket));  // one copy each
  }
  EXPECT_TRUE(nothing_to_receive(stranger));

  ASSERT_TRUE(member.leave(group, interface).has_value());
  ASSERT_EQ(sender.send(datagram).status, IoStatus::kDone);
  EXPECT_TRUE(nothing_to_receive(member));
  EXPECT_FALSE(member.leave(group, interface).has_value());
}

TEST_P(UdpSocketOn, SaysWhenTheReceiverHasNothing) {
  EXPECT_TRUE(nothing_to_receive(open_socket(options())));
}

TEST_P(UdpSocketOn, TakesNothingWhenDeafButIsToldWhatBecameOfWhatItSent) {
  UdpOptions wanted = options();
  wanted.deaf = true;
  wanted.tell_errors = true;
  const auto deaf = open_socket(wanted);
  const auto other = open_socket(options());
  auto payload = pattern(20);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.data = data;
  datagram.destination = to(deaf);
  ASSERT_EQ(other.send(datagram).status, IoStatus::kDone);
  pollfd ready{deaf.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 0), 0);
  EXPECT_TRUE(nothing_to_receive(deaf));

  datagram.destination = to(open_socket(options()));  // which is closed again
  ASSERT_EQ(deaf.send(datagram).status, IoStatus::kDone);
  ASSERT_EQ(poll(&ready, 1, 5000), 1);
  EXPECT_EQ(ready.revents, POLLERR);
  std::vector<std::byte> quote(64);
  DeliveryError error;
  const IoResult result = deaf.receive_error(quote, error);
  ASSERT_EQ(result.status, IoStatus::kDone);
  EXPECT_EQ(error.reason, DeliveryError::Reason::kPortUnreachable);
  EXPECT_EQ(error.destination, datagram.destination);
  EXPECT_EQ(result.bytes, payload.size());
  EXPECT_EQ(poll(&ready, 1, 0), 0);
}

TEST_P(UdpSocketOn, TellsARefusedSegmentationFromOtherFailures) {
  const auto sender = open_socket(options());
  auto payload = pattern(1000);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = to(sender);
  datagram.data = data;
  datagram.segment_size = 100;
  // A socket told to send without checksums cannot have its datagrams cut: the same answer as from
  // a device without checksum offload.
  const int on = 1;
  const int level = GetParam().loopback == kLoopback6 ? SOL_UDP : SOL_SOCKET;
  const int name = GetParam().loopback == kLoopback6 ? UDP_NO_CHECK6_TX : SO_NO_CHECK;
  ASSERT_EQ(setsockopt(sender.fd(), level, name, &on, sizeof on), 0);
  EXPECT_EQ(sender.send(datagram).status, IoStatus::kSegmentationRefused);
  datagram.segment_size = 0;
  EXPECT_EQ(sender.send(datagram).status, IoStatus::kDone);
  payload.resize(kUdpReceiveBuffer + 1000);
  const std::array<iovec, 1> too_long{vec(payload)};
  datagram.data = too_long;
  const IoResult failed = sender.send(datagram);
  EXPECT_EQ(failed.status, IoStatus::kFailed);
  EXPECT_EQ(failed.error, std::errc::message_size);
}

TEST(UdpSocket, HearsBothFamiliesOnOnePort) {
  const auto receiver = open_socket();
  EXPECT_TRUE(receiver.carries_ipv6());
  const auto sender = open_socket();
  auto payload = pattern(8);
  const std::array<iovec, 1> data{vec(payload)};
  for (const Gid& address : {kLoopback4, kLoopback6}) {
    SendDatagram datagram;
    datagram.destination = {address, receiver.port(), 0};
    datagram.data = data;
    ASSERT_EQ(sender.send(datagram).status, IoStatus::kDone);
    std::vector<std::byte> got;
    ReceivedDatagram info;
    ASSERT_EQ(receive_one(receiver, got, info).status, IoStatus::kDone);
    EXPECT_EQ(info.destination, address);
    EXPECT_EQ(info.source.address, address);
  }
}

TEST(UdpSocket, NamesWhatFailedAndWhere) {
  const auto first = open_socket();
  UdpOptions options;
  options.local.port = first.port();
  const auto second = UdpSocket::open(options);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, std::errc::address_in_use);
  EXPECT_EQ(second.error().message,
            "bind [::]:" + std::to_string(first.port()) + ": Address already in use");
}

TEST(UdpSocket, RefusesIpv6OnAnIpv4SocketAndMixedFamilies) {
  UdpOptions options;
  options.ipv4_only = true;
  const auto v4 = open_socket(options);
  auto payload = pattern(8);
  const std::array<iovec, 1> data{vec(payload)};
  SendDatagram datagram;
  datagram.destination = {kLoopback6, v4.port(), 0};
  datagram.data = data;
  EXPECT_EQ(v4.send(datagram).error, std::errc::address_family_not_supported);
  datagram.destination.address = kLoopback4;
  datagram.source = kLoopback6;
  EXPECT_EQ(open_socket().send(datagram).error, std::errc::address_family_not_supported);
  EXPECT_FALSE(v4.join(*parse_address("ff12::1"), 1).has_value());
  options.local.address = kLoopback6;
  EXPECT_FALSE(UdpSocket::open(options).has_value());
}

TEST(UdpSocket, GrantsTheBufferThatIsAskedForInTheUnitsThatItReports) {
  UdpOptions options;
  options.receive_buffer = 150'000;
  options.send_buffer = 120'000;
  const auto socket = open_socket(options);
  EXPECT_EQ(socket.granted_receive_buffer(), 150'000u);
  EXPECT_EQ(socket.granted_send_buffer(), 120'000u);
}

TEST(UdpSocket, NeverFragmentsADatagramLargerThanTheLinkMtu) {
  // Only loopback is sure to be there; its MTU of 65536 lets no UDP payload be too long, so look
  // at the setting itself.
  const auto socket = open_socket();
  int value = -1;
  socklen_t length = sizeof value;
  ASSERT_EQ(getsockopt(socket.fd(), IPPROTO_IP, IP_MTU_DISCOVER, &value, &length), 0);
  EXPECT_EQ(value, IP_PMTUDISC_DO);
  ASSERT_EQ(getsockopt(socket.fd(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, &value, &length), 0);
  EXPECT_EQ(value, IPV6_PMTUDISC_DO);
}

}  // namespace
}  // namespace weft::io::test
