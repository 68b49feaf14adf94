// SPDX-License-Identifier: Apache-2.0
// ARP and neighbour discovery of IPoIB between two ends that do not see each other's QP numbers.
#include "runtime_fixture.h"

namespace weft::service::test {
namespace {

using enum RuntimeCounter;

constexpr Qpn kMapperNeighboursQpA{0xAAA};
constexpr Qpn kMapperNeighboursQpB{0xBBB};
constexpr QKey kIpoib{0xB1B};
constexpr std::uint16_t kArp = 0x0806;
constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kIpv6 = 0x86DD;
constexpr std::size_t kBeforeSender = 8;  // in ARP
constexpr std::size_t kBeforeTarget = 32;

struct Address {
  Qpn qpn{};
  Gid gid{};
};

class Neighbours : public RuntimeTest {
 protected:
  Neighbours() {
    runtime->set_chain(kService, {.map_queue_pairs = true});
    runtime->pin_path(a, {.dlid = kA, .slid = kService});
    runtime->pin_path(b, {.dlid = kB, .slid = kService});
    runtime->pin_path(group, {.dlid = Lid{0xC001}});
  }

  static void put(Buffer& message, std::size_t at, const Address& address) {
    wire::store_be32(message.data() + at, address.qpn.value());
    wire::store_gid(message.data() + at + 4, address.gid);
  }
  static Buffer arp(std::uint16_t operation, const Address& sender, const Address& target = {}) {
    Buffer message = hex("0020 0800 14 04 0000");
    message.resize(56);
    wire::store_be16(message.data() + 6, operation);
    put(message, kBeforeSender, sender);
    put(message, kBeforeTarget, target);
    wire::store_be32(message.data() + 28, 0x0A000001);
    wire::store_be32(message.data() + 52, 0x0A000002);
    return message;
  }
  // Of neighbour discovery, with one option; its checksum is right.
  static Buffer neighbour(std::uint8_t type, std::size_t options, std::uint8_t option,
                          const Address& address) {
    Buffer message(options + 24);
    wire::store_u8(message.data(), type);
    wire::store_u8(message.data() + options, option);
    wire::store_u8(message.data() + options + 1, 3);
    put(message, options + 4, address);
    Buffer packet = ipv6(58, message);
    wire::store_be16(packet.data() + 42, checksum_of(packet));
    return packet;
  }
  // RFC 4443, 2.3; 0 where the one that it has is right.
  static std::uint16_t checksum_of(Bytes packet) {
    Buffer all(packet.begin() + 8, packet.begin() + 40);  // both addresses
    all.resize(40);
    wire::store_be32(all.data() + 32, static_cast<std::uint32_t>(packet.size() - 40));
    wire::store_u8(all.data() + 39, 58);
    all.insert(all.end(), packet.begin() + 40, packet.end());
    return wire::internet_checksum(all);
  }
  static Made over_ipoib(std::uint16_t type, const Buffer& packet, Qpn from, Qpn to) {
    Made made = ipoib(type, packet);
    made.bth.dest_qp = to;
    made.deth = {.qkey = kIpoib, .src_qp = from};
    return made;
  }
  Made to_all(Made made) const {
    made.bth.dest_qp = kMulticastQpn;
    made.gids->second = group;
    return made;
  }
  Fields seen(const Made& made) {
    const Buffer packet = through(made);
    if (packet.empty()) return {};
    EXPECT_TRUE(wire::check_link_crcs(packet).good());
    last = packet;
    return Fields::parse(last);
  }
  // A asks all, and B learns this of it.
  Address ask() {
    const Fields at_b = seen(to_all(from_a(
        over_ipoib(kArp, arp(1, {kMapperNeighboursQpA, a}), kMapperNeighboursQpA, kMulticastQpn))));
    EXPECT_EQ(at_b.arp.sender_gid, a);
    EXPECT_EQ(at_b.arp.sender_qp, at_b.source_qp);
    EXPECT_EQ(at_b.arp.target_qp, Qpn{}) << "nobody knows it yet";
    return {at_b.arp.sender_qp, at_b.arp.sender_gid};
  }

