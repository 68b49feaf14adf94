// SPDX-License-Identifier: Apache-2.0
// What is read of IP, ARP and neighbour discovery in datagrams of IPoIB.
#include <gtest/gtest.h>

#include "packets.h"
#include "service/fields.h"

namespace weft::service {
namespace {

using namespace test;

constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kIpv6 = 0x86DD;
constexpr std::uint16_t kArp = 0x0806;
constexpr std::uint16_t kMore = 0x2000;

Fields read_packet(std::uint16_t type, const Buffer& packet) {
  return Fields::parse(make(ipoib(type, packet)));
}
Problem problem(std::uint16_t type, const Buffer& packet) {
  const Fields fields = read_packet(type, packet);
  EXPECT_EQ(fields.content, Content::kIpoib);
  return fields.problem;
}

TEST(InnerIp, HasAddressesProtocolAndPorts) {
  const Fields fields = read_packet(kIpv4, ipv4(6, tcp(40'000, 22, 0x12)));
  EXPECT_EQ(fields.content, Content::kIpoib);
  EXPECT_EQ(fields.problem, Problem::kNone);
  EXPECT_EQ(fields.ip.version, 4);
  EXPECT_EQ(fields.ip.protocol, 6);
  EXPECT_TRUE(fields.ip.ports);
  EXPECT_EQ(fields.ip.source, Gid::from_ipv4(0x0A000001));
  EXPECT_EQ(fields.ip.destination, Gid::from_ipv4(0x0A000002));
  EXPECT_EQ(fields.ip.source_port, 40'000);
  EXPECT_EQ(fields.ip.destination_port, 22);
  EXPECT_EQ(fields.ip.tcp_flags, 0x12);
  EXPECT_EQ(fields.ip.hop_limit, 64);
  EXPECT_EQ(fields.ip.length, 40);
  EXPECT_FALSE(fields.ip.fragment || fields.ip.by_request);
  const Fields six = read_packet(kIpv6, ipv6(17, udp(5, 53)));
  EXPECT_EQ(six.ip.version, 6);
  EXPECT_EQ(six.ip.source, gid(0x11));
  EXPECT_EQ(six.ip.destination_port, 53);
}

TEST(InnerIp, IsReadWhateverTheReservedBytesOfTheEncapsulationAre) {
  Made made = ipoib(kIpv4, ipv4(6, tcp(1, 22)));
  made.payload[2] = std::byte{0xFF};
  EXPECT_EQ(Fields::parse(make(made)).ip.destination_port, 22);
}

TEST(InnerIp, OfAnotherEthertypeIsOpaque) {
  EXPECT_EQ(read_packet(0x1234, ipv4(6, tcp(1, 22))).content, Content::kOpaque);
}

TEST(InnerIp, RefusesLengthsThatDoNotFit) {
  EXPECT_EQ(problem(kIpv4, Buffer(19)), Problem::kIpLength);
  EXPECT_EQ(problem(kIpv6, Buffer(39)), Problem::kIpLength);
  Buffer packet = ipv4(6, tcp(1, 2));
  wire::store_be16(packet.data() + 2, 41);
  EXPECT_EQ(problem(kIpv4, packet), Problem::kIpLength);
  wire::store_be16(packet.data() + 2, 19);
  EXPECT_EQ(problem(kIpv4, packet), Problem::kIpLength);
  packet = ipv4(6, tcp(1, 2));
  wire::store_u8(packet.data(), 0x44);
  EXPECT_EQ(problem(kIpv4, packet), Problem::kIpLength);
  packet = ipv6(17, udp(1, 2));
  wire::store_be16(packet.data() + 4, 60);
  EXPECT_EQ(problem(kIpv6, packet), Problem::kIpLength);
}

TEST(InnerIp, RefusesAnotherVersionThanTheEthertypeSays) {
  EXPECT_EQ(problem(kIpv6, ipv4(6, Buffer(40))), Problem::kIpVersion);
  EXPECT_EQ(problem(kIpv4, ipv6(17, udp(1, 2))), Problem::kIpVersion);
}

TEST(InnerIp, IgnoresWhatStandsBehindItsLength) {
  Buffer packet = ipv4(6, tcp(1, 2));
  packet.resize(60);
  EXPECT_EQ(problem(kIpv4, packet), Problem::kNone);
  // And does not take it for a header.
  packet = ipv4(6, {});
  packet.resize(60);
  EXPECT_EQ(problem(kIpv4, packet), Problem::kTransportLength);
}

TEST(InnerIp, KnowsFragments) {
  const Fields first = read_packet(kIpv4, ipv4(6, tcp(1, 22), kMore));
  EXPECT_TRUE(first.ip.fragment && !first.ip.later_fragment && first.ip.ports);
  EXPECT_EQ(first.problem, Problem::kNone);
  const Fields later = read_packet(kIpv4, ipv4(6, tcp(1, 22), 100));
  EXPECT_TRUE(later.ip.fragment && later.ip.later_fragment && !later.ip.ports);
  EXPECT_EQ(later.ip.destination_port, 0);
  EXPECT_TRUE(first.ip.more_fragments && !later.ip.more_fragments);
  EXPECT_EQ(later.ip.fragment_offset, 800);
  EXPECT_EQ(later.problem, Problem::kNone);
}

TEST(InnerIp, NamesFragmentsThatHideWhatIsLookedAt) {
  EXPECT_EQ(problem(kIpv4, ipv4(6, Buffer(8), kMore)), Problem::kTinyFragment);
  EXPECT_EQ(problem(kIpv4, ipv4(6, Buffer(64), 1)), Problem::kTinyFragment);
  EXPECT_EQ(problem(kIpv4, ipv4(17, Buffer(4), kMore)), Problem::kTinyFragment);
  // IPv6: the fragment header, then destination options that go on in the next fragment.
  Buffer rest = hex("3c00 0001 00000001 0610 000000000000");
  EXPECT_EQ(problem(kIpv6, ipv6(44, rest)), Problem::kTinyFragment);
}

TEST(InnerIp, WalksExtensionHeaders) {
  Buffer rest = hex("3c00000000000000 2c00000000000000 0600 0001 00000007");
  const Buffer header = tcp(1, 22);
  rest.insert(rest.end(), header.begin(), header.end());
  const Fields fields = read_packet(kIpv6, ipv6(0, rest));
  EXPECT_EQ(fields.problem, Problem::kNone);
  EXPECT_EQ(fields.ip.protocol, 6);
  EXPECT_EQ(fields.ip.destination_port, 22);
  EXPECT_TRUE(fields.ip.fragment && fields.ip.more_fragments);
  EXPECT_EQ(fields.ip.identification, 7u);
  // An atomic fragment (RFC 6946) is whole.
  Buffer atomic = hex("0600 0000 00000007");
  atomic.insert(atomic.end(), header.begin(), header.end());
  EXPECT_FALSE(read_packet(kIpv6, ipv6(44, atomic)).ip.fragment);
  // Authentication headers count in words of four bytes.
  Buffer authentic = hex("0604 0000 00000001 00000001 000000000000000000000000");
  authentic.insert(authentic.end(), header.begin(), header.end());
  EXPECT_EQ(read_packet(kIpv6, ipv6(51, authentic)).ip.destination_port, 22);
}

TEST(InnerIp, NamesSourceRoutesAndWhatCannotBeWalked) {
  const Buffer lsrr = hex("8307040a00000300");
  EXPECT_EQ(problem(kIpv4, ipv4(6, tcp(1, 2), 0, lsrr)), Problem::kIpOptions);
  EXPECT_EQ(problem(kIpv4, ipv4(6, tcp(1, 2), 0, hex("0707040a 00000300"))), Problem::kNone);
  EXPECT_EQ(problem(kIpv4, ipv4(6, tcp(1, 2), 0, hex("07ff0401"))), Problem::kIpOptions);
  EXPECT_EQ(problem(kIpv4, ipv4(6, tcp(1, 2), 0, hex("01010107"))), Problem::kIpOptions);
  Buffer route = hex("0602 0001 00000000 00000000000000000000000000000000");
  const Buffer header = tcp(1, 2);
  route.insert(route.end(), header.begin(), header.end());
  EXPECT_EQ(problem(kIpv6, ipv6(43, route)), Problem::kIpOptions);
  Buffer many;
  for (int i = 0; i < 9; ++i) {
    const Buffer one = hex("3c00000000000000");
    many.insert(many.end(), one.begin(), one.end());
  }
  EXPECT_EQ(problem(kIpv6, ipv6(60, many)), Problem::kIpOptions);
  EXPECT_EQ(problem(kIpv6, ipv6(0, hex("06ff000000000000"))), Problem::kIpOptions);
}

TEST(InnerIp, NamesTransportHeadersThatAreCutShort) {
  EXPECT_EQ(problem(kIpv4, ipv4(6, Buffer(19))), Problem::kTransportLength);
  EXPECT_EQ(problem(kIpv4, ipv4(6, Buffer(20))), Problem::kTransportLength);  // of 0 words
  Buffer datagram = udp(1, 2);
  wire::store_be16(datagram.data() + 4, 13);
  EXPECT_EQ(problem(kIpv4, ipv4(17, datagram)), Problem::kTransportLength);
  EXPECT_EQ(problem(kIpv4, ipv4(1, hex("0800"))), Problem::kTransportLength);
}

TEST(InnerIp, ReadsIcmp) {
  const Fields fields = read_packet(kIpv4, ipv4(1, hex("0301000000000000")));
  EXPECT_EQ(fields.ip.icmp_type, 3);
  EXPECT_EQ(fields.ip.icmp_code, 1);
  EXPECT_FALSE(fields.ip.ports);
}

TEST(InnerArp, HasQueuePairsAndGids) {
  Buffer message = hex("0020 0800 14 04 0001");
  const auto add = [&message](std::string_view more) {
    const Buffer some = hex(more);
    message.insert(message.end(), some.begin(), some.end());
  };
  add("80000048 fe800000000000000000000000000001 0a000001");
  add("00000049 fe800000000000000000000000000002 0a000002");
  const Fields fields = read_packet(kArp, message);
  ASSERT_EQ(fields.problem, Problem::kNone);
  EXPECT_EQ(fields.arp.operation, 1);
  EXPECT_EQ(fields.arp.sender, Gid::from_ipv4(0x0A000001));
  EXPECT_EQ(fields.arp.target, Gid::from_ipv4(0x0A000002));
  EXPECT_EQ(fields.arp.sender_qp, Qpn{0x48});
  EXPECT_EQ(fields.arp.sender_gid, gid(1));
  EXPECT_EQ(fields.arp.target_qp, Qpn{0x49});
  EXPECT_EQ(fields.arp.target_gid, gid(2));
  EXPECT_EQ(fields.arp.sender_at, fields.payload_at + 4 + 8);
  message.pop_back();
  EXPECT_EQ(problem(kArp, message), Problem::kArp);
}

TEST(InnerArp, ReadsNeighbourDiscovery) {
  Buffer message = hex("87000000 00000000");
  const auto add = [&message](std::string_view more) {
    const Buffer some = hex(more);
    message.insert(message.end(), some.begin(), some.end());
  };
  add("fe800000000000000000000000000002");
  add("0103 0000 80000048 fe800000000000000000000000000001");
  const Fields fields = read_packet(kIpv6, ipv6(58, message));
  ASSERT_EQ(fields.problem, Problem::kNone);
  EXPECT_EQ(fields.arp.operation, 135);
  EXPECT_EQ(fields.arp.sender, gid(0x11));
  EXPECT_EQ(fields.arp.target, gid(2));
  EXPECT_EQ(fields.arp.sender_qp, Qpn{0x48});
  EXPECT_EQ(fields.arp.sender_gid, gid(1));
  const Buffer packet = make(ipoib(kIpv6, ipv6(58, message)));
  EXPECT_EQ(wire::load_be24(packet.data() + fields.arp.sender_at + 1), 0x48u);
  EXPECT_EQ(fields.arp.target_at, 0);
  wire::store_u8(message.data() + 25, 4);  // an option that is longer than the message
  EXPECT_EQ(problem(kIpv6, ipv6(58, message)), Problem::kTransportLength);
}

}  // namespace
}  // namespace weft::service
