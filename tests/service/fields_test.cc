// SPDX-License-Identifier: Apache-2.0
// What is read of headers, of management and of the LAN. What is read of IP: inner_ip_test.cc.
#include "service/fields.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lan/lan_header.h"
#include "packets.h"
#include "service/service.h"
#include "wire/cm_connect.h"
#include "wire/cm_disconnect.h"
#include "wire/cm_ip.h"
#include "wire/cm_sidr.h"

namespace weft::service {
namespace {

using namespace test;
using wire::Opcode;

TEST(Fields, HaveTheHeadersOfAConnectionsPacket) {
  Made made{.slid = Lid{5}, .dlid = Lid{9}, .sl = Sl{3}, .vl = Vl{2}};
  made.bth = {.opcode = Opcode::rc_write_first,
              .solicited = true,
              .pkey = PKey{0x8001},
              .dest_qp = Qpn{0xABCDEF},
              .ack_request = true,
              .psn = Psn{0x123}};
  made.reth = {.virtual_address = 0x1000, .rkey = RKey{7}, .dma_length = 65'536};
  made.payload = Buffer(1024);
  const Fields fields = Fields::parse(make(made));
  ASSERT_EQ(fields.form, Form::kTransport);
  EXPECT_EQ(fields.slid, Lid{5});
  EXPECT_EQ(fields.dlid, Lid{9});
  EXPECT_EQ(fields.sl, Sl{3});
  EXPECT_EQ(fields.vl, Vl{2});
  EXPECT_FALSE(fields.global);
  EXPECT_EQ(fields.opcode, Opcode::rc_write_first);
  EXPECT_EQ(fields.transport, wire::Transport::rc);
  EXPECT_EQ(fields.operation, wire::Operation::write);
  EXPECT_TRUE(fields.starts_message && !fields.ends_message && !fields.response);
  EXPECT_TRUE(fields.solicited && fields.ack_request);
  EXPECT_EQ(fields.pkey, PKey{0x8001});
  EXPECT_EQ(fields.dest_qp, Qpn{0xABCDEF});
  EXPECT_EQ(fields.psn, Psn{0x123});
  EXPECT_TRUE(fields.has_reth);
  EXPECT_EQ(fields.rkey, RKey{7});
  EXPECT_EQ(fields.message_size(), 65'536u);
  EXPECT_FALSE(fields.has_source_qp);
  EXPECT_EQ(fields.content, Content::kOpaque);
  EXPECT_EQ(fields.payload_at, 8 + 12 + 16);
  EXPECT_EQ(fields.payload_size, 1024);
}

TEST(Fields, HaveGidsAndTheSourceOfADatagram) {
  Made made = datagram(Buffer(5));
  made.gids = {gid(1), gid(2)};
  const Fields fields = Fields::parse(make(made));
  ASSERT_EQ(fields.form, Form::kTransport);
  EXPECT_TRUE(fields.global);
  EXPECT_EQ(fields.sgid, gid(1));
  EXPECT_EQ(fields.dgid, gid(2));
  EXPECT_EQ(fields.hop_limit, 1);
  EXPECT_TRUE(fields.has_source_qp);
  EXPECT_EQ(fields.source_qp, Qpn{0x42});
  EXPECT_EQ(fields.qkey, QKey{0x1234});
  EXPECT_EQ(fields.payload_size, 5);
  EXPECT_EQ(fields.message_size(), 5u);
  EXPECT_EQ(fields.content, Content::kOpaque);
}

TEST(Fields, KnowEveryOpcodeThatThereIs) {
  for (unsigned code = 0; code < 256; ++code) {
    Made made;
    made.bth.opcode = static_cast<Opcode>(code);
    const wire::OpcodeInfo& info = wire::info(made.bth.opcode);
    if (!info.has_payload) made.payload.clear();
    const Fields fields = Fields::parse(make(made));
    EXPECT_EQ(fields.form, info.known() ? Form::kTransport : Form::kUnknownOpcode) << code;
    EXPECT_EQ(fields.opcode, made.bth.opcode);
    EXPECT_EQ(fields.dest_qp, Qpn{0x123456});
    EXPECT_EQ(fields.pkey, kDefaultPKey);
    EXPECT_EQ(opcode_name(fields).empty(), !info.known());
    if (!info.known()) continue;
    EXPECT_EQ(fields.transport, info.transport);
    EXPECT_EQ(fields.has_source_qp, info.has(wire::kDeth)) << code;
    EXPECT_EQ(fields.has_reth, info.has(wire::kReth)) << code;
    EXPECT_EQ(fields.has_atomic, info.has(wire::kAtomicEth)) << code;
    EXPECT_EQ(fields.has_aeth, info.has(wire::kAeth)) << code;
    EXPECT_EQ(fields.has_immediate, info.has(wire::kImmDt)) << code;
  }
}

TEST(Fields, HaveGidsAndPartitionOfAnUnknownOpcode) {
  Made made;
  made.gids = {gid(1), gid(2)};
  made.bth.opcode = static_cast<Opcode>(0x1F);
  const Fields fields = Fields::parse(make(made));
  EXPECT_EQ(fields.form, Form::kUnknownOpcode);
  EXPECT_EQ(fields.dgid, gid(2));
  EXPECT_EQ(fields.pkey, kDefaultPKey);
  EXPECT_EQ(fields.transport_at, 48);
  EXPECT_EQ(fields.content, Content::kNone);
}

TEST(Fields, SayWhyAPacketIsMalformed) {
  Buffer packet = make({});
  packet.pop_back();
  const Fields fields = Fields::parse(packet);
  EXPECT_EQ(fields.form, Form::kMalformed);
  EXPECT_EQ(fields.failure.error, wire::WalkError::link_length_mismatch);
  EXPECT_EQ(fields.slid, Lid{1});
  EXPECT_EQ(Fields::parse(Buffer(3)).failure.error, wire::WalkError::too_short);
}

TEST(Fields, TellFirstPacketsOfMessagesFromLaterOnes) {
  Made made;
  made.bth.opcode = Opcode::rc_send_middle;
  const Fields fields = Fields::parse(make(made));
  EXPECT_EQ(fields.content, Content::kNone);
  EXPECT_EQ(fields.message_size(), 0u);
}

TEST(Fields, ReadManagementDatagrams) {
  Buffer mad(wire::kMadSize);
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnAdm,
                  .class_version = 2,
                  .method = wire::MadMethod::kGet,
                  .transaction_id = 0x1122,
                  .attribute_id = 0x35,
                  .attribute_modifier = 9}
      .write(mad);
  const Fields fields = Fields::parse(make(datagram(mad, kQp1)));
  ASSERT_EQ(fields.content, Content::kMad);
  EXPECT_EQ(fields.problem, Problem::kNone);
  EXPECT_EQ(fields.mad.mgmt_class, wire::MgmtClass::kSubnAdm);
  EXPECT_EQ(fields.mad.method, wire::MadMethod::kGet);
  EXPECT_EQ(fields.mad.attribute, 0x35);
  EXPECT_EQ(fields.mad.modifier, 9u);
  EXPECT_EQ(fields.mad.transaction, 0x1122u);
  EXPECT_FALSE(fields.cm.present);
}

TEST(Fields, NameManagementOfWrongLengthOrVersion) {
  EXPECT_EQ(Fields::parse(make(datagram(Buffer(255), kQp1))).problem, Problem::kMadLength);
  EXPECT_EQ(Fields::parse(make(datagram(Buffer(260), kQp0))).problem, Problem::kMadLength);
  Buffer mad(wire::kMadSize);
  wire::MadHeader{.base_version = 2}.write(mad);
  EXPECT_EQ(Fields::parse(make(datagram(mad, kQp1))).problem, Problem::kMadVersion);
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kCommMgt, .class_version = 3}.write(mad);
  EXPECT_EQ(Fields::parse(make(datagram(mad, kQp1))).problem, Problem::kMadVersion);
}

TEST(Fields, KnowManagementThatWasRedirectedToAnotherQueuePairByItsQKey) {
  Made made = cm(wire::CmRtu{.local_comm_id = wire::CommId{5}});
  made.bth.dest_qp = Qpn{0x99};
  EXPECT_TRUE(Fields::parse(make(made)).cm.present);
  made.deth.qkey = QKey{0x1234};
  EXPECT_FALSE(Fields::parse(make(made)).cm.present);
}

TEST(Fields, ReadAConnectionRequest) {
  wire::CmReq req{.local_comm_id = wire::CommId{0x11},
                  .service_id = wire::ServiceId{0x1234567812345678},
                  .local_qkey = QKey{0x22},
                  .local_qpn = Qpn{0x33},
                  .transport = wire::CmTransport::kUc,
                  .starting_psn = Psn{0x44},
                  .pkey = PKey{0x8055},
                  .path_mtu = 3};
  req.primary.local_gid = gid(1);
  req.primary.remote_lid = Lid{0xF};
  req.private_data[91] = std::byte{0x5A};
  const Buffer packet = make(cm(req));
  const Fields fields = Fields::parse(packet);
  const CmFields& read = fields.cm;
  ASSERT_TRUE(read.present);
  EXPECT_EQ(read.message, wire::CmMessage::kReq);
  EXPECT_EQ(read.local_comm_id, wire::CommId{0x11});
  EXPECT_EQ(read.remote_comm_id, wire::CommId{});
  EXPECT_EQ(read.service_id.value(), 0x1234567812345678u);
  EXPECT_EQ(read.local_qp, Qpn{0x33});
  EXPECT_EQ(read.qkey, QKey{0x22});
  EXPECT_EQ(read.starting_psn, Psn{0x44});
  EXPECT_EQ(read.pkey, PKey{0x8055});
  EXPECT_EQ(read.transport, wire::CmTransport::kUc);
  EXPECT_EQ(read.path_mtu, 3);
  EXPECT_EQ(read.primary_local_gid, gid(1));
  EXPECT_EQ(read.primary_remote_lid, Lid{0xF});
  ASSERT_EQ(read.private_size, wire::kReqPrivateData);
  EXPECT_EQ(packet[read.private_at + 91u], std::byte{0x5A});
  EXPECT_EQ(fields.ip.version, 0);
}

TEST(Fields, ReadEveryOtherMessageOfTheConnectionManager) {
  const auto read = [](const auto& message) { return Fields::parse(make(cm(message))).cm; };
  const wire::CommId local{3};
  const wire::CommId remote{4};
  const CmFields rep = read(wire::CmRep{.local_comm_id = local,
                                        .remote_comm_id = remote,
                                        .local_qkey = QKey{6},
                                        .local_qpn = Qpn{5}});
  EXPECT_EQ(rep.message, wire::CmMessage::kRep);
  EXPECT_EQ(rep.local_comm_id, local);
  EXPECT_EQ(rep.remote_comm_id, remote);
  EXPECT_EQ(rep.local_qp, Qpn{5});
  EXPECT_EQ(rep.qkey, QKey{6});
  EXPECT_EQ(rep.private_size, 196);
  const CmFields dreq = read(wire::CmDreq{.local_comm_id = local, .remote_qpn = Qpn{8}});
  EXPECT_EQ(dreq.message, wire::CmMessage::kDreq);
  EXPECT_EQ(dreq.remote_qp, Qpn{8});
  const CmFields sidr = read(wire::CmSidrRep{
      .request_id = local, .qpn = Qpn{8}, .service_id = wire::ServiceId{9}, .qkey = QKey{10}});
  EXPECT_EQ(sidr.local_comm_id, local);
  EXPECT_EQ(sidr.remote_comm_id, wire::CommId{});
  EXPECT_EQ(sidr.local_qp, Qpn{8});
  EXPECT_EQ(sidr.service_id, wire::ServiceId{9});
  EXPECT_EQ(sidr.qkey, QKey{10});
  const CmFields ask =
      read(wire::CmSidrReq{.request_id = local, .pkey = PKey{3}, .service_id = wire::ServiceId{9}});
  EXPECT_EQ(ask.pkey, PKey{3});
  EXPECT_EQ(ask.service_id, wire::ServiceId{9});
}

TEST(Fields, HaveTheAddressesThatARequestNames) {
  wire::CmReq req{.service_id = wire::ip_service_id(wire::PortSpace::kTcp, 7471)};
  wire::CmIpHeader::between(Gid::from_ipv4(0x0A000001), 999, Gid::from_ipv4(0x0A000002))
      .write(req.private_data);
  const IpFields ip = Fields::parse(make(cm(req))).ip;
  EXPECT_TRUE(ip.by_request);
  EXPECT_EQ(ip.version, 4);
  EXPECT_EQ(ip.protocol, 6);
  EXPECT_EQ(ip.source, Gid::from_ipv4(0x0A000001));
  EXPECT_EQ(ip.destination, Gid::from_ipv4(0x0A000002));
  EXPECT_EQ(ip.source_port, 999);
  EXPECT_EQ(ip.destination_port, 7471);
}

TEST(Fields, KnowSocketsDirectByItsServiceIds) {
  wire::CmReq req{.service_id = wire::ServiceId{0x1'0016}};
  std::byte* const hello = req.private_data.data();
  wire::store_u8(hello + 16, 0x11);
  wire::store_u8(hello + 17, 0x41);
  wire::store_be16(hello + 28, 4000);
  wire::store_be32(hello + 44, 0x0A000001);
  wire::store_be32(hello + 60, 0x0A000002);
  const Fields fields = Fields::parse(make(cm(req)));
  EXPECT_TRUE(fields.cm.sdp);
  EXPECT_EQ(fields.ip.protocol, 6);
  EXPECT_EQ(fields.ip.source_port, 4000);
  EXPECT_EQ(fields.ip.destination_port, 22);
  EXPECT_EQ(fields.ip.source, Gid::from_ipv4(0x0A000001));
  EXPECT_EQ(fields.ip.destination, Gid::from_ipv4(0x0A000002));
  req.service_id = wire::ServiceId{0x2'0016};
  EXPECT_FALSE(Fields::parse(make(cm(req))).cm.sdp);
}

// A message of the LAN: its header, and `part` of a frame of `total` bytes.
Made lan_message(Bytes part, std::uint32_t total, std::uint32_t offset, Opcode opcode) {
  Buffer message(lan::LanHeader::kSize + part.size());
  lan::LanHeader{.number = 5, .total = total, .offset = offset}.write(message);
  std::copy(part.begin(), part.end(), message.begin() + lan::LanHeader::kSize);
  Made made = datagram(std::move(message));
  made.bth.opcode = opcode;
  return made;
}

Buffer frame(Bytes packet, std::string_view tags, std::string_view type) {
  Buffer bytes = hex("02574c000005 02574c000006");
  for (const std::string_view more : {tags, type}) {
    const Buffer some = hex(more);
    bytes.insert(bytes.end(), some.begin(), some.end());
  }
  bytes.insert(bytes.end(), packet.begin(), packet.end());
  return bytes;
}

TEST(Fields, ReadFramesOfTheLan) {
  for (const Opcode opcode : {Opcode::ud_send_only, Opcode::uc_send_only}) {
    const Buffer bytes = frame(ipv4(6, tcp(1000, 22)), "8100 3005", "0800");
    const auto total = static_cast<std::uint32_t>(bytes.size());
    const Fields fields = Fields::parse(make(lan_message(bytes, total, 0, opcode)));
    ASSERT_EQ(fields.content, Content::kLan);
    EXPECT_EQ(fields.problem, Problem::kNone);
    EXPECT_EQ(fields.lan.number, 5u);
    EXPECT_EQ(fields.lan.total, total);
    EXPECT_EQ(fields.lan.tags, 1);
    EXPECT_EQ(fields.lan.vlan, 5);
    EXPECT_EQ(fields.lan.source[5], 6);
    EXPECT_EQ(fields.ether_type, 0x0800);
    EXPECT_EQ(fields.ip.protocol, 6);
    EXPECT_EQ(fields.ip.destination_port, 22);
  }
}

TEST(Fields, ReadTheFirstPartOfAFrameAndNameLaterOnes) {
  Buffer bytes = frame(ipv4(17, udp(1000, 53, 1000)), "", "0800");
  const auto total = static_cast<std::uint32_t>(bytes.size());
  const Bytes front = Bytes(bytes).first(200);
  const Fields first = Fields::parse(make(lan_message(front, total, 0, Opcode::ud_send_only)));
  EXPECT_EQ(first.problem, Problem::kNone);
  EXPECT_EQ(first.ip.destination_port, 53);
  const Bytes rest = Bytes(bytes).subspan(200);
  const Fields later = Fields::parse(make(lan_message(rest, total, 200, Opcode::ud_send_only)));
  EXPECT_EQ(later.content, Content::kLan);
  EXPECT_EQ(later.problem, Problem::kPartFrame);
  EXPECT_EQ(later.ip.version, 0);
  // A first part so short that headers of the frame are in the second one.
  const Fields tiny =
      Fields::parse(make(lan_message(Bytes(bytes).first(32), total, 0, Opcode::ud_send_only)));
  EXPECT_NE(tiny.problem, Problem::kNone);
}

TEST(Fields, NameFramesThatCannotBe) {
  const Buffer tags = frame(ipv4(6, tcp(1, 2)), "88a8 0001 8100 0002 8100 0003", "0800");
  const auto read = [](const Buffer& bytes) {
    const auto total = static_cast<std::uint32_t>(bytes.size());
    return Fields::parse(make(lan_message(bytes, total, 0, Opcode::ud_send_only)));
  };
  EXPECT_EQ(read(tags).problem, Problem::kTags);
  EXPECT_EQ(read(hex("02574c0000050257")).problem, Problem::kEncapsulation);
  Buffer payload(lan::LanHeader::kSize + 8);
  lan::LanHeader{.total = 8}.write(payload);
  wire::store_be32(payload.data() + 12, 16);  // it would begin behind its end
  const Fields fields = Fields::parse(make(datagram(payload)));
  EXPECT_EQ(fields.content, Content::kLan);
  EXPECT_EQ(fields.problem, Problem::kLanHeader);
}

TEST(Fields, ReadRawPackets) {
  const Buffer inner = ipv6(17, udp(1, 2));
  Buffer bytes(8 + inner.size() + 2);
  ASSERT_EQ(inner.size() % 4, 0u);
  wire::Lrh{.next_header = wire::Lnh::raw_ipv6,
            .dlid = Lid{4},
            .packet_words = static_cast<std::uint16_t>((8 + inner.size()) / 4)}
      .write(bytes);
  std::copy(inner.begin(), inner.end(), bytes.begin() + 8);
  const Fields fields = Fields::parse(bytes);
  EXPECT_EQ(fields.form, Form::kRawIpv6);
  EXPECT_EQ(fields.content, Content::kRaw);
  EXPECT_EQ(fields.ip.version, 6);
  EXPECT_EQ(fields.ip.destination_port, 2);

  Buffer other(8 + 4 + inner.size() + 2);
  wire::Lrh{.next_header = wire::Lnh::raw,
            .packet_words = static_cast<std::uint16_t>((12 + inner.size()) / 4)}
      .write(other);
  wire::store_be16(other.data() + 10, 0x1234);
  EXPECT_EQ(Fields::parse(other).form, Form::kRawEtherType);
  EXPECT_EQ(Fields::parse(other).ether_type, 0x1234);
  EXPECT_EQ(Fields::parse(other).ip.version, 0);
}

}  // namespace
}  // namespace weft::service
