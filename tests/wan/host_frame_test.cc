// SPDX-License-Identifier: Apache-2.0
// What hosts on an Ethernet say, as it is carried in packets.
#include "wan/roce/host_frame.h"

#include <gtest/gtest.h>

#include <array>

#include "host_frames.h"
#include "wire/ip.h"
#include "wire/lrh.h"
#include "wire/raw_header.h"
#include "wire/roce_frame.h"

namespace weft::wan::test {
namespace {

class HostFrames : public ::testing::Test {
 protected:
  BufferPool payloads{link::PacketPool::kPayloadBlock, 10};
  link::PacketPool pool{10, payloads};
};

TEST_F(HostFrames, MarksIpv4WithARightChecksumAndOnlyWhereThatIsWanted) {
  for (const bool wanted : {true, false}) {
    Frame frame = rxe_frame("rc-atomic.pcap", kOurs, kTheirs);
    wire::store_u8(frame.data() + 15, wanted ? 1 : 0);
    wire::store_be16(frame.data() + 24, 0);
    wire::store_be16(frame.data() + 24,
                     wire::internet_checksum(Bytes(frame).subspan(14, wire::kIpv4HeaderSize)));
    const auto packet = raw_packet(HostFrame::read(frame), Vl{0}, true, pool);
    std::array<std::byte, kLongestRawPacket> room;
    const HostFrame carried = carried_frame(*packet, room);
    EXPECT_TRUE(packet->vcrc_good());
    EXPECT_EQ(carried.traffic_class, wanted ? 3 : 0);
    const auto read = wire::parse_ethernet(carried.bytes);
    EXPECT_EQ(wire::internet_checksum(read->ip_header), 0);
    EXPECT_TRUE(wire::check_icrc(*read));
  }
}

TEST_F(HostFrames, MarksIpv4WithARightChecksumWhateverElseItSays) {
  Frame frame = rxe_frame("rc-atomic.pcap", kOurs, kTheirs);
  wire::store_u8(frame.data() + 15, 1);
  for (std::uint32_t identification = 0; identification < 0x10000; identification += 37) {
    wire::store_be16(frame.data() + 18, static_cast<std::uint16_t>(identification));
    wire::store_be16(frame.data() + 24, 0);
    wire::store_be16(frame.data() + 24,
                     wire::internet_checksum(Bytes(frame).subspan(14, wire::kIpv4HeaderSize)));
    const auto packet = raw_packet(HostFrame::read(frame), Vl{0}, true, pool);
    std::array<std::byte, kLongestRawPacket> room;
    const HostFrame carried = carried_frame(*packet, room);
    ASSERT_EQ(wire::internet_checksum(carried.bytes.subspan(14, wire::kIpv4HeaderSize)), 0);
  }
}

TEST_F(HostFrames, AskForAddressesOnlyAsTheyCanBe) {
  const auto kind = [](const Frame& frame) { return HostFrame::read(frame).kind; };
  using Kind = HostFrame::Kind;
  EXPECT_EQ(kind(solicitation(kOurs)), Kind::kResolution);
  EXPECT_EQ(kind(question(kOurs)), Kind::kResolution);
  Frame frame = solicitation(kOurs);
  wire::store_u8(frame.data() + 14, 0x40);
  EXPECT_EQ(kind(frame), Kind::kMalformed) << "another version of IP";
  frame = solicitation(kOurs);
  wire::store_be16(frame.data() + 18, 23);
  EXPECT_EQ(kind(frame), Kind::kMalformed) << "it names no address";
  wire::store_be16(frame.data() + 18, 33);
  EXPECT_EQ(kind(frame), Kind::kMalformed) << "it is longer than its frame";
  for (const std::size_t at : {14u, 15u, 16u, 17u, 18u, 19u}) {
    frame = question(kOurs);
    frame[at] ^= std::byte{1};
    EXPECT_EQ(kind(frame), Kind::kMalformed) << "addresses of others, " << at;
  }
}

TEST_F(HostFrames, CarriesFramesAsLongAsAPacketMayBe) {
  const Frame longest(kLongestRawPacket - 14);
  HostFrame frame{.kind = HostFrame::Kind::kRoce, .bytes = longest};
  const auto packet = raw_packet(frame, Vl{0}, false, pool);
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->size(), kLongestRawPacket);
  const Frame longer(longest.size() + 1);
  frame.bytes = longer;
  EXPECT_EQ(raw_packet(frame, Vl{0}, false, pool), nullptr);
}

TEST_F(HostFrames, TakesNothingOutOfOtherPackets) {
  std::array<std::byte, kLongestRawPacket> room;
  const auto carries = [&](const link::Packet& packet) {
    return carried_frame(packet, room).kind != HostFrame::Kind::kMalformed;
  };
  const Frame asked = question(kOurs);
  const auto packet = raw_packet(HostFrame::read(asked), Vl{0}, false, pool);
  EXPECT_TRUE(carries(*packet));
  wire::RawHeader{.ether_type = 0x88B6}.write(packet->header().subspan(wire::Lrh::kSize));
  EXPECT_FALSE(carries(*packet)) << "what routers say of groups";
  wire::RawHeader{.ether_type = 0x6558}.write(packet->header().subspan(wire::Lrh::kSize));
  wire::Lrh lrh = packet->lrh();
  lrh.next_header = wire::Lnh::iba_local;
  packet->rewrite_lrh(lrh);
  EXPECT_FALSE(carries(*packet)) << "it is no raw packet";
  const Frame nothing(wire::Lrh::kSize + 4);
  EXPECT_FALSE(carries(*pool.copy(nothing)));
}

}  // namespace
}  // namespace weft::wan::test
