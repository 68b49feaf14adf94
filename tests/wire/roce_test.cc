// SPDX-License-Identifier: Apache-2.0
#include "wire/roce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "wire/crc.h"
#include "wire/roce_frame.h"

namespace weft::wire {
namespace {

Gid ipv6(std::uint8_t last) {
  std::array<std::uint8_t, 16> bytes{0xFD, 0x77};
  bytes[15] = last;
  return Gid{bytes};
}

std::vector<std::byte> random_transport(std::mt19937_64& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(random());
  return bytes;
}

// An IP packet as a sender would make it, with its ICRC from an IcrcFlow.
std::vector<std::byte> packet_of(Datagram datagram, std::vector<std::byte> transport) {
  datagram.payload_size = transport.size();
  const IcrcFlow flow(datagram.src, datagram.dst, datagram.src_port, datagram.dst_port,
                      datagram.dont_fragment);
  const Bytes covered = Bytes(transport).first(transport.size() - kIcrcSize);
  store_le32(transport.data() + covered.size(), flow.icrc(covered, datagram.identification));
  std::vector<std::byte> packet(48 + transport.size());
  const std::size_t headers = write_ip_udp_headers(packet, datagram);
  std::copy(transport.begin(), transport.end(),
            packet.begin() + static_cast<std::ptrdiff_t>(headers));
  packet.resize(headers + transport.size());
  return packet;
}

// check_icrc masks the real headers byte by byte, IcrcFlow adds up precomputed parts: they meet
// here.
TEST(IcrcFlow, AgreesWithTheHeadersMaskedInFull) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    const bool ipv4 = round % 2 == 0;
    const auto last = static_cast<std::uint8_t>(random());
    const Datagram datagram{
        .src = ipv4 ? Gid::from_ipv4(static_cast<std::uint32_t>(random())) : ipv6(last),
        .dst = ipv4 ? Gid::from_ipv4(static_cast<std::uint32_t>(random())) : ipv6(1),
        .src_port = static_cast<std::uint16_t>(random()),
        .dst_port = static_cast<std::uint16_t>(random()),
        .traffic_class = static_cast<std::uint8_t>(random()),
        .hop_limit = static_cast<std::uint8_t>(random()),
        .identification = ipv4 ? static_cast<std::uint16_t>(random()) : std::uint16_t{0},
        .dont_fragment = round % 4 < 2 || !ipv4,
        .flow_label = ipv4 ? 0 : static_cast<std::uint32_t>(random() & 0xFFFFF)};
    const std::size_t size = 16 + random() % (round < 1900 ? 4200 : 65'000);
    const auto packet = packet_of(datagram, random_transport(random, size));
    const auto frame = parse_ip(packet);
    ASSERT_TRUE(frame) << text(frame.error().error);
    EXPECT_TRUE(check_icrc(*frame));
    Datagram expected = datagram;
    expected.payload_size = size;
    EXPECT_EQ(frame->datagram, expected);
  }
}

// Whatever is in the byte that counts as ones, and whatever the Identification: both change from
// packet to packet, and check_icrc masks the real headers.
TEST(IcrcRun, IsRightForAllPacketsOfItsLengths) {
  std::mt19937_64 random(14);
  for (const bool ipv4 : {true, false}) {
    const Datagram common{.src = ipv4 ? Gid::from_ipv4(0x0A000001) : ipv6(1),
                          .dst = ipv4 ? Gid::from_ipv4(0x0A000002) : ipv6(2),
                          .src_port = 50'000,
                          .dst_port = 4791,
                          .hop_limit = 64};
    const IcrcFlow flow(common.src, common.dst, common.src_port, common.dst_port);
    const std::size_t size = 4112;
    const std::size_t covered = size - kIcrcSize;
    const IcrcRun whole(flow, size, covered);
    const IcrcRun front(flow, size, Bth::kSize);
    EXPECT_TRUE(front.is_for(size, Bth::kSize));
    EXPECT_FALSE(front.is_for(size, covered));
    for (std::uint16_t i = 0; i < 40; ++i) {
      auto transport = random_transport(random, size);
      if (i % 2 == 0) transport[Bth::kUncoveredByte] = std::byte{0};
      const auto identification = static_cast<std::uint16_t>(ipv4 ? i / 2 : 0);
      const Bytes headers = Bytes(transport).first(Bth::kSize);
      const Bytes rest = Bytes(transport).first(covered).subspan(Bth::kSize);
      const std::uint32_t icrc =
          crc32_finish(crc32_update(front.after_headers(headers, identification), rest));
      EXPECT_EQ(whole.icrc(Bytes(transport).first(covered), identification), icrc);
      store_le32(transport.data() + covered, icrc);
      EXPECT_EQ(whole.check(transport, identification), IcrcVerdict::good);

      Datagram datagram = common;
      datagram.payload_size = size;
      datagram.identification = identification;
      std::vector<std::byte> packet(48 + size);
      packet.resize(write_ip_udp_headers(packet, datagram) + size);
      std::copy(transport.begin(), transport.end(),
                packet.end() - static_cast<std::ptrdiff_t>(size));
      const auto frame = parse_ip(packet);
      ASSERT_TRUE(frame) << text(frame.error().error);
      EXPECT_TRUE(check_icrc(*frame)) << "packet " << i;
    }
  }
}

TEST(IcrcFlow, GoesOnFromItsStateOverAMaskedBth) {
  std::mt19937_64 random(12);
  const IcrcFlow flow(Gid::from_ipv4(0x0A000001), Gid::from_ipv4(0x0A000002), 50'000, 4791);
  auto transport = random_transport(random, 200);
  const Bytes covered = Bytes(transport).first(196);
  const std::uint32_t icrc = flow.icrc(covered, 9);
  const std::uint32_t after = flow.after_headers(transport.size(), covered.first(Bth::kSize), 9);
  EXPECT_EQ(crc32_finish(crc32_update(after, covered.subspan(Bth::kSize))), icrc);
  transport[Bth::kUncoveredByte] = std::byte{0xFF};
  EXPECT_EQ(crc32_finish(crc32_update(flow.start(transport.size(), 9), covered)), icrc);
}

TEST(IcrcFlow, TellsAnotherIdentificationFromDamage) {
  std::mt19937_64 random(13);
  const Gid a = Gid::from_ipv4(0xC0A80001);
  const Gid b = Gid::from_ipv4(0xC0A80002);
  const IcrcFlow flow(a, b, 60'000, 4791);
  for (int round = 0; round < 500; ++round) {
    auto transport = random_transport(random, 16 + 4 * (random() % 1100));
    const Bytes covered = Bytes(transport).first(transport.size() - kIcrcSize);
    const auto id = static_cast<std::uint16_t>(random() | 1);
    store_le32(transport.data() + covered.size(), flow.icrc(covered, id));
    EXPECT_EQ(flow.check(transport), IcrcVerdict::other_identification);
    EXPECT_EQ(flow.check(transport, id), IcrcVerdict::good);
    EXPECT_EQ(identification_difference(flow.icrc(covered, id) ^ flow.icrc(covered, 0x1234),
                                        transport.size()),
              id ^ 0x1234);
    const std::size_t at = random() % covered.size();
    if (at == Bth::kUncoveredByte) continue;
    transport[at] ^= std::byte{0x40};
    // 2^16 of 2^32 damages would pass; none of these 500 does.
    EXPECT_EQ(flow.check(transport), IcrcVerdict::bad);
  }
}

TEST(IcrcFlow, HasNoIdentificationToExcuseADifferenceOverIpv6) {
  std::mt19937_64 random(14);
  const IcrcFlow flow(ipv6(1), ipv6(2), 60'000, 4791);
  auto transport = random_transport(random, 64);
  const Bytes covered = Bytes(transport).first(60);
  const IcrcFlow ipv4(Gid::from_ipv4(1), Gid::from_ipv4(2), 1, 2);
  const std::uint32_t difference = ipv4.icrc(covered, 77) ^ ipv4.icrc(covered, 0);
  store_le32(transport.data() + 60, flow.icrc(covered) ^ difference);
  ASSERT_TRUE(identification_difference(difference, 64));
  EXPECT_EQ(flow.check(transport), IcrcVerdict::bad);
}

TEST(IcrcFlow, CallsPacketsWithoutRoomForBthAndIcrcBad) {
  const IcrcFlow flow(ipv6(1), ipv6(2), 60'000, 4791);
  const std::vector<std::byte> bytes(15);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_EQ(flow.check(Bytes(bytes).first(size)), IcrcVerdict::bad);
  }
}

TEST(IpHeaders, HaveARightChecksumOverIpv4) {
  const Datagram datagram{.src = Gid::from_ipv4(0x0A4D0002),
                          .dst = Gid::from_ipv4(0x0A4D0003),
                          .traffic_class = 0x6A,
                          .hop_limit = 7,
                          .identification = 0xBEEF,
                          .payload_size = 1000};
  std::array<std::byte, kIpv4HeaderSize> header;
  write_ipv4_header(header, datagram);
  EXPECT_EQ(internet_checksum(header), 0);
  header[8] ^= std::byte{1};
  EXPECT_NE(internet_checksum(header), 0);
}

TEST(IpHeaders, FillTheAreaInFrontOfAUdMessage) {
  std::array<std::byte, 40> area;
  area.fill(std::byte{0xAA});
  const Datagram over4{
      .src = Gid::from_ipv4(0x7F000001), .dst = Gid::from_ipv4(0x7F000002), .payload_size = 64};
  write_grh_area(area, over4);
  EXPECT_TRUE(
      std::all_of(area.begin(), area.begin() + 20, [](auto b) { return b == std::byte{0}; }));
  EXPECT_EQ(load_u8(area.data() + 20), 0x45);
  EXPECT_EQ(load_be32(area.data() + 32), 0x7F000001u);
  EXPECT_EQ(internet_checksum(Bytes(area).last(20)), 0);

  const Datagram over6{.src = ipv6(1), .dst = ipv6(2), .traffic_class = 8, .payload_size = 64};
  write_grh_area(area, over6);
  const auto header = Grh::parse(area);
  EXPECT_EQ(header->ip_version, 6);
  EXPECT_EQ(header->traffic_class, 8);
  EXPECT_EQ(header->payload_length, 72);
  EXPECT_EQ(header->sgid, ipv6(1));
  EXPECT_EQ(header->dgid, ipv6(2));
}

class Frames : public testing::Test {
 protected:
  std::vector<std::byte> frame(bool ipv4) {
    std::mt19937_64 random(15);
    const Datagram datagram{.src = ipv4 ? Gid::from_ipv4(1) : ipv6(1),
                            .dst = ipv4 ? Gid::from_ipv4(2) : ipv6(2),
                            .src_port = 50'000,
                            .dst_port = kRocePort};
    const auto packet = packet_of(datagram, random_transport(random, 32));
    std::vector<std::byte> bytes(14 + packet.size());
    store_be16(bytes.data() + 12, ipv4 ? 0x0800 : 0x86DD);
    std::copy(packet.begin(), packet.end(), bytes.begin() + 14);
    return bytes;
  }
  static WalkFailure failure(Bytes bytes) {
    const auto parsed = parse_ethernet(bytes);
    return parsed ? WalkFailure{WalkError::too_short, 999} : parsed.error();
  }
};

TEST_F(Frames, AreFoundBehindVlanTagsAndBeforePadding) {
  for (const bool ipv4 : {true, false}) {
    auto bytes = frame(ipv4);
    const std::array<std::byte, 8> tags{std::byte{0x88}, std::byte{0xA8}, std::byte{0},
                                        std::byte{5},    std::byte{0x81}, std::byte{0},
                                        std::byte{0},    std::byte{6}};
    bytes.insert(bytes.begin() + 12, tags.begin(), tags.end());
    bytes.resize(bytes.size() + 13);
    const auto parsed = parse_ethernet(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->transport.size(), 32u);
    EXPECT_TRUE(check_icrc(*parsed));
  }
}

TEST_F(Frames, AreRefusedForWhatIsWrongWithThem) {
  const auto ip4 = frame(true);
  const auto ip6 = frame(false);
  const auto with = [](std::vector<std::byte> bytes, std::size_t at, int value) {
    bytes[at] = static_cast<std::byte>(value);
    return failure(bytes);
  };
  EXPECT_EQ(with(ip4, 13, 0x06), (WalkFailure{WalkError::not_ip, 12}));
  EXPECT_EQ(with(ip4, 14, 0x65), (WalkFailure{WalkError::bad_ip_version, 14}));
  EXPECT_EQ(with(ip4, 14, 0x44), (WalkFailure{WalkError::bad_ip_header_length, 14}));
  EXPECT_EQ(with(ip4, 17, 200), (WalkFailure{WalkError::bad_ip_length, 16}));
  EXPECT_EQ(with(ip4, 17, 19), (WalkFailure{WalkError::bad_ip_length, 16}));
  EXPECT_EQ(with(ip4, 20, 0x20), (WalkFailure{WalkError::fragment, 20}));
  EXPECT_EQ(with(ip4, 21, 1), (WalkFailure{WalkError::fragment, 20}));
  EXPECT_EQ(with(ip4, 23, 6), (WalkFailure{WalkError::not_udp, 23}));
  EXPECT_EQ(with(ip4, 39, 39), (WalkFailure{WalkError::udp_length_mismatch, 38}));
  EXPECT_EQ(with(ip4, 17, 27), (WalkFailure{WalkError::too_short, 34}));
  EXPECT_EQ(with(ip6, 14, 0x45), (WalkFailure{WalkError::bad_ip_version, 14}));
  EXPECT_EQ(with(ip6, 19, 200), (WalkFailure{WalkError::bad_ip_length, 18}));
  EXPECT_EQ(with(ip6, 20, 0), (WalkFailure{WalkError::not_udp, 20}));
  EXPECT_EQ(with(ip6, 59, 39), (WalkFailure{WalkError::udp_length_mismatch, 58}));
}

TEST_F(Frames, AreRefusedAtEveryTruncation) {
  for (const bool ipv4 : {true, false}) {
    const auto bytes = frame(ipv4);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<std::byte> cut(bytes.begin(),
                                       bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(parse_ethernet(cut)) << size;
      EXPECT_FALSE(parse_ip(Bytes(cut).subspan(std::min<std::size_t>(14, size)))) << size;
    }
  }
}

TEST_F(Frames, KeepAGoodIcrcWithIpv4Options) {
  auto bytes = frame(true);
  // Four bytes of no-operation options: covered by the ICRC like any other byte.
  bytes.insert(bytes.begin() + 34, 4, std::byte{1});
  bytes[14] = std::byte{0x46};
  store_be16(bytes.data() + 16, 64);
  const auto parsed = parse_ethernet(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->ip_header.size(), 24u);
  EXPECT_FALSE(check_icrc(*parsed));
  std::vector<std::byte> covered(8 + bytes.size() - 14 - 4, std::byte{0xFF});
  std::copy(bytes.begin() + 14, bytes.end() - 4, covered.begin() + 8);
  for (const std::size_t at : {8 + 1, 8 + 8, 8 + 10, 8 + 11, 8 + 24 + 6, 8 + 24 + 7, 8 + 32 + 4}) {
    covered[at] = std::byte{0xFF};
  }
  store_le32(bytes.data() + bytes.size() - 4, crc32_finish(crc32_update(kIcrcPreset, covered)));
  EXPECT_TRUE(check_icrc(*parse_ethernet(bytes)));
}

}  // namespace
}  // namespace weft::wire
