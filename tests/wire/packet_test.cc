// SPDX-License-Identifier: Apache-2.0
#include "wire/packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "capture.h"
#include "wire/link_crc.h"

namespace weft::wire {
namespace {

using test::CapturedPacket;

// A transport packet with room for its opcode's headers, `payload` bytes, pad and ICRC.
std::vector<std::byte> transport_packet(Opcode opcode, std::size_t payload) {
  const std::uint8_t pad = pad_count_for(payload);
  std::vector<std::byte> bytes(Bth::kSize + info(opcode).headers_size + payload + pad + kIcrcSize);
  Bth{.opcode = opcode, .pad_count = pad, .pkey = kDefaultPKey, .dest_qp = Qpn{0x12}}.write(bytes);
  return bytes;
}

std::vector<std::byte> link_packet(Lnh next_header, Bytes rest) {
  std::vector<std::byte> bytes(Lrh::kSize + rest.size() + kVcrcSize);
  const auto words = static_cast<std::uint16_t>((Lrh::kSize + rest.size()) / 4);
  Lrh{.next_header = next_header, .dlid = Lid{2}, .packet_words = words, .slid = Lid{1}}.write(
      bytes);
  std::copy(rest.begin(), rest.end(), bytes.begin() + Lrh::kSize);
  return bytes;
}

std::vector<std::byte> global_packet(Opcode opcode, std::size_t payload) {
  const std::vector<std::byte> transport = transport_packet(opcode, payload);
  std::vector<std::byte> rest(Grh::kSize + transport.size());
  Grh{.payload_length = static_cast<std::uint16_t>(transport.size())}.write(rest);
  std::copy(transport.begin(), transport.end(), rest.begin() + Grh::kSize);
  return link_packet(Lnh::iba_global, rest);
}

void set(std::vector<std::byte>& bytes, std::size_t at, int value) {
  bytes[at] = static_cast<std::byte>(value);
}

WalkFailure link_failure(Bytes bytes) {
  const auto packet = walk_link_packet(bytes);
  return packet ? WalkFailure{WalkError::too_short, 999} : packet.error();
}

WalkFailure transport_failure(Bytes bytes) {
  const auto packet = walk_transport_packet(bytes);
  return packet ? WalkFailure{WalkError::too_short, 999} : packet.error();
}

TEST(Walker, FindsTheHeadersOfEveryOpcodeInTheirOrder) {
  std::mt19937_64 random(3);
  for (std::size_t code = 0; code < 256; ++code) {
    const auto opcode = static_cast<Opcode>(code);
    const OpcodeInfo& properties = info(opcode);
    if (!properties.known()) continue;
    std::vector<std::byte> bytes = transport_packet(opcode, properties.has_payload ? 7 : 0);
    for (std::size_t at = Bth::kSize; at < bytes.size(); ++at)
      set(bytes, at, static_cast<int>(random() & 0xFF));
    const auto packet = walk_transport_packet(bytes);
    ASSERT_TRUE(packet) << properties.name << ": " << text(packet.error().error);

    std::size_t at = Bth::kSize;
    const auto expect = [&](ExtendedHeader which, const auto& header) {
      ASSERT_EQ(header.has_value(), properties.has(which)) << properties.name;
      if (!header) return;
      using Header = typename std::remove_cvref_t<decltype(header)>::value_type;
      EXPECT_EQ(header, Header::parse(Bytes(bytes).subspan(at))) << properties.name;
      at += Header::kSize;
    };
    expect(kRdeth, packet->rdeth);
    expect(kDeth, packet->deth);
    expect(kXrceth, packet->xrceth);
    expect(kFeth, packet->feth);
    expect(kReth, packet->reth);
    expect(kAtomicEth, packet->atomic_eth);
    expect(kAeth, packet->aeth);
    expect(kAtomicAckEth, packet->atomic_ack_eth);
    expect(kIeth, packet->ieth);
    expect(kImmDt, packet->imm_dt);
    expect(kRidingAck, packet->riding_ack);
    EXPECT_EQ(packet->payload.data(), bytes.data() + at) << properties.name;
    EXPECT_EQ(packet->payload.size(), properties.has_payload ? 7u : 0u) << properties.name;
    EXPECT_EQ(packet->icrc, load_le32(bytes.data() + bytes.size() - 4)) << properties.name;
  }
}

TEST(Walker, RefusesReservedOpcodes) {
  std::vector<std::byte> bytes(64);
  for (std::size_t code = 0; code < 256; ++code) {
    set(bytes, 0, static_cast<int>(code));
    if (kOpcodes[code].known()) continue;
    EXPECT_EQ(transport_failure(bytes), (WalkFailure{WalkError::unknown_opcode, 0})) << code;
  }
}

TEST(Walker, RefusesAnotherTransportVersion) {
  auto bytes = transport_packet(Opcode::rc_send_only, 4);
  set(bytes, 1, 0x01);
  EXPECT_EQ(transport_failure(bytes), (WalkFailure{WalkError::bad_transport_version, 1}));
}

TEST(Walker, RefusesMorePadThanPayload) {
  auto bytes = transport_packet(Opcode::rc_send_only, 0);
  set(bytes, 1, 0x10);
  EXPECT_EQ(transport_failure(bytes), (WalkFailure{WalkError::pad_exceeds_payload, 1}));
}

TEST(Walker, GivesAnEmptyPayloadWhenAllOfItIsPad) {
  auto bytes = transport_packet(Opcode::rc_send_only, 4);
  set(bytes, 1, 0x30);
  EXPECT_EQ(walk_transport_packet(bytes)->payload.size(), 1u);
}

TEST(Walker, RefusesPayloadWhereTheOpcodeHasNone) {
  auto bytes = transport_packet(Opcode::rc_acknowledge, 0);
  bytes.resize(bytes.size() + 4);
  EXPECT_EQ(transport_failure(bytes), (WalkFailure{WalkError::unexpected_payload, 16}));
}

TEST(Walker, RefusesLengthsThatAreNotWholeWords) {
  auto bytes = transport_packet(Opcode::rc_send_only, 8);
  bytes.pop_back();
  EXPECT_EQ(transport_failure(bytes), (WalkFailure{WalkError::unaligned_length, 0}));
}

TEST(Walker, RefusesAPacketThatEndsInItsExtendedHeaders) {
  auto bytes = transport_packet(Opcode::rc_write_only, 0);
  bytes.resize(bytes.size() - 4);
  EXPECT_EQ(transport_failure(bytes), (WalkFailure{WalkError::too_short, 12}));
  EXPECT_EQ(transport_failure(Bytes(bytes).first(11)), (WalkFailure{WalkError::too_short, 0}));
}

TEST(Walker, TakesAManufacturersOpcodeAsPayloadOnly) {
  const auto bytes = transport_packet(static_cast<Opcode>(0xE0), 20);
  EXPECT_EQ(walk_transport_packet(bytes)->payload.size(), 20u);
}

TEST(Walker, RefusesAPacketShorterThanItsLengthField) {
  auto bytes = link_packet(Lnh::iba_local, transport_packet(Opcode::rc_send_only, 40));
  ASSERT_TRUE(walk_link_packet(bytes));
  bytes.resize(bytes.size() - 4);
  EXPECT_EQ(link_failure(bytes), (WalkFailure{WalkError::link_length_mismatch, 4}));
  bytes.resize(bytes.size() + 8);
  EXPECT_EQ(link_failure(bytes), (WalkFailure{WalkError::link_length_mismatch, 4}));
}

TEST(Walker, RefusesLengthFieldsBelowTheLeast) {
  std::vector<std::byte> bytes(22);
  Lrh{.next_header = Lnh::iba_local, .packet_words = 5}.write(bytes);
  EXPECT_EQ(link_failure(bytes), (WalkFailure{WalkError::link_length_too_small, 4}));
  Lrh{.next_header = Lnh::raw, .packet_words = 5}.write(bytes);
  EXPECT_TRUE(walk_link_packet(bytes));
  Lrh{.next_header = Lnh::raw, .packet_words = 4}.write(bytes);
  EXPECT_EQ(link_failure(bytes), (WalkFailure{WalkError::link_length_too_small, 4}));
}

TEST(Walker, RefusesAnotherLinkVersion) {
  auto bytes = link_packet(Lnh::iba_local, transport_packet(Opcode::rc_send_only, 40));
  set(bytes, 0, 0x01);
  EXPECT_EQ(link_failure(bytes), (WalkFailure{WalkError::bad_link_version, 0}));
}

TEST(Walker, RefusesAGrhThatIsNotOne) {
  const auto good = global_packet(Opcode::ud_send_only, 30);
  ASSERT_TRUE(walk_link_packet(good));
  auto bytes = good;
  set(bytes, 8, 0x40);
  EXPECT_EQ(link_failure(bytes), (WalkFailure{WalkError::bad_grh_version, 8}));
  bytes = good;
  set(bytes, 14, 17);
  EXPECT_EQ(link_failure(bytes), (WalkFailure{WalkError::bad_grh_next_header, 14}));
  bytes = good;
  set(bytes, 13, 1);
  EXPECT_EQ(link_failure(bytes), (WalkFailure{WalkError::grh_length_mismatch, 12}));
  bytes = link_packet(Lnh::iba_global, std::vector<std::byte>(36));
  EXPECT_EQ(link_failure(bytes), (WalkFailure{WalkError::too_short, 8}));
}

TEST(Walker, SaysWhereInTheWholePacketATransportHeaderIsWrong) {
  auto bytes = global_packet(Opcode::ud_send_only, 30);
  set(bytes, 48, 0x60);
  EXPECT_EQ(link_failure(bytes), (WalkFailure{WalkError::unknown_opcode, 48}));
}

TEST(Walker, FindsThePayloadOfRawPackets) {
  std::vector<std::byte> rest(24, std::byte{7});
  RawHeader{.ether_type = 0x0800}.write(rest);
  const auto raw_bytes = link_packet(Lnh::raw, rest);
  const auto raw = walk_link_packet(raw_bytes);
  ASSERT_TRUE(raw && raw->raw);
  EXPECT_EQ(raw->raw->ether_type, 0x0800);
  EXPECT_EQ(raw->payload.size(), 20u);
  EXPECT_FALSE(raw->transport);

  const auto ipv6_bytes = link_packet(Lnh::raw_ipv6, rest);
  const auto ipv6 = walk_link_packet(ipv6_bytes);
  ASSERT_TRUE(ipv6);
  EXPECT_FALSE(ipv6->raw);
  EXPECT_EQ(ipv6->payload.size(), 24u);
}

TEST(Walker, SealsRawPacketsWithAVcrcOnly) {
  auto bytes = link_packet(Lnh::raw_ipv6, std::vector<std::byte>(40, std::byte{9}));
  const auto before = bytes;
  seal_link_packet(bytes);
  EXPECT_TRUE(check_link_crcs(bytes).good());
  EXPECT_TRUE(std::equal(before.begin(), before.end() - 2, bytes.begin()));
  set(bytes, 20, 0);
  EXPECT_FALSE(check_link_crcs(bytes).vcrc_good);
}

// Every prefix of every genuine packet, each in a buffer of exactly its size, so that a sanitizer
// sees a read past the end.
TEST(Walker, RefusesEveryTruncationOfGenuinePackets) {
  for (const CapturedPacket& packet : test::link_packets()) {
    for (std::size_t size = 0; size < packet.bytes.size(); ++size) {
      const std::vector<std::byte> cut(packet.bytes.begin(),
                                       packet.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_FALSE(walk_link_packet(cut)) << packet.where << " cut to " << size;
    }
  }
}

TEST(Walker, SurvivesEveryBitFlipOfGenuinePackets) {
  for (CapturedPacket& packet : test::link_packets()) {
    for (std::size_t bit = 0; bit < 8 * packet.bytes.size(); ++bit) {
      const auto mask = static_cast<std::byte>(1 << bit % 8);
      packet.bytes[bit / 8] ^= mask;
      const auto walked = walk_link_packet(packet.bytes);
      if (walked) {
        EXPECT_FALSE(check_link_crcs(packet.bytes).vcrc_good) << packet.where << " bit " << bit;
      } else {
        EXPECT_LE(walked.error().offset, packet.bytes.size());
      }
      packet.bytes[bit / 8] ^= mask;
    }
  }
}

TEST(Walker, HasATextOfItsOwnForEveryError) {
  std::set<std::string_view> texts;
  for (int error = 0; error < static_cast<int>(WalkError::kCount); ++error) {
    EXPECT_FALSE(text(static_cast<WalkError>(error)).empty()) << error;
    EXPECT_TRUE(texts.insert(text(static_cast<WalkError>(error))).second) << error;
  }
  EXPECT_EQ(text(WalkError::udp_length_mismatch), "the UDP length is not what IP carries");
}

TEST(UdFastPath, RefusesWhatIsNotAWellFormedUdSend) {
  UdPacket packet;
  EXPECT_TRUE(walk_ud_packet(transport_packet(Opcode::ud_send_only, 0), packet));
  EXPECT_TRUE(walk_ud_packet(transport_packet(Opcode::ud_send_only_imm, 9), packet));
  EXPECT_FALSE(walk_ud_packet(transport_packet(Opcode::rc_send_only, 100), packet));
  EXPECT_FALSE(walk_ud_packet(transport_packet(Opcode::weft_ud_credit, 100), packet));
  auto bytes = transport_packet(Opcode::ud_send_only, 8);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> cut(bytes.begin(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(walk_ud_packet(cut, packet), size >= 24 && size % 4 == 0) << size;
  }
  set(bytes, 1, 0x02);
  EXPECT_FALSE(walk_ud_packet(bytes, packet));
  auto empty = transport_packet(Opcode::ud_send_only, 0);
  set(empty, 1, 0x10);
  EXPECT_FALSE(walk_ud_packet(empty, packet));
}

}  // namespace
}  // namespace weft::wire
