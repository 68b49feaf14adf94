// SPDX-License-Identifier: Apache-2.0
// The messages of the communication manager: nothing is lost between bytes and value, reserved bits
// go out as zeros, and genuine messages say what their senders are known to have meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "capture.h"
#include "wire/cm_alternate.h"
#include "wire/cm_connect.h"
#include "wire/cm_disconnect.h"
#include "wire/cm_ip.h"
#include "wire/cm_refuse.h"
#include "wire/cm_sidr.h"
#include "wire/packet.h"
#include "wire/roce_frame.h"

namespace weft::wire {
namespace {

constexpr int kCmMessagesRounds = 500;

// Bytes of a layout: `defined` has a 1 for each bit that means something.
class Layout {
 public:
  explicit Layout(std::size_t size) : mask_(size) {}
  Layout& bytes(std::size_t first, std::size_t count) {
    std::fill_n(mask_.begin() + static_cast<std::ptrdiff_t>(first), count, std::byte{0xFF});
    return *this;
  }
  Layout& bits(std::size_t at, unsigned mask) {
    mask_[at] = static_cast<std::byte>(mask);
    return *this;
  }
  [[nodiscard]] const std::vector<std::byte>& mask() const { return mask_; }

 private:
  std::vector<std::byte> mask_;
};

Layout& path_at(Layout& layout, std::size_t at) {
  return layout.bytes(at, 38)
      .bits(at + 38, 0xF0)
      .bits(at + 39, 0x3F)
      .bytes(at + 40, 2)
      .bits(at + 42, 0xF8)
      .bits(at + 43, 0xF8);
}

template <class Message>
std::vector<std::byte> defined_bits();

template <>
std::vector<std::byte> defined_bits<MadHeader>() {
  return Layout(24).bytes(0, 18).bytes(20, 4).mask();
}
template <>
std::vector<std::byte> defined_bits<CmReq>() {
  Layout layout(232);
  layout.bytes(0, 4).bytes(8, 16).bytes(28, 24);
  path_at(layout, 52);
  path_at(layout, 96);
  return layout.bytes(140, 92).mask();
}
template <>
std::vector<std::byte> defined_bits<CmRep>() {
  return Layout(232)
      .bytes(0, 15)
      .bytes(16, 3)
      .bytes(20, 3)
      .bytes(24, 3)
      .bits(27, 0xF0)
      .bytes(28, 204)
      .mask();
}
template <>
std::vector<std::byte> defined_bits<CmRtu>() {
  return Layout(232).bytes(0, 232).mask();
}
template <>
std::vector<std::byte> defined_bits<CmMra>() {
  return Layout(232).bytes(0, 8).bits(8, 0xC0).bits(9, 0xF8).bytes(10, 222).mask();
}
template <>
std::vector<std::byte> defined_bits<CmRej>() {
  return Layout(232).bytes(0, 8).bits(8, 0xC0).bits(9, 0xFE).bytes(10, 222).mask();
}
template <>
std::vector<std::byte> defined_bits<CmDreq>() {
  return Layout(232).bytes(0, 11).bytes(12, 220).mask();
}
template <>
std::vector<std::byte> defined_bits<CmDrep>() {
  return Layout(232).bytes(0, 232).mask();
}
template <>
std::vector<std::byte> defined_bits<CmLap>() {
  return Layout(232)
      .bytes(0, 8)
      .bytes(12, 3)
      .bits(15, 0xF8)
      .bytes(20, 38)
      .bits(58, 0xF0)
      .bytes(59, 2)
      .bits(61, 0x3F)
      .bits(62, 0xF8)
      .bits(63, 0xF8)
      .bytes(64, 168)
      .mask();
}
template <>
std::vector<std::byte> defined_bits<CmApr>() {
  return Layout(232).bytes(0, 232).bits(10, 0).bits(11, 0).mask();
}
template <>
std::vector<std::byte> defined_bits<CmSidrReq>() {
  return Layout(232).bytes(0, 6).bytes(8, 224).mask();
}
template <>
std::vector<std::byte> defined_bits<CmSidrRep>() {
  return Layout(232).bytes(0, 6).bytes(8, 3).bytes(12, 220).mask();
}

template <class Message>
class EveryCmMessage : public testing::Test {};

using Messages = testing::Types<MadHeader, CmReq, CmRep, CmRtu, CmMra, CmRej, CmDreq, CmDrep, CmLap,
                                CmApr, CmSidrReq, CmSidrRep>;
TYPED_TEST_SUITE(EveryCmMessage, Messages);

TYPED_TEST(EveryCmMessage, IsWrittenBackAsItWasReadWithReservedBitsZero) {
  const std::vector<std::byte> mask = defined_bits<TypeParam>();
  ASSERT_EQ(mask.size(), TypeParam::kSize);
  std::mt19937_64 random{11};
  for (int round = 0; round < kCmMessagesRounds; ++round) {
    std::vector<std::byte> bytes(TypeParam::kSize);
    std::vector<std::byte> expected(TypeParam::kSize);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(random());
      expected[i] = bytes[i] & mask[i];
    }
    const auto value = TypeParam::parse(bytes);
    ASSERT_TRUE(value);
    std::vector<std::byte> written(TypeParam::kSize, std::byte{0xA5});
    value->write(written);
    ASSERT_EQ(written, expected);
    ASSERT_EQ(TypeParam::parse(written), value) << "a field is read from reserved bits";
  }
}

TYPED_TEST(EveryCmMessage, IsNotReadFromFewerBytesThanItHas) {
  const std::vector<std::byte> bytes(TypeParam::kSize);
  EXPECT_TRUE(TypeParam::parse(bytes));
  EXPECT_FALSE(TypeParam::parse(Bytes(bytes).first(bytes.size() - 1)));
  EXPECT_FALSE(TypeParam::parse({}));
}

TEST(CmFields, StandWhereTheStandardPutsThem) {
  CmReq req{.remote_cm_timeout = 20, .transport = CmTransport::kUc, .flow_control = true};
  req.path_mtu = 5;
  req.rnr_retry = 6;
  req.max_cm_retries = 15;
  req.extended_transport = CmReq::kExtendedXrc;
  req.primary.flow_label = 0x434EF;
  req.primary.packet_rate = 3;
  std::array<std::byte, CmReq::kSize> bytes;
  req.write(bytes);
  EXPECT_EQ(load_u8(bytes.data() + 43), 20 << 3 | 1 << 1 | 1);
  EXPECT_EQ(load_u8(bytes.data() + 50), 5 << 4 | 6);
  EXPECT_EQ(load_u8(bytes.data() + 51), 15 << 4 | 1);
  EXPECT_EQ(load_be32(bytes.data() + 88), 0x434E'F003u);
}

struct Mad {
  std::string where;
  MadHeader header;
  std::vector<std::byte> body;
  [[nodiscard]] CmMessage id() const { return static_cast<CmMessage>(header.attribute_id); }
};

void add_mad(std::vector<Mad>& into, const std::string& where, Bytes payload) {
  const auto header = MadHeader::parse(payload);
  if (payload.size() != kMadSize || !header || header->mgmt_class != MgmtClass::kCommMgt) return;
  const Bytes body = payload.subspan(MadHeader::kSize);
  into.push_back({where, *header, {body.begin(), body.end()}});
}

const std::vector<Mad>& genuine() {
  static const std::vector<Mad> mads = [] {
    std::vector<Mad> all;
    for (const auto& packet : test::link_packets()) {
      const auto walked = walk_link_packet(packet.bytes);
      if (walked && walked->transport) add_mad(all, packet.where, walked->transport->payload);
    }
    for (const auto& packet : test::roce_frames()) {
      const auto walked = walk_transport_packet(parse_ethernet(packet.bytes)->transport);
      if (walked) add_mad(all, packet.where, walked->payload);
    }
    return all;
  }();
  return mads;
}

std::vector<Mad> of(const std::string& file) {
  std::vector<Mad> some;
  std::copy_if(genuine().begin(), genuine().end(), std::back_inserter(some),
               [&](const Mad& mad) { return mad.where.starts_with(file + " "); });
  return some;
}

template <class Message>
void expect_same_when_written(const Mad& mad) {
  const auto message = Message::parse(mad.body);
  ASSERT_TRUE(message) << mad.where;
  std::vector<std::byte> written(Message::kSize, std::byte{0x5A});
  message->write(written);
  EXPECT_EQ(written, mad.body) << mad.where;
}

TEST(GenuineCmMessages, AreWrittenAsTheirSendersWroteThem) {
  std::map<CmMessage, int> seen;
  for (const Mad& mad : genuine()) {
    ++seen[mad.id()];
    EXPECT_EQ(mad.header.class_version, kCmClassVersion) << mad.where;
    EXPECT_EQ(mad.header.method, MadMethod::kSend) << mad.where;
    switch (mad.id()) {
      case CmMessage::kReq:
        expect_same_when_written<CmReq>(mad);
        break;
      case CmMessage::kRep:
        expect_same_when_written<CmRep>(mad);
        break;
      case CmMessage::kRtu:
        expect_same_when_written<CmRtu>(mad);
        break;
      case CmMessage::kRej:
        expect_same_when_written<CmRej>(mad);
        break;
      case CmMessage::kDreq:
        expect_same_when_written<CmDreq>(mad);
        break;
      case CmMessage::kDrep:
        expect_same_when_written<CmDrep>(mad);
        break;
      case CmMessage::kSidrReq:
        expect_same_when_written<CmSidrReq>(mad);
        break;
      case CmMessage::kSidrRep:
        expect_same_when_written<CmSidrRep>(mad);
        break;
      default:
        ADD_FAILURE() << mad.where << ": " << to_string(mad.id());
    }
  }
  EXPECT_GE(seen[CmMessage::kReq], 11);
  EXPECT_EQ(seen[CmMessage::kReq], seen[CmMessage::kRep] + seen[CmMessage::kRej]);
  EXPECT_EQ(seen[CmMessage::kRep], seen[CmMessage::kRtu]);
  EXPECT_EQ(seen[CmMessage::kDreq], seen[CmMessage::kDrep]);
  EXPECT_GE(seen[CmMessage::kSidrReq], 1);
  EXPECT_EQ(seen[CmMessage::kRej], 1);
}

TEST(GenuineCmMessages, SayWhatLinuxAndRpingMeant) {
  const std::vector<Mad> mads = of("cm-rping.pcap");
  ASSERT_EQ(mads.size(), 5u);
  const CmReq req = *CmReq::parse(mads[0].body);
  const Gid client = Gid::from_ipv4(0x0A4D'0002);
  const Gid server = Gid::from_ipv4(0x0A4D'0003);
  EXPECT_EQ(req.local_comm_id, CommId{0xEB3A'4FDB});
  EXPECT_EQ(req.service_id, ip_service_id(PortSpace::kTcp, 7174));
  EXPECT_EQ(req.service_id.value(), 0x0000'0000'0106'1C06u);
  EXPECT_EQ(req.local_ca_guid, Guid{0x5054'00FF'FE8C'264F});
  EXPECT_EQ(req.local_qpn, Qpn{0x3B});
  EXPECT_EQ(req.starting_psn, Psn{0xEB9D76});
  EXPECT_EQ(req.responder_resources, 1);
  EXPECT_EQ(req.initiator_depth, 1);
  EXPECT_EQ(req.remote_cm_timeout, 20);
  EXPECT_EQ(req.local_cm_timeout, 20);
  EXPECT_EQ(req.max_cm_retries, 15);
  EXPECT_EQ(req.transport, CmTransport::kRc);
  EXPECT_EQ(req.path_mtu, 5);
  EXPECT_EQ(req.pkey, kDefaultPKey);
  EXPECT_EQ(req.primary.local_lid, Lid{CmPath::kPermissiveLid});
  EXPECT_EQ(req.primary.local_gid, client);
  EXPECT_EQ(req.primary.remote_gid, server);
  EXPECT_EQ(req.primary.flow_label, (0xA5F7u * 31 + 7174) & 0xFFFFF);
  EXPECT_EQ(req.primary.hop_limit, 64);
  EXPECT_EQ(req.primary.ack_timeout, 19);
  EXPECT_EQ(req.alternate, CmPath{});

  const auto ip = CmIpHeader::parse(req.private_data);
  ASSERT_TRUE(ip);
  EXPECT_EQ(*ip, CmIpHeader::between(client, 0xA5F7, server));
  EXPECT_EQ(ip->source_gid(), client);
  EXPECT_EQ(ip->destination_gid(), server);

  const CmRep rep = *CmRep::parse(mads[1].body);
  EXPECT_EQ(rep.remote_comm_id, req.local_comm_id);
  EXPECT_EQ(rep.starting_psn, Psn{0xD5CA6B});
  EXPECT_EQ(rep.target_ack_delay, 15);
  EXPECT_EQ(rep.rnr_retry, 7);
  EXPECT_EQ(CmDreq::parse(mads[3].body)->remote_qpn, rep.local_qpn);
}

TEST(GenuineCmMessages, SayThatNobodyListens) {
  const std::vector<Mad> mads = of("cm-reject.pcap");
  ASSERT_EQ(mads.size(), 2u);
  const CmRej rej = *CmRej::parse(mads[1].body);
  EXPECT_EQ(rej.reason, RejectReason::kInvalidServiceId);
  EXPECT_EQ(rej.message, CmAnswered::kReq);
  EXPECT_EQ(rej.local_comm_id, CommId{0});
  EXPECT_EQ(rej.remote_comm_id, CmReq::parse(mads[0].body)->local_comm_id);
}

TEST(GenuineCmMessages, ResolveAServiceOfDatagrams) {
  const std::vector<Mad> mads = of("cm-udaddy.pcap");
  ASSERT_EQ(mads.size(), 2u);
  const CmSidrReq request = *CmSidrReq::parse(mads[0].body);
  const CmSidrRep reply = *CmSidrRep::parse(mads[1].body);
  EXPECT_EQ(request.service_id.value() >> 16, 0x0111u);
  EXPECT_EQ(reply.request_id, request.request_id);
  EXPECT_EQ(reply.status, SidrStatus::kValid);
  EXPECT_EQ(reply.service_id, request.service_id);
  EXPECT_EQ(reply.qkey, QKey{0x0123'4567});
  EXPECT_NE(reply.qpn, Qpn{0});
}

TEST(CmIpHeader, IsWhatLinuxWrites) {
  int headers = 0;
  for (const Mad& mad : genuine()) {
    Bytes data;
    if (mad.id() == CmMessage::kReq) data = Bytes(mad.body).subspan(140);
    if (mad.id() == CmMessage::kSidrReq) data = Bytes(mad.body).subspan(16);
    const auto header = CmIpHeader::parse(data);
    if (!header) continue;  // the captures of 2008 are older than the annex
    ++headers;
    std::vector<std::byte> written(CmIpHeader::kSize);
    CmIpHeader::between(header->source_gid(), header->source_port, header->destination_gid())
        .write(written);
    EXPECT_TRUE(std::equal(written.begin(), written.end(), data.begin())) << mad.where;
  }
  EXPECT_GE(headers, 10);
}

TEST(CmIpHeader, IsNotReadFromWhatIsNone) {
  std::array<std::byte, CmIpHeader::kSize> bytes{};
  CmIpHeader{.ip_version = 6}.write(bytes);
  EXPECT_TRUE(CmIpHeader::parse(bytes));
  EXPECT_FALSE(CmIpHeader::parse(Bytes(bytes).first(35)));
  bytes[0] = std::byte{0x10};
  EXPECT_FALSE(CmIpHeader::parse(bytes)) << "major version 1";
  bytes[0] = std::byte{0x01};
  EXPECT_TRUE(CmIpHeader::parse(bytes)) << "minor version 1";
  bytes[1] = std::byte{0x50};
  EXPECT_FALSE(CmIpHeader::parse(bytes)) << "IP version 5";
}

TEST(CmNames, AreThereForEveryValueAndForNone) {
  EXPECT_EQ(to_string(CmMessage::kReq), "REQ");
  EXPECT_EQ(to_string(CmMessage::kApr), "APR");
  EXPECT_EQ(to_string(CmMessage{0x000F}), "unknown message");
  EXPECT_EQ(to_string(CmMessage{0x001B}), "unknown message");
  EXPECT_EQ(to_string(RejectReason::kStaleConnection), "stale connection");
  EXPECT_EQ(to_string(RejectReason::kVendorOptionNotSupported), "vendor option not supported");
  EXPECT_EQ(to_string(RejectReason{999}), "reason unknown to IBA");
}

}  // namespace
}  // namespace weft::wire
