// SPDX-License-Identifier: Apache-2.0
#include "link/vl_arbitration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

namespace weft::link {
namespace {

using Entry = VlArbitration::Entry;
using Table = VlArbitration::Table;

void set(VlArbitration& arbitration, Table table, std::vector<Entry> entries) {
  arbitration.set(table, 0, entries);
}

// Which lanes send, in order, when the lanes of the mask always have packets of so many bytes.
std::string order(VlArbitration& arbitration, std::uint16_t lanes, int packets,
                  std::size_t bytes = 64) {
  std::string names;
  for (int i = 0; i < packets; ++i) {
    const auto vl = arbitration.choose(lanes);
    if (!vl) return names + '-';
    names += static_cast<char>('0' + vl->value());
    arbitration.sent(bytes);
  }
  return names;
}

TEST(VlArbitration, LetsLanesTakeTurnsAsLongAsNoTableIsSet) {
  VlArbitration arbitration;
  EXPECT_EQ(order(arbitration, 0b1011, 7), "0130130");
  EXPECT_EQ(order(arbitration, 0b0100, 2), "22");
}

TEST(VlArbitration, SharesByWeight) {
  VlArbitration arbitration;
  set(arbitration, Table::kLow, {{Vl{0}, 1}, {Vl{1}, 2}, {Vl{2}, 4}});
  EXPECT_EQ(order(arbitration, 0b111, 14), "01122220112222");
}

TEST(VlArbitration, CountsWeightInBytesNotPackets) {
  VlArbitration arbitration;
  set(arbitration, Table::kLow, {{Vl{0}, 8}, {Vl{1}, 8}});
  std::map<unsigned, std::size_t> bytes;
  for (int i = 0; i < 1000; ++i) {
    const Vl vl = *arbitration.choose(0b11);
    const std::size_t size = vl == Vl{0} ? 64 : 256;
    arbitration.sent(size);
    bytes[vl.value()] += size;
  }
  EXPECT_NEAR(static_cast<double>(bytes[0]) / static_cast<double>(bytes[1]), 1.0, 0.02);
}

TEST(VlArbitration, SendsAWholePacketHoweverLittleWeightIsLeft) {
  VlArbitration arbitration;
  set(arbitration, Table::kLow, {{Vl{0}, 1}, {Vl{1}, 1}});
  EXPECT_EQ(order(arbitration, 0b11, 4, 4096), "0101");
}

TEST(VlArbitration, PassesLanesThatHaveNothingToSend) {
  VlArbitration arbitration;
  set(arbitration, Table::kLow, {{Vl{0}, 3}, {Vl{1}, 3}, {Vl{2}, 3}});
  EXPECT_EQ(order(arbitration, 0b101, 7), "0002220");
}

TEST(VlArbitration, SkipsEntriesOfWeightZero) {
  VlArbitration arbitration;
  set(arbitration, Table::kLow, {{Vl{0}, 0}, {Vl{1}, 1}, {Vl{2}, 0}, {Vl{3}, 1}});
  EXPECT_EQ(order(arbitration, 0b1111, 4), "1313");
}

TEST(VlArbitration, NeverSendsALaneThatIsInNoTable) {
  VlArbitration arbitration;
  set(arbitration, Table::kLow, {{Vl{1}, 1}});
  EXPECT_EQ(order(arbitration, 0b0001, 1), "-");
  EXPECT_EQ(order(arbitration, 0b0011, 2), "11");
}

TEST(VlArbitration, PutsTheHighTableFirst) {
  VlArbitration arbitration;
  set(arbitration, Table::kLow, {{Vl{0}, 4}});
  set(arbitration, Table::kHigh, {{Vl{1}, 4}});
  arbitration.set_high_limit(VlArbitration::kUnlimited);
  EXPECT_EQ(order(arbitration, 0b11, 100), std::string(100, '1'));
  EXPECT_EQ(order(arbitration, 0b01, 2), "00");
}

TEST(VlArbitration, LetsOneLowPacketGoAfterEachHighOneAtLimitZero) {
  VlArbitration arbitration;
  set(arbitration, Table::kLow, {{Vl{0}, 4}});
  set(arbitration, Table::kHigh, {{Vl{1}, 255}});
  EXPECT_EQ(order(arbitration, 0b11, 6, 2048), "101010");
}

TEST(VlArbitration, LetsALowPacketGoAfterEveryLimitOfHighBytes) {
  VlArbitration arbitration;
  set(arbitration, Table::kLow, {{Vl{0}, 4}});
  set(arbitration, Table::kHigh, {{Vl{1}, 255}});
  arbitration.set_high_limit(2);  // 8192 bytes
  EXPECT_EQ(order(arbitration, 0b11, 10, 2048), "1111011110");
}

TEST(VlArbitration, DoesNotCountHighBytesWhileNothingLowWaits) {
  VlArbitration arbitration;
  set(arbitration, Table::kLow, {{Vl{0}, 4}});
  set(arbitration, Table::kHigh, {{Vl{1}, 255}});
  arbitration.set_high_limit(1);
  EXPECT_EQ(order(arbitration, 0b10, 50, 2048), std::string(50, '1'));
  EXPECT_EQ(order(arbitration, 0b11, 3, 2048), "110");
}

TEST(VlArbitration, SharesWithinTheHighTableByWeightToo) {
  VlArbitration arbitration;
  set(arbitration, Table::kHigh, {{Vl{2}, 1}, {Vl{3}, 3}});
  EXPECT_EQ(order(arbitration, 0b1100, 8), "23332333");
}

TEST(VlArbitration, RemembersEveryEntryAsItWasSet) {
  VlArbitration arbitration;
  std::array<Entry, 32> half{};
  half[31] = {Vl{4}, 9};
  arbitration.set(Table::kHigh, 32, half);
  EXPECT_EQ(arbitration.get(Table::kHigh, 63), (Entry{Vl{4}, 9}));
  EXPECT_EQ(arbitration.get(Table::kHigh, 0), Entry{});
  EXPECT_EQ(arbitration.get(Table::kLow, 63), Entry{});
  arbitration.set(Table::kHigh, 40, half);  // beyond the end: ignored
  EXPECT_EQ(arbitration.get(Table::kHigh, 63), Entry{});
  EXPECT_EQ(arbitration.get(Table::kHigh, 71), Entry{});
}

}  // namespace
}  // namespace weft::link
