// SPDX-License-Identifier: Apache-2.0
// Where packets lie while they wait: where they came to, or copied.
#include "wan/tunnel_receiver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "../link/rig.h"

namespace weft::wan {
namespace {

class Receiver : public ::testing::Test {
 protected:
  static constexpr std::size_t kMost = 100'000;  // packets
  static constexpr std::uint64_t kLane = std::uint64_t{64} << 20;

  void SetUp() override { receiver_.begin(true); }
  void TearDown() override { receiver_.end(); }

  // A datagram with packets, of the lanes in turn.
  void receive(std::span<const Vl> lanes, std::size_t packets) {
    const MutableBytes room = buffer_.landing().room();
    ASSERT_GE(room.size(), packets * packet_.size());
    for (std::size_t i = 0; i < packets; ++i) {
      const MutableBytes place = room.subspan(i * packet_.size(), packet_.size());
      std::ranges::copy(packet_, place.begin());
      const Vl vl = lanes[i % lanes.size()];
      Sent& sent = sent_[vl.value()];
      const PacketTag tag{.vl = vl, .sequence = sent.packets, .position = sent.blocks};
      const PacketItem item{
          .tag = tag, .total = static_cast<std::uint16_t>(packet_.size()), .bytes = place};
      ASSERT_TRUE(receiver_.take(item, Time{}));
      sent.packets += 1;
      sent.blocks += static_cast<std::uint32_t>(share_.block().blocks(packet_.size()));
    }
    buffer_.landing().landed(packets * packet_.size());
  }
  // The next packet of a lane, which is as it was sent.
  void expect_next(Vl vl) {
    const link::PacketPtr packet = receiver_.pop(vl);
    ASSERT_NE(packet, nullptr);
    EXPECT_TRUE(packet->intact);
    std::vector<std::byte> bytes(packet->size());
    packet->copy_to(bytes);
    EXPECT_EQ(bytes, packet_);
  }
  [[nodiscard]] std::uint64_t copied() const { return buffer_.memory().used_bytes(); }
  [[nodiscard]] std::uint64_t held() { return buffer_.landing().held_bytes(); }

  struct Sent {
    std::uint32_t packets = 0;
    std::uint32_t blocks = 0;
  };
  const std::vector<std::byte> packet_ = link::make_packet({.payload = 2048});
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 1};
  link::PacketPool pool_{kMost, payloads_};
  BulkBuffer buffer_{{.lane_bytes = kLane}};
  BulkBuffer::Share& share_ = buffer_.share(0);
  TunnelCounters counters_;
  TunnelReceiver receiver_{{}, share_, pool_, counters_};
  std::array<Sent, kLanes> sent_{};
};

TEST_F(Receiver, LeavesPacketsWhereTheyCameToHoweverLongTheQueue) {
  const std::array lane{Vl{3}};
  for (int i = 0; i < 900; ++i)
    receive(lane, 30);
  EXPECT_GT(share_.used_bytes(), kLane * 3 / 4);
  EXPECT_EQ(copied(), 0);
  EXPECT_LT(held(), 2 * share_.used_bytes());
  for (int i = 0; i < 900 * 30; ++i)
    expect_next(Vl{3});
  EXPECT_LE(held(), Landing::kBlock) << "what is read into next";
}

TEST_F(Receiver, CopiesWhatWouldHoldUpTheMemoryOfThoseThatGoOn) {
  std::array<Vl, kLanes> lanes;
  for (std::uint8_t vl = 0; vl < kLanes; ++vl)
    lanes[vl] = Vl{vl};
  for (int i = 0; i < 3000; ++i) {
    receive(lanes, 30);
    for (int each = 0; each < 2; ++each) {
      for (std::uint8_t vl = 1; vl < kLanes; ++vl)
        expect_next(Vl{vl});
    }
    ASSERT_LE(held(), std::max<std::uint64_t>(Landing::kSpareBytes, 2 * share_.used_bytes()) +
                          2 * Landing::kBlock);
  }
  EXPECT_GT(copied(), 0);
}

TEST_F(Receiver, FindsWhatWasDamagedOnTheWayAndLeavesItToThePortToSay) {
  const std::array lane{Vl{0}};
  receive(lane, 1);
  expect_next(Vl{0});
  std::vector<std::byte> damaged = packet_;
  damaged[damaged.size() / 2] ^= std::byte{1};
  const link::PacketPtr packet = receiver_.make(damaged);
  ASSERT_NE(packet, nullptr);
  EXPECT_FALSE(packet->intact);
}

// One of a group, whose ends lie apart from what is between them.
TEST_F(Receiver, FindsWhatWasDamagedInAGroup) {
  const std::size_t middle = packet_.size() - GroupItem::kFront - wire::kVcrcSize;
  std::uint32_t sequence = 0;
  const std::size_t all_good = packet_.size();
  for (const std::size_t damaged :
       {all_good, std::size_t{100}, GroupItem::kFront, packet_.size() - 3, packet_.size() - 1}) {
    std::vector<std::byte> bytes = packet_;
    if (damaged != all_good) bytes[damaged] ^= std::byte{1};
    const MutableBytes room = buffer_.landing().room();
    // Not behind the front, where it would be in one piece.
    const MutableBytes between = room.subspan(1, middle);
    std::copy_n(bytes.begin() + GroupItem::kFront, middle, between.begin());
    const std::uint64_t blocks = share_.block().blocks(packet_.size());
    const PacketItem item{.tag = {.vl = Vl{4},
                                  .sequence = sequence,
                                  .position = static_cast<std::uint32_t>(sequence * blocks)},
                          .total = static_cast<std::uint16_t>(packet_.size()),
                          .bytes = between,
                          .front = Bytes(bytes).first(GroupItem::kFront),
                          .vcrc = Bytes(bytes).last(wire::kVcrcSize)};
    ++sequence;
    ASSERT_TRUE(receiver_.take(item, Time{}));
    buffer_.landing().landed(1 + middle);
    const link::PacketPtr packet = receiver_.pop(Vl{4});
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->intact, damaged == all_good) << damaged;
    std::vector<std::byte> came(packet->size());
    packet->copy_to(came);
    EXPECT_EQ(came, bytes);
    EXPECT_EQ(packet->payload().data(), between.data()) << "it is not copied";
  }
}

}  // namespace
}  // namespace weft::wan
