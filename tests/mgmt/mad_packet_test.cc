// SPDX-License-Identifier: Apache-2.0
// Datagrams in packets: every genuine one is read and written again byte for byte, and whatever is
// no management datagram is refused for its reason.
#include "mgmt/mad_packet.h"

#include <gtest/gtest.h>

#include "../wire/capture.h"
#include "mad_fixture.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::mgmt::test {
namespace {

std::vector<std::byte> packet_of(const MadEnvelope& envelope, const MadBuffer& mad) {
  std::vector<std::byte> packet(kMaxMadPacket);
  packet.resize(write_mad_packet(envelope, mad, Psn{5}, packet));
  return packet;
}

MadPacketError error_of(Bytes packet) {
  const auto parsed = parse_mad_packet(packet, 1);
  return parsed ? MadPacketError::kCount : parsed.error();
}

MadEnvelope gmp() {
  return {.port = 1,
          .slid = Lid{3},
          .dlid = Lid{4},
          .sl = Sl{2},
          .source_qp = kQp1,
          .dest_qp = kQp1,
          .qkey = kGsiQKey,
          .pkey = PKey{0x8001}};
}

const MadBuffer kMad = make_mad(MgmtClass::kPerf, 1, MadMethod::kGet, 0x12);

TEST(MadPacket, IsReadAndWrittenAsGenuineOnesAre) {
  int datagrams = 0;
  for (const wire::test::CapturedPacket& captured : wire::test::link_packets()) {
    const auto parsed = parse_mad_packet(captured.bytes, 1);
    if (!parsed) {
      EXPECT_EQ(parsed.error(), MadPacketError::kNotMad) << captured.where;
      continue;
    }
    ++datagrams;
    const auto walked = wire::walk_link_packet(captured.bytes);
    std::vector<std::byte> again(kMaxMadPacket);
    again.resize(
        write_mad_packet(parsed->envelope, parsed->mad, walked->transport->bth.psn, again));
    // General ones travel on a lane that is the sender's choice, and MigReq is the sender's too.
    std::vector<std::byte> wanted = captured.bytes;
    wire::store_u8(wanted.data() + wire::Lrh::kSize + 1, 0);
    wire::seal_link_packet(wanted);
    EXPECT_EQ(again, wanted) << captured.where;
  }
  EXPECT_GE(datagrams, 10);
}

TEST(MadPacket, ComesBackWithItsEnvelope) {
  MadEnvelope envelope = gmp();
  EXPECT_EQ(parse_mad_packet(packet_of(envelope, kMad), 1)->envelope, envelope);
  envelope.grh = wire::Grh{.traffic_class = 3,
                           .flow_label = 0x12345,
                           .payload_length = 280,
                           .hop_limit = 7,
                           .sgid = Gid{{0xFE, 0x80}},
                           .dgid = Gid{{0xFE, 0x80, 1}}};
  const auto global = parse_mad_packet(packet_of(envelope, kMad), 1);
  ASSERT_TRUE(global);
  EXPECT_EQ(global->envelope, envelope);
  const MadEnvelope smp{.port = 1, .slid = wire::kPermissiveLid, .dlid = wire::kPermissiveLid};
  const auto packet = packet_of(smp, make_smp(MadMethod::kGet, SmAttribute::kNodeInfo));
  EXPECT_EQ(parse_mad_packet(packet, 1)->envelope, smp);
  EXPECT_EQ(wire::Lrh::parse(packet)->vl, Vl{15});
  EXPECT_TRUE(wire::check_link_crcs(packet).good());
}

TEST(MadPacket, IsRefusedForWhatIsWrongWithIt) {
  EXPECT_EQ(error_of({}), MadPacketError::kMalformed);
  std::vector<std::byte> packet = packet_of(gmp(), kMad);
  packet[40] ^= std::byte{1};
  EXPECT_EQ(error_of(packet), MadPacketError::kIcrc);

  MadEnvelope envelope = gmp();
  envelope.dest_qp = Qpn{2};
  EXPECT_EQ(error_of(packet_of(envelope, kMad)), MadPacketError::kNotMad);
  envelope = gmp();
  envelope.qkey = QKey{0x1234};
  EXPECT_EQ(error_of(packet_of(envelope, kMad)), MadPacketError::kQKey);
  envelope = gmp();
  envelope.dest_qp = kQp0;
  envelope.grh = wire::Grh{};
  EXPECT_EQ(error_of(packet_of(envelope, kMad)), MadPacketError::kGlobalSmp);

  packet = packet_of(gmp(), kMad);
  wire::rewrite_vl(packet, Vl{15});
  EXPECT_EQ(error_of(packet), MadPacketError::kLane);
  envelope = gmp();
  envelope.dest_qp = kQp0;
  packet = packet_of(envelope, kMad);
  wire::rewrite_vl(packet, Vl{0});
  EXPECT_EQ(error_of(packet), MadPacketError::kLane);

  // Four bytes less.
  packet = packet_of(gmp(), kMad);
  packet.resize(packet.size() - 4);
  wire::store_be16(packet.data() + 4, static_cast<std::uint16_t>((packet.size() - 2) / 4));
  wire::seal_link_packet(packet);
  EXPECT_EQ(error_of(packet), MadPacketError::kLength);
}

TEST(MadPacket, HasATextForEveryError) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(MadPacketError::kCount); ++i) {
    EXPECT_FALSE(text(static_cast<MadPacketError>(i)).empty());
  }
}

}  // namespace
}  // namespace weft::mgmt::test
