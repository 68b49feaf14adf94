// SPDX-License-Identifier: Apache-2.0
// What datagrams and frames carry: flows of IP, fragments, management, opaque packets.
#include <gtest/gtest.h>

#include "firewall_world.h"
#include "lan/lan_header.h"
#include "service/firewall/packet_key.h"

namespace weft::service::firewall {
namespace {

constexpr std::uint16_t kFirewallInsideIpv4 = 0x0800;

Made over_ipoib(const Buffer& ip, bool back = false) {
  Made made = test::ipoib(kFirewallInsideIpv4, ip);
  made.deth.qkey = kIpoibQKey;
  if (!back) return made;
  std::swap(made.slid, made.dlid);
  // The addresses of test::ipv4() the other way round.
  wire::store_be32(made.payload.data() + 4 + 12, 0x0A000002);
  wire::store_be32(made.payload.data() + 4 + 16, 0x0A000001);
  return made;
}

TEST(FirewallInside, FollowsTcpInDatagramsOfIpoib) {
  World world("ct state established accept\nip saddr 10.0.0.1 tcp dport 22 accept");
  const Made syn = over_ipoib(test::ipv4(6, test::tcp(1000, 22)));
  const Made syn_ack = over_ipoib(test::ipv4(6, test::tcp(22, 1000, 0x12)), true);
  const Made ack = over_ipoib(test::ipv4(6, test::tcp(1000, 22, 0x10)));
  EXPECT_FALSE(world.passes(syn_ack));
  EXPECT_EQ(world.decide(syn).state, ConnectionState::fresh);
  EXPECT_EQ(world.decide(syn_ack).state, ConnectionState::established);
  EXPECT_TRUE(world.passes(syn_ack));
  EXPECT_EQ(world.decide(ack).state, ConnectionState::established);
  EXPECT_FALSE(world.passes(over_ipoib(test::ipv4(6, test::tcp(1000, 23)))));
  // Another flow back is not the answer to this one.
  EXPECT_FALSE(world.passes(over_ipoib(test::ipv4(6, test::tcp(22, 1001, 0x10)), true)));
}

TEST(FirewallInside, RefusesFlagsOfTcpThatExcludeEachOther) {
  World world("accept");
  constexpr std::array<std::uint8_t, 6> kImpossible{0x00, 0x01, 0x03, 0x06, 0x12, 0x28};
  for (const std::uint8_t flags : kImpossible) {
    EXPECT_EQ(world.decide(over_ipoib(test::ipv4(6, test::tcp(1, 2, flags)))).doubt,
              Doubt::tcp_flags)
        << int{flags};
  }
  EXPECT_TRUE(world.passes(over_ipoib(test::ipv4(6, test::tcp(1, 2, 0x02)))));
}

// The ports stand in the first fragment only.
TEST(FirewallInside, LetsLaterFragmentsThroughOnlyBehindTheFirst) {
  World world("ct state established accept\nudp dport 53 accept");
  constexpr std::uint16_t kMore = 0x2000;
  const Buffer rest(16);
  const auto first = [&](std::uint16_t port) {
    Buffer whole = test::udp(9, port, 8);
    wire::store_be16(whole.data() + 4, 32);  // of the whole datagram
    return over_ipoib(test::ipv4(17, whole, kMore));
  };
  const Made later = over_ipoib(test::ipv4(17, rest, 2));
  EXPECT_EQ(world.decide(later).doubt, Doubt::later_fragment);
  EXPECT_FALSE(world.passes(first(54)));
  EXPECT_FALSE(world.passes(later));
  EXPECT_TRUE(world.passes(first(53)));
  EXPECT_TRUE(world.passes(later));
  world.now += 31s;
  EXPECT_FALSE(world.passes(later));
}

TEST(FirewallInside, RefusesFragmentsThatHideOrRewriteThePorts) {
  World world("accept\nct state established accept");
  constexpr std::uint16_t kMore = 0x2000;
  // RFC 1858: the first fragment ends before the flags of TCP.
  const Buffer tiny = test::tcp(1, 22);
  const Made hidden = over_ipoib(test::ipv4(6, std::span(tiny).first(8), kMore));
  EXPECT_EQ(world.decide(hidden).doubt, Doubt::content);
  // RFC 3128: a fragment at offset 1 writes over the flags of the one before.
  ASSERT_TRUE(world.passes(over_ipoib(test::ipv4(6, test::tcp(1, 22), kMore))));
  EXPECT_FALSE(world.passes(over_ipoib(test::ipv4(6, Buffer(16), kMore | 1))));
}

TEST(FirewallInside, RefusesContentThatCouldBeReadInTwoWays) {
  World world("accept");
  Buffer longer = test::ipv4(17, test::udp(1, 2));
  wire::store_be16(longer.data() + 2, 200);  // longer than there is
  EXPECT_EQ(world.decide(over_ipoib(longer)).doubt, Doubt::content);
  Buffer version = test::ipv4(17, test::udp(1, 2));
  version[0] = std::byte{0x65};
  EXPECT_FALSE(world.passes(over_ipoib(version)));
  const Buffer route = test::hex("83 07 04 0a 00 00 63 00");  // loose source route
  EXPECT_FALSE(world.passes(over_ipoib(test::ipv4(17, test::udp(1, 2), 0, route))));
  EXPECT_TRUE(world.passes(over_ipoib(test::ipv4(17, test::udp(1, 2)))));
}

// By its first bytes a program's datagram may look like IPoIB.
TEST(FirewallInside, TakesAProgramsOwnDatagramsForWhatTheyAre) {
  World world("traffic datagram accept");
  Made made = test::ipoib(kFirewallInsideIpv4, Buffer(40));
  EXPECT_EQ(world.decide(made).traffic, Traffic::datagram);
  EXPECT_TRUE(world.passes(made));
  made.deth.qkey = kIpoibQKey;
  EXPECT_EQ(world.decide(made).doubt, Doubt::content);
}

TEST(FirewallInside, FollowsDatagramsBetweenQueuePairs) {
  World world("ct state established accept\nsqp 0x42 dqp 0x55 accept");
  Made there = test::datagram(Buffer(32));
  Made back = test::datagram(Buffer(32), Qpn{0x42});
  std::swap(back.slid, back.dlid);
  back.deth.src_qp = Qpn{0x55};
  EXPECT_FALSE(world.passes(back));
  EXPECT_TRUE(world.passes(there));
  EXPECT_TRUE(world.passes(back));
  back.deth.src_qp = Qpn{0x56};
  EXPECT_FALSE(world.passes(back));
}

Made over_lan(std::uint32_t number, std::uint32_t total, std::uint32_t offset, const Buffer& part) {
  Buffer message(lan::LanHeader::kSize);
  lan::LanHeader{.number = number, .total = total, .offset = offset}.write(message);
  message.insert(message.end(), part.begin(), part.end());
  return test::datagram(message);
}

TEST(FirewallInside, LooksIntoFramesOfTheLanAndTheirParts) {
  World world("ct state established accept\nether saddr 02:57:4c:00:00:01 tcp dport 80 accept");
  const auto frame = [](std::uint8_t source, std::uint16_t port) {
    Buffer out = test::hex("02574c000002 02574c0000");
    out.push_back(std::byte{source});
    out.push_back(std::byte{0x08});
    out.push_back(std::byte{0x00});
    Buffer segment = test::tcp(7, port);
    segment.resize(164);
    const Buffer packet = test::ipv4(6, segment);
    out.insert(out.end(), packet.begin(), packet.end());
    return out;
  };
  const auto part = [&](const Buffer& whole, std::uint32_t number, std::size_t at,
                        std::size_t end) {
    const Buffer piece(whole.begin() + static_cast<long>(at),
                       whole.begin() + static_cast<long>(end));
    return over_lan(number, static_cast<std::uint32_t>(whole.size()),
                    static_cast<std::uint32_t>(at), piece);
  };
  const Buffer good = frame(1, 80);
  EXPECT_EQ(world.decide(part(good, 1, 0, good.size())).traffic, Traffic::lan);
  EXPECT_TRUE(world.passes(part(good, 1, 0, good.size())));
  EXPECT_FALSE(world.passes(part(frame(2, 80), 2, 0, good.size())));
  EXPECT_FALSE(world.passes(part(frame(1, 81), 3, 0, good.size())));
  // In two parts: the second one has no headers of its own.
  EXPECT_EQ(world.decide(part(good, 4, 96, good.size())).doubt, Doubt::later_fragment);
  EXPECT_TRUE(world.passes(part(good, 4, 0, 96)));
  EXPECT_TRUE(world.passes(part(good, 4, 96, good.size())));
  EXPECT_FALSE(world.passes(part(good, 5, 96, good.size())));
}

// A frame on a channel of the LAN is a message of UC: all its packets but the first are bytes only.
TEST(FirewallInside, LetsLaterPacketsOfAFrameThroughBehindTheFirst) {
  World world(
      "ct state established accept\ntraffic cm service 0x1002574c00000001 accept\n"
      "traffic lan tcp dport 80 accept");
  Exchange channel;
  channel.transport = wire::CmTransport::kUc;
  channel.service = kLanService;
  ASSERT_TRUE(world.connects(channel));
  const auto first = [&](std::uint16_t port) {
    Buffer frame = test::hex("02574c000002 02574c000001 0800");
    Buffer segment = test::tcp(7, port);
    segment.resize(1000);
    const Buffer packet = test::ipv4(6, segment);
    frame.insert(frame.end(), packet.begin(), packet.end());
    Made made = channel.data(false, wire::Opcode::uc_send_first);
    made.payload.resize(lan::LanHeader::kSize);
    lan::LanHeader{.total = static_cast<std::uint32_t>(frame.size())}.write(made.payload);
    made.payload.insert(made.payload.end(), frame.begin(), frame.begin() + 232);
    return made;
  };
  const Made middle = channel.data(false, wire::Opcode::uc_send_middle);
  const Made last = channel.data(false, wire::Opcode::uc_send_last);
  EXPECT_EQ(world.decide(middle).doubt, Doubt::later_fragment) << "nothing has begun";
  EXPECT_EQ(world.decide(first(80)).traffic, Traffic::lan);
  EXPECT_EQ(world.decide(middle).state, ConnectionState::established);
  EXPECT_TRUE(world.passes(middle));
  EXPECT_FALSE(world.passes(channel.data(true, wire::Opcode::uc_send_middle)))
      << "the other end has begun nothing";
  EXPECT_TRUE(world.passes(last));
  EXPECT_FALSE(world.passes(last)) << "the frame has ended";
  // Who has asked for the channel need not have begun the connection of TCP.
  const auto of_tcp = [&](const Buffer& segment, bool back, wire::Opcode opcode, std::size_t size) {
    Buffer frame = test::hex("02574c000002 02574c000001 0800");
    Buffer packet = test::ipv4(6, segment);
    if (back) {
      wire::store_be32(packet.data() + 12, 0x0A000002);
      wire::store_be32(packet.data() + 16, 0x0A000001);
    }
    frame.insert(frame.end(), packet.begin(), packet.end());
    Made made = channel.data(back, opcode);
    made.payload.resize(lan::LanHeader::kSize);
    lan::LanHeader{.total = static_cast<std::uint32_t>(frame.size())}.write(made.payload);
    const auto end = frame.begin() + static_cast<long>(std::min(size, frame.size()));
    made.payload.insert(made.payload.end(), frame.begin(), end);
    return made;
  };
  EXPECT_TRUE(world.passes(of_tcp(test::tcp(9, 80), true, wire::Opcode::uc_send_only, 9999)));
  Buffer answer = test::tcp(80, 9, 0x12);
  answer.resize(1000);
  EXPECT_EQ(world.decide(of_tcp(answer, false, wire::Opcode::uc_send_first, 232)).direction,
            FlowDirection::reply);
  EXPECT_TRUE(world.passes(middle));
  EXPECT_TRUE(world.passes(last));
  // Another frame that is refused takes the one before with it.
  EXPECT_TRUE(world.passes(first(80)));
  EXPECT_FALSE(world.passes(first(81)));
  EXPECT_FALSE(world.passes(middle));
  EXPECT_FALSE(world.passes(last));
}

// What LAN ports say of groups has no headers of Ethernet that a rule could name.
TEST(FirewallInside, LetsGroupListsOfTheLanThroughBetweenPortsThatFoundEachOther) {
  World world("ct state established accept\ntraffic cm service 0x1002574c00000001 accept");
  Exchange ends;
  const auto list = [&](bool back) {
    Buffer message(lan::LanHeader::kSize + 4);
    lan::LanHeader{.kind = lan::MessageKind::kGroups, .number = 1, .total = 4}.write(message);
    Made made = ends.addressed(test::datagram(message, back ? ends.a_qp : ends.b_qp), back);
    made.deth = {.qkey = QKey{back ? 0x1111u : 0x2222u}, .src_qp = back ? ends.b_qp : ends.a_qp};
    return made;
  };
  EXPECT_FALSE(world.passes(list(false)));
  ASSERT_TRUE(world.passes(ends.addressed(
      test::cm(wire::CmSidrReq{.request_id = wire::CommId{7}, .service_id = kLanService}), false)));
  ASSERT_TRUE(world.passes(ends.addressed(test::cm(wire::CmSidrRep{.request_id = wire::CommId{7},
                                                                   .qpn = ends.b_qp,
                                                                   .service_id = kLanService,
                                                                   .qkey = QKey{0x2222}}),
                                          true)));
  EXPECT_TRUE(world.passes(list(false)));
  EXPECT_TRUE(world.passes(list(true)));
}

TEST(FirewallInside, TellsManagementApart) {
  World world("mad class sa mad method get mad attribute 0x35 accept\nmad class 0x04 accept");
  const auto mad = [](wire::MgmtClass mgmt_class, wire::MadMethod method, std::uint16_t attribute) {
    Buffer bytes(wire::kMadSize);
    wire::MadHeader{
        .mgmt_class = mgmt_class, .class_version = 2, .method = method, .attribute_id = attribute}
        .write(bytes);
    Made made = test::datagram(std::move(bytes), kQp1);
    made.deth = {.qkey = kGsiQKey, .src_qp = kQp1};
    return made;
  };
  using wire::MadMethod;
  using wire::MgmtClass;
  EXPECT_TRUE(world.passes(mad(MgmtClass::kSubnAdm, MadMethod::kGet, 0x35)));
  EXPECT_FALSE(world.passes(mad(MgmtClass::kSubnAdm, MadMethod::kSet, 0x35)));
  EXPECT_FALSE(world.passes(mad(MgmtClass::kSubnAdm, MadMethod::kGet, 0x31)));
  EXPECT_TRUE(world.passes(mad(MgmtClass::kPerf, MadMethod::kGet, 0x12)));
  // Not 256 bytes: a receiver that reads on would find something else than the firewall.
  Made odd = mad(MgmtClass::kPerf, MadMethod::kGet, 0x12);
  odd.payload.resize(252);
  EXPECT_EQ(world.decide(odd).doubt, Doubt::content);
}

TEST(FirewallInside, LetsOpaquePacketsThroughByTheirOwnRuleOnly) {
  const auto reserved = [] {
    Buffer bytes = test::make(Exchange{}.data());
    bytes[wire::Lrh::kSize + wire::Grh::kSize] = std::byte{0x1F};
    wire::seal_link_packet(bytes);
    return bytes;
  }();
  World strict("ct state established accept\ntraffic connected accept\nopcode rc accept");
  EXPECT_EQ(strict.decide(reserved).traffic, Traffic::opaque);
  EXPECT_FALSE(strict.passes(reserved));
  World lenient("opaque accept");
  EXPECT_TRUE(lenient.passes(reserved));
  EXPECT_FALSE(lenient.passes(Exchange{}.data()));
  World named("opcode unknown dlid 2 accept");
  EXPECT_TRUE(named.passes(reserved));
  Made raw_rd = Exchange{}.data();
  raw_rd.bth.opcode = wire::Opcode::rd_send_only;
  EXPECT_EQ(lenient.decide(raw_rd).traffic, Traffic::opaque);
}

TEST(FirewallInside, RefusesWhatIsNoPacketAtAll) {
  World world("accept", "accept");
  Buffer cut = test::make(Exchange{}.data());
  cut.resize(cut.size() - 40);
  EXPECT_EQ(world.decide(cut).doubt, Doubt::malformed);
  EXPECT_FALSE(world.passes(cut));
  Buffer oversize = test::make(Exchange{}.data());
  oversize.resize(oversize.size() + 4096);
  EXPECT_EQ(world.decide(oversize).doubt, Doubt::malformed);
  EXPECT_EQ(world.decide(Buffer(3)).doubt, Doubt::malformed);
}

TEST(FirewallInside, BoundsMessagesByTheirLength) {
  World world("message > 1000 drop\nct state established accept\ncm message req accept");
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  const auto send = [&](wire::Opcode opcode) { return exchange.data(false, opcode); };
  Made write = send(wire::Opcode::rc_write_first);
  write.reth.dma_length = 1001;
  EXPECT_FALSE(world.passes(write));
  write.reth.dma_length = 1000;
  EXPECT_TRUE(world.passes(write));
  // A SEND does not say how long it is: 256 bytes each.
  EXPECT_TRUE(world.passes(send(wire::Opcode::rc_send_first)));
  EXPECT_TRUE(world.passes(send(wire::Opcode::rc_send_middle)));
  EXPECT_TRUE(world.passes(send(wire::Opcode::rc_send_middle)));
  EXPECT_FALSE(world.passes(send(wire::Opcode::rc_send_last)));
  EXPECT_TRUE(world.passes(send(wire::Opcode::rc_send_first)));
  EXPECT_TRUE(world.passes(send(wire::Opcode::rc_send_only)));
}

TEST(FirewallInside, AFullTableOfAnsweredFlowsTakesNoOthers) {
  FirewallOptions options;
  options.flows.most = 2;
  World world("ct state established accept\nudp dport 53 accept", "drop", options);
  for (const auto port : {std::uint16_t{1}, std::uint16_t{2}}) {
    ASSERT_TRUE(world.passes(over_ipoib(test::ipv4(17, test::udp(port, 53)))));
    ASSERT_TRUE(world.passes(over_ipoib(test::ipv4(17, test::udp(53, port)), true)));
  }
  const Decision late = world.decide(over_ipoib(test::ipv4(17, test::udp(3, 53))));
  EXPECT_EQ(late.doubt, Doubt::table_full);
  EXPECT_EQ(late.action, Action::drop);
  EXPECT_TRUE(world.passes(over_ipoib(test::ipv4(17, test::udp(1, 53)))));
}

TEST(FirewallInside, AFloodOfFlowsPushesOutUnansweredOnesOnly) {
  FirewallOptions options;
  options.flows.most = 100;
  World world("ct state established accept\nudp dport 53 accept", "drop", options);
  const Made there = over_ipoib(test::ipv4(17, test::udp(1, 53)));
  const Made back = over_ipoib(test::ipv4(17, test::udp(53, 1)), true);
  ASSERT_TRUE(world.passes(there));
  ASSERT_TRUE(world.passes(back));
  for (std::uint16_t port = 1000; port < 3000; ++port)
    ASSERT_TRUE(world.passes(over_ipoib(test::ipv4(17, test::udp(port, 53)))));
  EXPECT_EQ(world.firewall.flows(), 100u);
  EXPECT_TRUE(world.passes(back));
}

}  // namespace
}  // namespace weft::service::firewall
