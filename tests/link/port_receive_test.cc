// SPDX-License-Identifier: Apache-2.0
// What comes in at a port, good and bad: each packet is handed on or counted under one reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rig.h"

namespace weft::link {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PortReceive : public ::testing::Test {
 protected:
  PortReceive() { rig.activate(); }
  // Packets that the port dropped, whatever the reason.
  static std::uint64_t dropped(const Port& port) {
    return port_rcv_errors(port.counters()) + count(port, PortCounter::kRxVl15Dropped) +
           count(port, PortCounter::kRxWrongState);
  }
  void receive(const std::vector<std::byte>& bytes) {
    rig.b.port.receive(rig.pool.copy(bytes), rig.now());
  }
  // Is dropped for this reason and no other.
  void refuses(std::vector<std::byte> bytes, PortCounter reason, bool seal = true) {
    if (seal) wire::seal_link_packet(bytes);
    const std::uint64_t of_reason = count(rig.b.port, reason);
    const std::uint64_t of_any = dropped(rig.b.port);
    receive(bytes);
    EXPECT_EQ(count(rig.b.port, reason), of_reason + 1);
    EXPECT_EQ(dropped(rig.b.port), of_any + 1);
    EXPECT_THAT(rig.b.numbers, IsEmpty());
    EXPECT_EQ(rig.pool.in_use(), 0);
  }

  Rig rig;
};

TEST_F(PortReceive, HandsOnWhatIsGoodAndCountsIt) {
  receive(make_packet({.payload = 256, .number = 3}));
  receive(make_packet({.dlid = Lid{0xC001}, .payload = 8, .number = 4}));
  receive(make_packet({.dlid = Lid{0xFFFF}, .payload = 8, .number = 5}));
  EXPECT_THAT(rig.b.numbers, ElementsAre(3, 4, 5));
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxPackets), 3);
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxWords), 70 + 8 + 8);
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxUnicast), 2);
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxMulticast), 1);
  EXPECT_EQ(dropped(rig.b.port), 0);
}

TEST_F(PortReceive, DropsWhatIsDamagedWhicheverBitItIs) {
  const auto good = make_packet({.payload = 8});
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    refuses(bytes, PortCounter::kRxBadVcrc, false);
  }
}

TEST_F(PortReceive, DropsOtherLinkVersions) {
  auto bytes = make_packet({});
  bytes[0] |= std::byte{1};
  refuses(bytes, PortCounter::kRxMalformed);
}

TEST_F(PortReceive, DropsWhatIsNotAsLongAsItSays) {
  for (const int words : {21, 23, 0, 2047}) {
    auto bytes = make_packet({.payload = 64});  // 22 words
    wire::Lrh lrh = *wire::Lrh::parse(bytes);
    lrh.packet_words = static_cast<std::uint16_t>(words);
    lrh.write(bytes);
    refuses(bytes, PortCounter::kRxMalformed);
  }
}

TEST_F(PortReceive, DropsWhatIsTooShortForItsHeaders) {
  // Header and bytes through the ICRC: one word short of the least there can be.
  for (const auto& [next_header, covered] :
       {std::pair{wire::Lnh::iba_local, 20}, {wire::Lnh::iba_global, 60}, {wire::Lnh::raw, 16}}) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(covered) + 2);
    wire::Lrh{.next_header = next_header, .packet_words = static_cast<std::uint16_t>(covered / 4)}
        .write(bytes);
    const std::uint16_t vcrc = wire::crc16_finish(wire::crc16_update(
        wire::kVcrcPreset, Bytes(bytes).first(static_cast<std::size_t>(covered))));
    wire::store_le16(bytes.data() + covered, vcrc);
    refuses(bytes, PortCounter::kRxMalformed, false);
  }
}

TEST_F(PortReceive, DropsWhatIsLongerThanItsMtu) {
  Rig small({.mtu_code = 1});
  small.activate();
  // 256 bytes of payload and 124 of headers at most, LRH and ICRC among them: 100 besides BTH.
  small.b.port.receive(small.pool.copy(make_packet({.payload = 356, .number = 1})), small.now());
  small.b.port.receive(small.pool.copy(make_packet({.payload = 360, .number = 2})), small.now());
  EXPECT_THAT(small.b.numbers, ElementsAre(1));
  EXPECT_EQ(count(small.b.port, PortCounter::kRxMalformed), 1);
}

