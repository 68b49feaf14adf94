// SPDX-License-Identifier: Apache-2.0
// Everything that wire/ says about a packet, held against packets that real hardware and Linux
// sent.
#include <gtest/gtest.h>

#include <set>

#include "capture.h"
#include "reference_crc.h"
#include "wire/crc.h"
#include "wire/link_crc.h"
#include "wire/roce.h"
#include "wire/roce_frame.h"

namespace weft::wire {
namespace {

using test::CapturedPacket;
using test::link_packets;
using test::roce_frames;

IcrcFlow flow_of(const RoceFrame& frame) {
  const Datagram& datagram = frame.datagram;
  return {datagram.src, datagram.dst, datagram.src_port, datagram.dst_port, datagram.dont_fragment};
}

TEST(GenuinePackets, AreAllThere) {
  EXPECT_EQ(link_packets().size(), 43u);
  EXPECT_EQ(roce_frames().size(), 942u);
}

TEST(GenuinePackets, HaveRightCrcsOnTheLink) {
  for (CapturedPacket& packet : link_packets()) {
    ASSERT_TRUE(walk_link_packet(packet.bytes)) << packet.where;
    EXPECT_TRUE(check_link_crcs(packet.bytes).icrc_good) << packet.where;
    EXPECT_TRUE(check_link_crcs(packet.bytes).vcrc_good) << packet.where;
  }
}

TEST(GenuinePackets, AreSealedAsTheirSenderSealedThem) {
  for (const CapturedPacket& packet : link_packets()) {
    std::vector<std::byte> bytes = packet.bytes;
    std::fill(bytes.end() - 6, bytes.end(), std::byte{0});
    seal_link_packet(bytes);
    EXPECT_EQ(bytes, packet.bytes) << packet.where;
    EXPECT_EQ(link_icrc(Bytes(bytes).first(bytes.size() - 6)),
              load_le32(bytes.data() + bytes.size() - 6));
  }
}

TEST(GenuinePackets, HaveARightVcrcWithEveryKernel) {
  for (const CapturedPacket& packet : link_packets()) {
    for (const CrcKernel& kernel : crc_kernels()) {
      EXPECT_EQ(kernel.crc16(kVcrcPreset, packet.bytes), 0x556F)
          << packet.where << ", " << kernel.name;
    }
  }
}

TEST(GenuinePackets, KeepARightVcrcWhenAHopRewritesTheLrh) {
  for (CapturedPacket& packet : link_packets()) {
    const std::uint64_t before = load_le64(packet.bytes.data());
    LrhView lrh(packet.bytes);
    lrh.set_vl(Vl{static_cast<std::uint8_t>(lrh.vl().value() ^ 5)});
    lrh.set_sl(Sl{3});
    lrh.set_dlid(Lid{0x1234});
    EXPECT_FALSE(check_link_crcs(packet.bytes).vcrc_good) << packet.where;
    update_vcrc(packet.bytes, before);
    EXPECT_TRUE(check_link_crcs(packet.bytes).vcrc_good) << packet.where;
  }
}

TEST(GenuinePackets, KeepARightVcrcWhenTheirLaneChanges) {
  for (CapturedPacket& packet : link_packets()) {
    for (std::uint8_t vl = 0; vl < 16; ++vl) {
      rewrite_vl(packet.bytes, Vl{vl});
      EXPECT_EQ(LrhView(packet.bytes).vl(), Vl{vl}) << packet.where;
      EXPECT_TRUE(check_link_crcs(packet.bytes).good()) << packet.where;
    }
  }
}

TEST(GenuinePackets, KeepARightIcrcWhenAHopMarksThem) {
  for (CapturedPacket& packet : link_packets()) {
    const std::size_t bth =
        Lrh::parse(packet.bytes)->next_header == Lnh::iba_global ? Lrh::kSize + Grh::kSize : 8;
    BthView(MutableBytes(packet.bytes).subspan(bth)).set_fecn(true);
    LrhView lrh(packet.bytes);
    lrh.set_vl(Vl{static_cast<std::uint8_t>(lrh.vl().value() ^ 1)});
    if (bth != 8) GrhView(MutableBytes(packet.bytes).subspan(8)).set_hop_limit(77);
    EXPECT_TRUE(check_link_crcs(packet.bytes).icrc_good) << packet.where;
    EXPECT_FALSE(check_link_crcs(packet.bytes).vcrc_good) << packet.where;
  }
}

TEST(GenuinePackets, HaveARightIcrcOverUdp) {
  for (const CapturedPacket& packet : roce_frames()) {
    const auto frame = parse_ethernet(packet.bytes);
    ASSERT_TRUE(frame) << packet.where;
    EXPECT_TRUE(check_icrc(*frame)) << packet.where;
    const std::uint16_t id = frame->datagram.identification;
    EXPECT_EQ(flow_of(*frame).check(frame->transport, id), IcrcVerdict::good) << packet.where;
  }
}

TEST(GenuinePackets, GiveTheSameIcrcInPiecesAsWhole) {
  for (const CapturedPacket& packet : roce_frames()) {
    const auto frame = parse_ethernet(packet.bytes);
    const Bytes transport = frame->transport;
    const std::uint32_t state = flow_of(*frame).after_headers(
        transport.size(), transport.first(Bth::kSize), frame->datagram.identification);
    const Bytes rest = transport.subspan(Bth::kSize, transport.size() - Bth::kSize - kIcrcSize);
    EXPECT_EQ(crc32_finish(crc32_update(state, rest)),
              load_le32(transport.data() + transport.size() - kIcrcSize))
        << packet.where;
  }
}

TEST(GenuinePackets, AreRefusedWhenAnyBitTheIcrcCoversIsFlipped) {
  const CapturedPacket packet = roce_frames().front();
  const auto frame = parse_ethernet(packet.bytes);
  const std::uint16_t id = frame->datagram.identification;
  std::vector<std::byte> transport(frame->transport.begin(), frame->transport.end());
  for (std::size_t at = 0; at < transport.size(); ++at) {
    transport[at] ^= std::byte{0x10};
    const bool covered = at != Bth::kUncoveredByte;
    const IcrcVerdict verdict = flow_of(*frame).check(transport, id);
    EXPECT_EQ(verdict == IcrcVerdict::good, !covered) << "byte " << at;
    transport[at] ^= std::byte{0x10};
  }
}

TEST(GenuinePackets, RevealTheirIdentificationThroughTheIcrc) {
  int seen = 0;
  for (const CapturedPacket& packet : roce_frames()) {
    const auto frame = parse_ethernet(packet.bytes);
    const Bytes transport = frame->transport;
    const IcrcFlow flow = flow_of(*frame);
    const std::uint16_t id = frame->datagram.identification;
    if (!flow.is_ipv4() || id == 0) continue;
    ++seen;
    EXPECT_EQ(flow.check(transport), IcrcVerdict::other_identification) << packet.where;
    const Bytes covered = transport.first(transport.size() - kIcrcSize);
    const std::uint32_t carried = load_le32(transport.data() + covered.size());
    EXPECT_EQ(identification_difference(carried ^ flow.icrc(covered), transport.size()), id);
  }
  EXPECT_GT(seen, 100);
}

TEST(GenuinePackets, WalkToWhatTheirCapturesAreKnownToHold) {
  std::set<Opcode> opcodes;
  for (const CapturedPacket& packet : roce_frames()) {
    const auto transport = walk_transport_packet(parse_ethernet(packet.bytes)->transport);
    ASSERT_TRUE(transport) << packet.where << ": " << text(transport.error().error);
    opcodes.insert(transport->bth.opcode);
    EXPECT_EQ(transport->bth.opcode == Opcode::cnp, transport->bth.becn) << packet.where;
  }
  for (const Opcode opcode :
       {Opcode::rc_send_first, Opcode::rc_send_only_imm, Opcode::rc_write_only_imm,
        Opcode::rc_read_response_only, Opcode::rc_atomic_acknowledge, Opcode::rc_compare_swap,
        Opcode::rc_fetch_add, Opcode::rc_send_only_invalidate, Opcode::uc_send_only,
        Opcode::uc_write_only_imm, Opcode::ud_send_only, Opcode::ud_send_only_imm, Opcode::cnp}) {
    EXPECT_TRUE(opcodes.contains(opcode)) << info(opcode).name;
  }
}

TEST(GenuinePackets, AreTheSameOnTheFastPathOfUd) {
  int datagrams = 0;
  for (const CapturedPacket& packet : roce_frames()) {
    const Bytes bytes = parse_ethernet(packet.bytes)->transport;
    const auto transport = walk_transport_packet(bytes);
    UdPacket ud;
    ASSERT_EQ(walk_ud_packet(bytes, ud), info(transport->bth.opcode).transport == Transport::ud);
    if (info(transport->bth.opcode).transport != Transport::ud) continue;
    ++datagrams;
    EXPECT_EQ(ud.pkey, transport->bth.pkey);
    EXPECT_EQ(ud.dest_qp, transport->bth.dest_qp);
    EXPECT_EQ(ud.psn, transport->bth.psn);
    EXPECT_EQ(ud.solicited, transport->bth.solicited);
    EXPECT_EQ(ud.qkey, transport->deth->qkey);
    EXPECT_EQ(ud.src_qp, transport->deth->src_qp);
    EXPECT_EQ(ud.has_immediate, transport->imm_dt.has_value());
    EXPECT_EQ(ud.immediate, transport->imm_dt.value_or(ImmDt{}).value);
    EXPECT_EQ(ud.icrc, transport->icrc);
    EXPECT_EQ(ud.payload.data(), transport->payload.data());
    EXPECT_EQ(ud.payload.size(), transport->payload.size());
  }
  EXPECT_GT(datagrams, 20);
}

TEST(GenuinePackets, HaveTheIpHeadersThatWeWouldWrite) {
  for (const CapturedPacket& packet : roce_frames()) {
    const auto frame = parse_ethernet(packet.bytes);
    std::array<std::byte, 48> bytes{};
    const std::size_t size = write_ip_udp_headers(bytes, frame->datagram);
    ASSERT_EQ(size, frame->ip_header.size() + kUdpHeaderSize) << packet.where;
    EXPECT_TRUE(std::equal(frame->ip_header.begin(), frame->ip_header.end(), bytes.begin()))
        << packet.where;
  }
}

}  // namespace
}  // namespace weft::wire
