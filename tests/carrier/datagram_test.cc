// SPDX-License-Identifier: Apache-2.0
// The format of the datagrams between parts, byte for byte as docs/fabric.md has it.
#include "carrier/datagram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weft::carrier {
namespace {

using ::testing::ElementsAreArray;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values)
    out.push_back(std::byte(value));
  return out;
}

const std::vector<std::byte> kHello =
    bytes({'W',  'L',  1,    1,    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
           0,    0,    0,    0,    0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
           0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x80, 3,    7,    1});

std::vector<std::byte> of_kind(int kind, std::size_t contents) {
  auto out = bytes({'W', 'L', 1, kind, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9});
  out.resize(16 + contents, std::byte{0x5A});
  return out;
}

TEST(Datagram, HelloIsAsDocumented) {
  std::vector<std::byte> out(DatagramHead::kSize + Hello::kSize);
  DatagramHead{.kind = DatagramKind::kHello, .key = 0x1112131415161718}.write(out);
  constexpr link::Training kTraining{.widths = 3, .speeds = 7, .extended_speeds = 1};
  Hello{.own_key = 0x2122232425262728,
        .link = 0x3132333435363738,
        .wants_answer = true,
        .training = kTraining}
      .write(MutableBytes(out).subspan(DatagramHead::kSize));
  EXPECT_THAT(out, ElementsAreArray(kHello));
  const auto parsed = Datagram::parse(kHello);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->head.kind, DatagramKind::kHello);
  EXPECT_EQ(parsed->head.key, 0x1112131415161718);
  EXPECT_EQ(parsed->hello.own_key, 0x2122232425262728);
  EXPECT_EQ(parsed->hello.link, 0x3132333435363738);
  EXPECT_TRUE(parsed->hello.wants_answer);
  EXPECT_EQ(parsed->hello.training, kTraining);
}

TEST(Datagram, HasThePacketBehindItsSequenceNumber) {
  const auto datagram = of_kind(3, 100);
  const auto parsed = Datagram::parse(datagram);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->head.kind, DatagramKind::kPacket);
  EXPECT_EQ(parsed->head.key, 7);
  EXPECT_EQ(parsed->head.sequence, 9);
  EXPECT_EQ(parsed->contents.size(), 100);
}

TEST(Datagram, IsRefusedWithAnotherMagicVersionOrKind) {
  for (const std::size_t at : {0U, 1U, 2U}) {
    auto datagram = kHello;
    datagram[at] ^= std::byte{1};
    EXPECT_FALSE(Datagram::parse(datagram)) << at;
  }
  for (const int kind : {0, 6, 255})
    EXPECT_FALSE(Datagram::parse(of_kind(kind, 0))) << kind;
}

TEST(Datagram, IsRefusedWithALengthThatItsKindCannotHave) {
  EXPECT_FALSE(Datagram::parse({}));
  EXPECT_FALSE(Datagram::parse(of_kind(2, 1)));
  EXPECT_FALSE(Datagram::parse(of_kind(5, 1)));
  EXPECT_TRUE(Datagram::parse(of_kind(2, 0)));
  EXPECT_TRUE(Datagram::parse(of_kind(5, 0)));
  EXPECT_FALSE(Datagram::parse(of_kind(3, 9)));
  EXPECT_TRUE(Datagram::parse(of_kind(3, 10)));
  EXPECT_TRUE(Datagram::parse(of_kind(3, link::kLongestPacket)));
  EXPECT_FALSE(Datagram::parse(of_kind(3, link::kLongestPacket + 1)));
  EXPECT_FALSE(Datagram::parse(of_kind(4, 5)));
  EXPECT_TRUE(Datagram::parse(of_kind(4, 6)));
  EXPECT_FALSE(Datagram::parse(of_kind(4, 7)));
  for (const std::size_t size : {15U, 16U, 35U}) {
    EXPECT_FALSE(Datagram::parse(Bytes(kHello).first(size))) << size;
  }
}

TEST(Datagram, HelloWithoutAKeyIsNone) {
  auto datagram = kHello;
  std::fill_n(datagram.begin() + 16, 8, std::byte{});
  EXPECT_FALSE(Datagram::parse(datagram));
}

}  // namespace
}  // namespace weft::carrier