TEST_F(PortReceive, DropsWhatComesOnALaneThatIsNotOperational) {
  refuses(make_packet({.vl = Vl{8}}), PortCounter::kRxBadVl);
  refuses(make_packet({.vl = Vl{14}}), PortCounter::kRxBadVl);
  rig.b.port.set_operational_vls(2, rig.now());
  refuses(make_packet({.vl = Vl{2}}), PortCounter::kRxBadVl);
}

TEST_F(PortReceive, DropsOnVl15WhatCannotBeManagement) {
  std::vector<std::byte> bytes(64 + 20 + 2);
  wire::Lrh{.vl = kVl15, .next_header = wire::Lnh::iba_global, .packet_words = 21}.write(bytes);
  wire::store_le16(bytes.data() + 84, wire::crc16_finish(wire::crc16_update(
                                          wire::kVcrcPreset, Bytes(bytes).first(84))));
  refuses(bytes, PortCounter::kRxMalformed, false);
}

TEST_F(PortReceive, DropsManagementPacketsThatAreLongerThanAnySuchIs) {
  refuses(make_packet({.vl = kVl15, .payload = 360}), PortCounter::kRxMalformed);
  receive(make_packet({.vl = kVl15, .payload = 356, .number = 1}));
  EXPECT_THAT(rig.b.numbers, ElementsAre(1));
}

TEST_F(PortReceive, TakesRawPackets) {
  std::vector<std::byte> bytes(20 + 12 + 2);
  wire::Lrh{.next_header = wire::Lnh::raw, .packet_words = 8}.write(bytes);
  wire::seal_link_packet(bytes);
  receive(bytes);
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxPackets), 1);
}

TEST_F(PortReceive, TakesNoDataBeforeItIsArmed) {
  Rig fresh;
  fresh.b.port.receive(fresh.packet({.number = 1}), fresh.now());  // link down
  fresh.worker.settle();
  ASSERT_EQ(fresh.b.port.state(), PortState::kInitialize);
  fresh.b.port.receive(fresh.packet({.number = 2}), fresh.now());
  EXPECT_EQ(count(fresh.b.port, PortCounter::kRxWrongState), 2);
  fresh.b.port.receive(fresh.packet({.vl = kVl15, .number = 3}), fresh.now());
  EXPECT_THAT(fresh.b.numbers, ElementsAre(3));
}

TEST_F(PortReceive, DropsWhatIsMoreThanItHasGranted) {
  Rig small({.vl_buffer = 70});
  small.activate();
  small.b.keep = true;
  for (std::uint32_t i = 0; i < 4; ++i)
    small.b.port.receive(small.packet({.payload = 1984, .number = i}), small.now());  // 32 blocks
  EXPECT_THAT(small.b.numbers, ElementsAre(0, 1));
  EXPECT_EQ(count(small.b.port, PortCounter::kRxOverrun), 2);
}

TEST_F(PortReceive, DropsManagementPacketsWhenTooManyWait) {
  rig.b.keep = true;
  for (std::uint32_t i = 0; i < 70; ++i)
    receive(make_packet({.vl = kVl15, .payload = 264, .number = i}));
  EXPECT_EQ(rig.b.numbers.size(), 64);
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxVl15Dropped), 6);
  rig.b.kept.clear();
  receive(make_packet({.vl = kVl15, .payload = 264, .number = 70}));
  EXPECT_EQ(rig.b.numbers.back(), 70);
}

TEST_F(PortReceive, CountsDamagedFlowControl) {
  auto bytes = wire::FlowControl{.vl = Vl{1}, .fccl = 5}.bytes();
  bytes[1] ^= std::byte{1};
  rig.b.port.receive_flow_control(bytes, rig.now());
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxBadLpcrc), 1);
  const auto reserved = wire::FlowControl{.op = static_cast<wire::FlowControl::Op>(5)}.bytes();
  rig.b.port.receive_flow_control(reserved, rig.now());
  rig.b.port.receive_flow_control(Bytes(bytes).first(4), rig.now());
  rig.b.port.receive(wire::FlowControl{.vl = kVl15, .fccl = 5}, rig.now());
  EXPECT_EQ(count(rig.b.port, PortCounter::kRxBadLinkPacket), 3);
}

}  // namespace
}  // namespace weft::link
