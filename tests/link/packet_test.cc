// SPDX-License-Identifier: Apache-2.0
#include "link/packet.h"

#include <gtest/gtest.h>

#include "rig.h"

namespace weft::link {
namespace {

struct Pools {
  BufferPool payloads{PacketPool::kPayloadBlock, 4};
  PacketPool pool{100, payloads};
};

std::vector<std::byte> together(const Packet& packet) {
  std::vector<std::byte> bytes(packet.size());
  packet.copy_to(bytes);
  return bytes;
}

TEST(LinkPacket, IsTheBytesItWasMadeOfWhateverItsLength) {
  Pools pools;
  for (const std::size_t payload : {0, 4, 100, 104, 108, 256, 4096}) {
    const auto bytes = make_packet({.payload = payload, .number = 5});
    const PacketPtr packet = pools.pool.copy(bytes);
    ASSERT_TRUE(packet) << payload;
    EXPECT_EQ(together(*packet), bytes) << payload;
    EXPECT_EQ(packet->size(), bytes.size());
    EXPECT_TRUE(packet->vcrc_good()) << payload;
    EXPECT_EQ(packet->dlid(), Lid{2});
  }
}

TEST(LinkPacket, CostsABlockForEach64BytesBegun) {
  Pools pools;
  EXPECT_EQ(pools.pool.copy(make_packet({.payload = 36}))->blocks(), 1);  // 62 bytes
  EXPECT_EQ(pools.pool.copy(make_packet({.payload = 40}))->blocks(), 2);  // 66 bytes
}

TEST(LinkPacket, KeepsItsVcrcRightWhenAHopRewritesIt) {
  Pools pools;
  for (const std::size_t payload : {0, 64, 2048}) {
    const PacketPtr packet = pools.pool.copy(make_packet({.payload = payload}));
    packet->rewrite_vl(Vl{5});
    EXPECT_EQ(packet->vl(), Vl{5});
    EXPECT_TRUE(packet->vcrc_good());
    wire::Lrh lrh = packet->lrh();
    lrh.dlid = Lid{0xBEEF};
    lrh.slid = Lid{0x1234};
    lrh.vl = Vl{9};
    packet->rewrite_lrh(lrh);
    EXPECT_EQ(packet->lrh(), lrh);
    EXPECT_TRUE(packet->vcrc_good());
    EXPECT_TRUE(wire::check_link_crcs(together(*packet)).vcrc_good);
  }
}

TEST(LinkPacket, ThatIsNotSealedGetsItsCrcsWhereItIsCopiedOut) {
  Pools pools;
  for (const std::size_t payload : {0, 64, 2048}) {
    auto bytes = make_packet({.payload = payload});
    const auto sealed = bytes;
    std::fill(bytes.end() - 6, bytes.end(), std::byte{0x77});
    const PacketPtr packet = pools.pool.copy(bytes);
    packet->sealed = false;
    EXPECT_EQ(together(*packet), sealed);
    const PacketPtr other = pools.pool.replicate(*packet);
    EXPECT_FALSE(other->sealed);
    packet->rewrite_vl(Vl{5});
    EXPECT_TRUE(wire::check_link_crcs(together(*packet)).good());
    wire::Lrh lrh = packet->lrh();
    lrh.sl = Sl{7};
    packet->rewrite_lrh(lrh);
    EXPECT_TRUE(wire::check_link_crcs(together(*packet)).good());
    EXPECT_EQ(together(*other), sealed);
  }
  EXPECT_TRUE(pools.pool.copy(make_packet({}))->sealed) << "a packet that comes after those";
}

TEST(LinkPacket, StaysCorruptWhenAHopRewritesIt) {
  Pools pools;
  auto bytes = make_packet({.payload = 256});
  bytes[200] ^= std::byte{4};
  const PacketPtr packet = pools.pool.copy(bytes);
  EXPECT_FALSE(packet->vcrc_good());
  packet->rewrite_vl(Vl{2});
  wire::Lrh lrh = packet->lrh();
  lrh.dlid = Lid{77};
  packet->rewrite_lrh(lrh);
  EXPECT_FALSE(packet->vcrc_good());
}

TEST(LinkPacket, RefersToAPayloadThatItKeepsAlive) {
  Pools pools;
  const auto bytes = make_packet({.payload = 512, .number = 9});
  BufferRef block = *pools.payloads.acquire();
  const Bytes whole(bytes);
  std::copy_n(bytes.begin() + 20, 512, block.bytes().begin());
  const Bytes payload = block.bytes().first(512);
  PacketPtr packet = pools.pool.refer(whole.first(20), payload, std::move(block), whole.last(6));
  EXPECT_EQ(together(*packet), bytes);
  EXPECT_TRUE(packet->vcrc_good());
  EXPECT_EQ(pools.payloads.in_use(), 1);
  packet.reset();
  EXPECT_EQ(pools.payloads.in_use(), 0);
}

TEST(LinkPacket, SharesItsPayloadWithItsReplicas) {
  Pools pools;
  PacketPtr packet = pools.pool.copy(make_packet({.payload = 1024}));
  PacketPtr other = pools.pool.replicate(*packet);
  EXPECT_EQ(pools.payloads.in_use(), 1);
  EXPECT_EQ(other->payload().data(), packet->payload().data());
  other->rewrite_vl(Vl{3});
  EXPECT_EQ(packet->vl(), Vl{0});
  packet.reset();
  EXPECT_TRUE(other->vcrc_good());
  other.reset();
  EXPECT_EQ(pools.payloads.in_use(), 0);
  EXPECT_EQ(pools.pool.in_use(), 0);
}

TEST(LinkPacket, IsNotMadeOfTooFewOrTooManyBytes) {
  Pools pools;
  const std::vector<std::byte> bytes(128 + PacketPool::kPayloadBlock + 2 + 1);
  EXPECT_FALSE(pools.pool.copy(Bytes(bytes).first(9)));
  EXPECT_TRUE(pools.pool.copy(Bytes(bytes).first(10)));
  EXPECT_TRUE(pools.pool.copy(Bytes(bytes).first(bytes.size() - 1)));
  EXPECT_FALSE(pools.pool.copy(bytes));
}

TEST(LinkPacket, IsNotMadeWhenThePoolIsUsedUp) {
  Pools pools;
  std::vector<PacketPtr> held;
  for (int i = 0; i < 100; ++i)
    held.push_back(pools.pool.copy(make_packet({})));
  EXPECT_TRUE(held.back());
  EXPECT_FALSE(pools.pool.copy(make_packet({})));
  EXPECT_FALSE(pools.pool.replicate(*held.back()));
  held.pop_back();
  EXPECT_TRUE(pools.pool.copy(make_packet({})));
}

TEST(LinkPacket, IsNotMadeWhenPayloadsAreUsedUp) {
  Pools pools;
  std::vector<PacketPtr> held;
  for (int i = 0; i < 4; ++i)
    held.push_back(pools.pool.copy(make_packet({.payload = 1024})));
  EXPECT_FALSE(pools.pool.copy(make_packet({.payload = 1024})));
  EXPECT_EQ(pools.pool.in_use(), 4);
}

TEST(PacketQueue, GivesPacketsInTheOrderOfTheirComing) {
  Pools pools;
  PacketQueue queue;
  EXPECT_FALSE(queue.pop());
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 5; ++i)
      queue.push(pools.pool.copy(make_packet({.number = i})));
    EXPECT_EQ(queue.size(), 5);
    for (std::uint32_t i = 0; i < 5; ++i)
      EXPECT_EQ(number_of(*queue.pop()), i);
    EXPECT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace weft::link
