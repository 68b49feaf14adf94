// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/cell.h"

#include <gtest/gtest.h>

#include "cell_stage.h"
#include "wan/line/atm/cell_source.h"

namespace weft::wan::atm {
namespace {

TEST(Cell, HeadersHaveTheChecksOfTheVectors) {
  EXPECT_EQ(header_check(from_hex("00000001")), 0x52);
  EXPECT_EQ(header_check(from_hex("00000000")), 0x55);
  EXPECT_EQ(header_check(from_hex("00001f50")), 0x76);
  EXPECT_EQ(header_check(from_hex("0123456a")), 0xB6);
}

TEST(Cell, HeadersAreReadAsTheyAreWritten) {
  Octets bytes(kHeaderSize);
  write_header({.channel = {.vpi = 0, .vci = 100}, .payload_type = 1}, bytes);
  EXPECT_EQ(to_hex(bytes), "00000642e2");
  Random random(1);
  for (int round = 0; round < 1000; ++round) {
    const CellHeader header{.gfc = static_cast<std::uint8_t>(random.below(16)),
                            .channel = {.vpi = static_cast<std::uint8_t>(random.next()),
                                        .vci = static_cast<std::uint16_t>(random.next())},
                            .payload_type = static_cast<std::uint8_t>(random.below(8)),
                            .low_priority = random.chance(0.5)};
    write_header(header, bytes);
    EXPECT_EQ(read_header(bytes), header);
    EXPECT_TRUE(checks_right(bytes));
  }
}

TEST(Cell, TellsWhichOneBitOfAHeaderIsWrongAndThatTwoAreNotNone) {
  Octets bytes(kHeaderSize);
  write_header({.gfc = 3, .channel = {.vpi = 77, .vci = 4711}, .payload_type = 2}, bytes);
  EXPECT_EQ(single_wrong_bit(bytes), std::nullopt);
  for (unsigned first = 0; first < 40; ++first) {
    bytes[first / 8] ^= static_cast<std::byte>(0x80U >> first % 8);
    EXPECT_EQ(single_wrong_bit(bytes), first);
    for (unsigned second = 0; second < first; ++second) {
      bytes[second / 8] ^= static_cast<std::byte>(0x80U >> second % 8);
      EXPECT_FALSE(checks_right(bytes));
      bytes[second / 8] ^= static_cast<std::byte>(0x80U >> second % 8);
    }
    bytes[first / 8] ^= static_cast<std::byte>(0x80U >> first % 8);
  }
}

TEST(Cell, KnowsThoseOfNoConnection) {
  EXPECT_EQ(to_hex(idle_cell()).substr(0, 14), "00000001526a6a");
  EXPECT_EQ(empty_kind(idle_cell()), EmptyCell::kIdle);
  EXPECT_EQ(empty_kind(from_hex("0000000055")), EmptyCell::kUnassigned);
  EXPECT_EQ(empty_kind(from_hex("3000000b00")), EmptyCell::kUnassigned);
  EXPECT_EQ(empty_kind(from_hex("0000005100")), EmptyCell::kNo);
  EXPECT_EQ(empty_kind(from_hex("0010000100")), EmptyCell::kNo);
}

TEST(CellSource, IsIdleWithoutCellsAndFillsAnyPieces) {
  CellSource source({}, false);
  Octets line(10 * kCellSize);
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t size = std::min<std::size_t>(1 + at % 97, line.size() - at);
    source.fill(MutableBytes(line).subspan(at, size));
    at += size;
  }
  for (std::size_t cell = 0; cell < 10; ++cell) {
    EXPECT_TRUE(std::ranges::equal(Bytes(line).subspan(cell * kCellSize, kCellSize), idle_cell()));
  }
}

TEST(CellSource, AsksTheFirstFeedFirst) {
  Random random(2);
  QueuedCells urgent;
  QueuedCells rest;
  const Octets payload = random_octets(random, kPayloadSize);
  rest.push({.channel = {.vpi = 0, .vci = 50}}, payload);
  urgent.push({.channel = {.vpi = 0, .vci = 40}}, payload);
  CellSource source({&urgent, &rest}, false);
  Octets line(3 * kCellSize);
  source.fill(line);
  EXPECT_EQ(read_header(Bytes(line)).channel.vci, 40);
  EXPECT_EQ(read_header(Bytes(line).subspan(kCellSize)).channel.vci, 50);
  EXPECT_EQ(empty_kind(Bytes(line).subspan(2 * kCellSize)), EmptyCell::kIdle);
}

}  // namespace
}  // namespace weft::wan::atm