  const Gid group{{0xFF, 0x12, 0x40, 0x1B}};
  Buffer last;
};

TEST_F(Neighbours, TellEachOtherNumbersThatTheyCanSendTo) {
  const Address a_for_b = ask();
  EXPECT_NE(a_for_b.qpn, kMapperNeighboursQpA);
  EXPECT_EQ(count(kIcrcAnew), 1u);
  const Fields at_a = seen(from_b(over_ipoib(kArp, arp(2, {kMapperNeighboursQpB, b}, a_for_b),
                                             kMapperNeighboursQpB, a_for_b.qpn)));
  EXPECT_EQ(at_a.dest_qp, kMapperNeighboursQpA);
  EXPECT_EQ(at_a.arp.target_qp, kMapperNeighboursQpA) << "A's own one";
  const Qpn b_for_a = at_a.arp.sender_qp;
  EXPECT_NE(b_for_a, kMapperNeighboursQpB);
  EXPECT_EQ(b_for_a, at_a.source_qp);
  EXPECT_EQ(count(kIcrcAnew), 2u);
  // And so they do.
  const Buffer ping = ipv4(1, Buffer(8));
  EXPECT_EQ(seen(from_a(over_ipoib(kIpv4, ping, kMapperNeighboursQpA, b_for_a))).dest_qp,
            kMapperNeighboursQpB);
  EXPECT_EQ(seen(from_b(over_ipoib(kIpv4, ping, kMapperNeighboursQpB, a_for_b.qpn))).dest_qp,
            kMapperNeighboursQpA);
  // A looks whether B is still there: to it alone, and by what it knows of it.
  const Fields probe = seen(from_a(over_ipoib(kArp, arp(1, {kMapperNeighboursQpA, a}, {b_for_a, b}),
                                              kMapperNeighboursQpA, b_for_a)));
  EXPECT_EQ(probe.arp.target_qp, kMapperNeighboursQpB);
  EXPECT_EQ(probe.arp.sender_qp, probe.source_qp);
  EXPECT_NE(probe.arp.sender_qp, kMapperNeighboursQpA);
}

TEST_F(Neighbours, AreMappedThoughTheRestOfTheirFlowIsKnown) {
  const Address a_for_b = ask();
  const Made data =
      from_b(over_ipoib(kIpv4, ipv4(1, Buffer(8)), kMapperNeighboursQpB, a_for_b.qpn));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(seen(data).dest_qp, kMapperNeighboursQpA);
  EXPECT_GT(count(kForwardedByFlow), 0u);
  const Fields at_a = seen(from_b(over_ipoib(kArp, arp(2, {kMapperNeighboursQpB, b}, a_for_b),
                                             kMapperNeighboursQpB, a_for_b.qpn)));
  EXPECT_EQ(at_a.arp.sender_qp, at_a.source_qp);
  EXPECT_EQ(at_a.arp.target_qp, kMapperNeighboursQpA);
}

TEST_F(Neighbours, TellTheirOwnAddressWhereverItStands) {
  const Fields announced = seen(
      to_all(from_a(over_ipoib(kArp, arp(1, {kMapperNeighboursQpA, a}, {kMapperNeighboursQpA, a}),
                               kMapperNeighboursQpA, kMulticastQpn))));
  EXPECT_EQ(announced.arp.sender_qp, announced.source_qp);
  EXPECT_EQ(announced.arp.target_qp, announced.source_qp);
}

TEST_F(Neighbours, AreDiscoveredWithChecksumsThatAreRight) {
  struct Message {
    std::uint8_t type;
    std::size_t options;
    std::uint8_t option;
  };
  for (const Message& message :
       {Message{133, 8, 1}, Message{134, 16, 1}, Message{135, 24, 1}, Message{136, 24, 2}}) {
    const Buffer packet =
        neighbour(message.type, message.options, message.option, {kMapperNeighboursQpA, a});
    ASSERT_EQ(checksum_of(packet), 0u);
    const Fields at_b =
        seen(to_all(from_a(over_ipoib(kIpv6, packet, kMapperNeighboursQpA, kMulticastQpn))));
    ASSERT_EQ(at_b.arp.operation, message.type);
    const Qpn told = message.option == 1 ? at_b.arp.sender_qp : at_b.arp.target_qp;
    EXPECT_EQ(told, at_b.source_qp);
    EXPECT_NE(told, kMapperNeighboursQpA);
    EXPECT_EQ(checksum_of(Bytes(last).subspan(at_b.payload_at + 4u, packet.size())), 0u)
        << int{message.type};
  }
  EXPECT_EQ(count(kIcrcAnew), 4u);
}

TEST_F(Neighbours, TellNothingInAnothersName) {
  const Address a_for_b = ask();
  EXPECT_TRUE(through(from_b(over_ipoib(kArp, arp(2, {kMapperNeighboursQpB, gid(0xCCCC)}, a_for_b),
                                        kMapperNeighboursQpB, a_for_b.qpn)))
                  .empty());
  EXPECT_TRUE(through(from_b(over_ipoib(kArp, arp(2, {kQp1, b}, a_for_b), kMapperNeighboursQpB,
                                        a_for_b.qpn)))
                  .empty());
  EXPECT_TRUE(
      through(to_all(from_b(over_ipoib(kIpv6, neighbour(137, 40, 2, {Qpn{0xCCC}, gid(0xCCCC)}),
                                       kMapperNeighboursQpB, kMulticastQpn))))
          .empty());
  EXPECT_EQ(count(kDropForeignQp), 3u);
  // And knows no number that it was not told.
  EXPECT_TRUE(
      through(from_b(over_ipoib(kArp, arp(2, {kMapperNeighboursQpB, b}, {kMapperNeighboursQpA, a}),
                                kMapperNeighboursQpB, a_for_b.qpn)))
          .empty());
  EXPECT_EQ(count(kDropNoMapping), 1u);
}

TEST_F(Neighbours, StayWhatTheyAreInDamagedPackets) {
  const Address a_for_b = ask();
  Buffer packet = make(from_b(over_ipoib(kArp, arp(2, {kMapperNeighboursQpB, b}, a_for_b),
                                         kMapperNeighboursQpB, a_for_b.qpn)));
  packet[packet.size() - 20] ^= std::byte{1};
  EXPECT_EQ(handle(packet), Fate::kDropped);
  EXPECT_EQ(count(kDropBufferDamaged), 1u);
}

}  // namespace
}  // namespace weft::service::test
