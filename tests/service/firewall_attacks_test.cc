// SPDX-License-Identifier: Apache-2.0
// Tricks with fragments, parts and sizes, and what sort of traffic a packet is taken for. The table
// of attacks in docs/firewall.md has a row for each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "firewall_world.h"
#include "lan/lan_header.h"
#include "service/firewall/packet_key.h"
#include "wire/raw_header.h"

namespace weft::service::firewall {
namespace {

constexpr std::uint16_t kFirewallAttacksIpv4 = 0x0800;
constexpr std::uint16_t kIpv6 = 0x86DD;
constexpr std::uint16_t kMore = 0x2000;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kFragmentHeader = 44;

Made over_ipoib(std::uint16_t type, const Buffer& ip) {
  Made made = test::ipoib(type, ip);
  made.deth.qkey = kIpoibQKey;
  return made;
}

// The first fragment of a datagram of 32 bytes.
Made first_fragment(std::uint16_t port) {
  Buffer whole = test::udp(9, port, 8);
  wire::store_be16(whole.data() + 4, 32);
  return over_ipoib(kFirewallAttacksIpv4, test::ipv4(kUdp, whole, kMore));
}
Made later_fragment() {
  return over_ipoib(kFirewallAttacksIpv4, test::ipv4(kUdp, Buffer(16), 2));
}

TEST(FirewallAttacks, EachFirstFragmentIsJudgedByItsOwnPorts) {
  World world("ct state established accept\nudp dport 53 accept");
  ASSERT_TRUE(world.passes(first_fragment(53)));
  // With the number of a packet that was let through.
  EXPECT_FALSE(world.passes(first_fragment(54)));
}

TEST(FirewallAttacks, ALaterFragmentFollowsTheFirstOfItsOwnPacketOnly) {
  World world("ct state established accept\nudp dport 53 accept");
  ASSERT_TRUE(world.passes(first_fragment(53)));
  const auto changed = [](std::size_t at, std::uint16_t value) {
    Made made = later_fragment();
    wire::store_be16(made.payload.data() + 4 + at, value);
    return made;
  };
  EXPECT_EQ(world.decide(changed(4, 7)).doubt, Doubt::later_fragment);       // another number
  EXPECT_EQ(world.decide(changed(8, 0x4006)).doubt, Doubt::later_fragment);  // protocol
  EXPECT_EQ(world.decide(changed(14, 3)).doubt, Doubt::later_fragment);      // source
  EXPECT_EQ(world.decide(changed(18, 3)).doubt, Doubt::later_fragment);      // destination
  Made partition = later_fragment();
  partition.bth.pkey = PKey{0x8005};
  EXPECT_EQ(world.decide(partition).doubt, Doubt::later_fragment);
  EXPECT_TRUE(world.passes(later_fragment()));
}

// A fragment of IPv6: its header, and what is in it.
Made fragment6(std::uint8_t next, std::uint16_t offset_and_more, const Buffer& rest) {
  Buffer body(8);
  wire::store_u8(body.data(), next);
  wire::store_be16(body.data() + 2, offset_and_more);
  wire::store_be32(body.data() + 4, 0x77);
  body.insert(body.end(), rest.begin(), rest.end());
  return over_ipoib(kIpv6, test::ipv6(kFragmentHeader, body));
}

TEST(FirewallAttacks, FragmentsOfIpv6HideOrRewriteNoPortsEither) {
  World world("ct state established accept\ntcp dport 22 accept");
  const Buffer segment = test::tcp(1, 22);
  EXPECT_EQ(world.decide(fragment6(kTcp, 16 << 3, Buffer(16))).doubt, Doubt::later_fragment);
  // The ports are in the second one.
  EXPECT_EQ(world.decide(fragment6(kTcp, 1, Buffer(segment.begin(), segment.begin() + 8))).doubt,
            Doubt::content);
  ASSERT_TRUE(world.passes(fragment6(kTcp, 1, segment)));
  // It would be written over the flags.
  EXPECT_EQ(world.decide(fragment6(kTcp, 1 << 3 | 1, Buffer(16))).doubt, Doubt::content);
  // Over the ports, which an extension header has moved back.
  constexpr std::uint8_t kDestinationOptions = 60;
  EXPECT_EQ(world.decide(fragment6(kDestinationOptions, 1 << 3 | 1, Buffer(16))).doubt,
            Doubt::later_fragment);
  // A fragment within a fragment.
  Buffer nested(8);
  wire::store_u8(nested.data(), kTcp);
  nested.insert(nested.end(), segment.begin(), segment.end());
  EXPECT_EQ(world.decide(fragment6(kFragmentHeader, 1, nested)).doubt, Doubt::content);
  EXPECT_TRUE(world.passes(fragment6(kTcp, 4 << 3, Buffer(16))));
}

Made part_of_frame(Bytes part, std::uint32_t total, std::uint32_t offset) {
  Buffer message(lan::LanHeader::kSize);
  lan::LanHeader{.number = 5, .total = total, .offset = offset}.write(message);
  message.insert(message.end(), part.begin(), part.end());
  return test::datagram(message);
}

Buffer frame_to(std::uint16_t port) {
  Buffer out = test::hex("02574c000002 02574c000001 0800");
  Buffer segment = test::tcp(7, port);
  segment.resize(164);
  const Buffer packet = test::ipv4(kTcp, segment);
  out.insert(out.end(), packet.begin(), packet.end());
  return out;
}

TEST(FirewallAttacks, ALaterPartOfAFrameFollowsItsOwnSenderOnly) {
  World world("ct state established accept\ntcp dport 80 accept");
  const Buffer whole = frame_to(80);
  const auto total = static_cast<std::uint32_t>(whole.size());
  ASSERT_TRUE(world.passes(part_of_frame(Bytes(whole).first(96), total, 0)));
  Made other = part_of_frame(Bytes(whole).subspan(96), total, 96);
  other.slid = Lid{7};
  EXPECT_EQ(world.decide(other).doubt, Doubt::later_fragment);
  other.slid = Lid{1};
  other.deth.src_qp = Qpn{0x43};
  EXPECT_EQ(world.decide(other).doubt, Doubt::later_fragment);
  other.deth.src_qp = Qpn{0x42};
  other.bth.pkey = PKey{0x8005};
  EXPECT_EQ(world.decide(other).doubt, Doubt::later_fragment);
  other.bth.pkey = kDefaultPKey;
  EXPECT_TRUE(world.passes(other));
}

TEST(FirewallAttacks, AFirstPartOfAFrameThatEndsBeforeThePortsIsInDoubt) {
  World world("accept");
  const Buffer whole = frame_to(80);
  const auto total = static_cast<std::uint32_t>(whole.size());
  for (const std::size_t size : {8u, 16u, 32u, 40u, 48u}) {
    // That of the LAN's group: else it would be taken for a program's.
    Made part = part_of_frame(Bytes(whole).first(size), total, 0);
    part.deth.qkey = kLanGroupQKey;
    EXPECT_EQ(world.decide(part).doubt, Doubt::content) << size;
  }
  Made enough = part_of_frame(Bytes(whole).first(56), total, 0);
  enough.deth.qkey = kLanGroupQKey;
  EXPECT_TRUE(world.passes(enough));
}

TEST(FirewallAttacks, RefusesMorePayloadThanTheLargestMtu) {
  World world("accept", "accept");
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  Made data = exchange.data();
  data.payload.resize(4096);
  EXPECT_TRUE(world.passes(data));
  data.payload.resize(4100);
  EXPECT_EQ(world.decide(data).doubt, Doubt::oversize);
  EXPECT_FALSE(world.passes(data));
  EXPECT_EQ(world.decide(test::datagram(Buffer(5000))).doubt, Doubt::oversize);
}

TEST(FirewallAttacks, ARequestComesFromALidThatOnePortHas) {
  World world("accept");
  for (const unsigned lid : {0x0000u, 0xC000u, 0xC123u, 0xFFFFu}) {
    Exchange exchange;
    exchange.a = Lid{static_cast<std::uint16_t>(lid)};
    EXPECT_EQ(world.decide(exchange.req()).doubt, Doubt::cm_forged) << lid;
  }
  EXPECT_EQ(world.firewall.connections(), 0u);
}

Buffer raw_packet(wire::Lnh next, std::uint16_t type, const Buffer& inner) {
  const std::size_t head = next == wire::Lnh::raw ? wire::RawHeader::kSize : 0;
  Buffer out(wire::Lrh::kSize + head + inner.size() + wire::kVcrcSize);
  wire::Lrh{.next_header = next,
            .dlid = Lid{2},
            .packet_words = static_cast<std::uint16_t>((out.size() - wire::kVcrcSize) / 4),
            .slid = Lid{1}}
      .write(out);
  if (head != 0) {
    wire::RawHeader{.ether_type = type}.write(MutableBytes(out).subspan(wire::Lrh::kSize));
  }
  std::copy(inner.begin(), inner.end(), out.begin() + static_cast<long>(wire::Lrh::kSize + head));
  return out;
}

struct Sort {
  const char* keyword;
  const char* name;
  Buffer packet;
};

Buffer of_opcode(wire::Opcode opcode) {
  return test::make(Exchange{}.data(false, opcode));
}

Buffer of_opcode(std::uint8_t opcode) {
  Buffer out = test::make(Exchange{}.data());
  out[wire::Lrh::kSize + wire::Grh::kSize] = std::byte{opcode};
  wire::seal_link_packet(out);
  return out;
}

std::vector<Sort> sorts() {
  using wire::Opcode;
  const Buffer ip = test::ipv4(kUdp, test::udp(1, 2));
  const Buffer ip6 = test::ipv6(kUdp, test::udp(1, 2));
  const Buffer whole = frame_to(80);
  Buffer perf(wire::kMadSize);
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kPerf, .class_version = 1}.write(perf);
  Made mad = test::datagram(std::move(perf), kQp1);
  mad.deth = {.qkey = kGsiQKey, .src_qp = kQp1};
  return {
      {"connected", "RC SEND", of_opcode(Opcode::rc_send_only)},
      {"connected", "RDMA WRITE", of_opcode(Opcode::rc_write_only)},
      {"connected", "RDMA READ", of_opcode(Opcode::rc_read_request)},
      {"connected", "UC", of_opcode(Opcode::uc_send_only)},
      {"connected", "XRC", of_opcode(std::uint8_t{0xA4})},
      {"datagram", "UD", test::make(test::datagram(Buffer(64)))},
      {"mad", "MAD", test::make(mad)},
      {"cm", "CM", test::make(Exchange{}.req())},
      {"ipoib", "IPoIB", test::make(over_ipoib(kFirewallAttacksIpv4, ip))},
      {"lan", "LAN", test::make(part_of_frame(whole, static_cast<std::uint32_t>(whole.size()), 0))},
      {"raw", "raw IPv6", raw_packet(wire::Lnh::raw_ipv6, 0, ip6)},
      {"raw", "raw IPv4", raw_packet(wire::Lnh::raw, kFirewallAttacksIpv4, ip)},
      {"opaque", "raw of another EtherType", raw_packet(wire::Lnh::raw, 0x88CC, ip)},
      {"opaque", "RD", of_opcode(Opcode::rd_send_only)},
      {"opaque", "CNP", of_opcode(std::uint8_t{0x81})},
      {"opaque", "manufacturer's", of_opcode(std::uint8_t{0xC1})},
      {"opaque", "reserved", of_opcode(std::uint8_t{0x1F})},
  };
}

TEST(FirewallAttacks, EachSortOfTrafficPassesByItsOwnKeyword) {
  for (const char* const keyword :
       {"connected", "datagram", "mad", "cm", "ipoib", "lan", "sdp", "raw", "opaque"}) {
    World world(fmt::format("ct state new,established,none,untracked traffic {} accept", keyword));
    for (const Sort& sort : sorts()) {
      const bool own = std::string_view(sort.keyword) == keyword;
      // "mad" has "cm" in it.
      const bool within =
          std::string_view(sort.keyword) == "cm" && std::string_view(keyword) == "mad";
      EXPECT_EQ(world.passes(sort.packet), own || within) << sort.name << " by " << keyword;
    }
  }
}

TEST(FirewallAttacks, ConnectionsOfSdpHaveTheirOwnKeyword) {
  World world("traffic cm accept\ntraffic sdp accept");
  Exchange exchange;
  exchange.service = wire::ServiceId{0x1'0016};
  // A hello message, of which the firewall reads addresses and ports.
  ASSERT_TRUE(world.connects(exchange));
  EXPECT_EQ(world.decide(exchange.data()).traffic, Traffic::sdp);
  EXPECT_TRUE(world.passes(exchange.data()));
  Exchange other;
  other.a_id = 0x51;
  other.a_qp = Qpn{0xA5};
  other.b_qp = Qpn{0xB5};
  ASSERT_TRUE(world.connects(other));
  EXPECT_EQ(world.decide(other.data()).traffic, Traffic::connected);
  EXPECT_FALSE(world.passes(other.data()));
}

}  // namespace
}  // namespace weft::service::firewall
