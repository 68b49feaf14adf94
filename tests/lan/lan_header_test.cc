// SPDX-License-Identifier: Apache-2.0
#include "lan/lan_header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "datagram_of.h"

namespace weft::lan {
namespace {

using Message = std::vector<std::byte>;

Message message_of(const LanHeader& header, std::size_t part) {
  Message out(LanHeader::kSize + part, std::byte{0xAA});
  header.write(out);
  return out;
}

LanHeader of_200_bytes() {
  return {.number = 7, .total = 200};
}

LanHeader with(Offload offload) {
  LanHeader header = of_200_bytes();
  header.offload = offload;
  return header;
}

void expect_refused(const Message& message, NoMessage why) {
  const auto read = LanMessage::parse(message);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), why);
}

// docs/lan.md has these bytes as a table.
TEST(LanHeader, HasTheBytesOfTheTable) {
  const LanHeader header{.kind = MessageKind::kFrame,
                         .offload = {.gso = Offload::Gso::kTcpv6,
                                     .ecn = true,
                                     .needs_checksum = true,
                                     .checksum_valid = true,
                                     .gso_size = 0x0102,
                                     .header_length = 0x0304,
                                     .checksum_start = 0x0506,
                                     .checksum_offset = 0x0708},
                         .number = 0x11121314,
                         .total = 0x00010000,
                         .offset = 0x00002128};
  const Message message = message_of(header, 8);
  const std::array<int, LanHeader::kSize> expected{0x57, 0x4C, 0x11, 0xE4, 0x11, 0x12, 0x13, 0x14,
                                                   0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x21, 0x28,
                                                   0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(std::to_integer<int>(message[i]), expected[i]) << i;
  const auto read = LanMessage::parse(message);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->header, header);
  EXPECT_EQ(read->part.size(), 8u);
  EXPECT_FALSE(read->whole());
}

TEST(LanHeader, IsRefusedWhenItIsOfSomethingElse) {
  Message message = message_of(of_200_bytes(), 200);
  EXPECT_TRUE(LanMessage::parse(message)->whole());
  expect_refused(Message(message.begin(), message.begin() + LanHeader::kSize - 1),
                 NoMessage::kOther);
  message[0] = std::byte{0x58};
  expect_refused(message, NoMessage::kOther);
  message[0] = std::byte{0x57};
  for (const int version_and_kind : {0x01, 0x21, 0x10, 0x13}) {
    message[2] = static_cast<std::byte>(version_and_kind);
    expect_refused(message, NoMessage::kVersion);
  }
}

TEST(LanHeader, IsRefusedWhenItsPartDoesNotLieInTheFrame) {
  expect_refused(message_of(of_200_bytes(), 0), NoMessage::kMalformed);
  expect_refused(message_of(of_200_bytes(), 201), NoMessage::kMalformed);
  LanHeader header = of_200_bytes();
  header.offset = 192;
  EXPECT_TRUE(LanMessage::parse(message_of(header, 8)));
  expect_refused(message_of(header, 16), NoMessage::kMalformed);
  header.offset = 4;
  expect_refused(message_of(header, 8), NoMessage::kMalformed);
  // Only the last part is of any length.
  expect_refused(message_of(of_200_bytes(), 199), NoMessage::kMalformed);
  header = {.total = kLongestFrame};
  EXPECT_TRUE(LanMessage::parse(message_of(header, 8)));
  Message longer = message_of(header, 8);
  longer[8 + 3] = static_cast<std::byte>(std::to_integer<unsigned>(longer[8 + 3]) + 1);
  expect_refused(longer, NoMessage::kMalformed);
  longer = message_of(of_200_bytes(), 8);
  longer[12] = std::byte{0xFF};  // far behind the end
  expect_refused(longer, NoMessage::kMalformed);
}

TEST(LanHeader, IsRefusedWhenOffloadsReachBeyondTheFrame) {
  const auto refused = [](Offload offload) {
    expect_refused(message_of(with(offload), 200), NoMessage::kMalformed);
  };
  EXPECT_TRUE(LanMessage::parse(message_of(
      with({.needs_checksum = true, .checksum_start = 182, .checksum_offset = 16}), 200)));
  refused({.needs_checksum = true, .checksum_start = 183, .checksum_offset = 16});
  refused({.needs_checksum = true, .checksum_start = 0xFFFF, .checksum_offset = 0xFFFF});
  refused({.gso = Offload::Gso::kTcpv4, .gso_size = 0});
  refused({.gso = Offload::Gso::kTcpv4, .gso_size = 100, .header_length = 201});
  refused({.gso = Offload::Gso::kUdp, .ecn = true, .gso_size = 100});
  refused({.ecn = true});
  refused({.gso = static_cast<Offload::Gso>(3), .gso_size = 100});
  Message reserved = message_of(of_200_bytes(), 200);
  reserved[3] = std::byte{0x08};
  expect_refused(reserved, NoMessage::kMalformed);
}

// The MTUs of IBA, and a length of frame at each edge.
TEST(Segments, CoverTheFrameOnceAndFitTheMtu) {
  for (const std::size_t mtu : {256U, 512U, 1024U, 2048U, 4096U}) {
    const std::size_t most = Segments::most_part(mtu);
    EXPECT_EQ(most, mtu - LanHeader::kSize);  // nothing is lost to rounding
    for (const std::size_t size : {std::size_t{1}, most - 1, most, most + 1, 2 * most,
                                   kMostMtu + kEthernetHeader, kLongestFrame}) {
      const Message frame(size, std::byte{1});
      std::size_t covered = 0;
      std::size_t count = 0;
      for (Segments segments({}, frame, mtu); !segments.done(); segments.next()) {
        const Message datagram = test::datagram_of(segments.head(), segments.part());
        ASSERT_LE(datagram.size(), mtu);
        const auto read = LanMessage::parse(datagram);
        ASSERT_TRUE(read);
        ASSERT_EQ(read->header.offset, covered);
        ASSERT_EQ(read->header.total, size);
        ASSERT_EQ(segments.part().data(), frame.data() + covered);
        covered += read->part.size();
        ++count;
      }
      EXPECT_EQ(covered, size);
      EXPECT_EQ(count, Segments::count(size, mtu));
    }
  }
}

}  // namespace
}  // namespace weft::lan
