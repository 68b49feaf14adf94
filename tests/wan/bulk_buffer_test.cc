// SPDX-License-Identifier: Apache-2.0
#include "wan/bulk_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <vector>

#include "../link/rig.h"
#include "base/random.h"

namespace weft::wan {
namespace {

const BulkMemory::Options kSmall{
    .block_bytes = 256, .slab_blocks = 4, .most_bytes = 16 * 256, .spare_slabs = 1};

TEST(BulkMemory, TakesMemoryAsItFillsAndGivesItBackAsItEmpties) {
  BulkMemory memory(kSmall);
  EXPECT_EQ(memory.held_bytes(), 0);
  std::vector<BufferRef> blocks;
  for (int i = 0; i < 16; ++i) {
    auto block = memory.acquire();
    ASSERT_TRUE(block);
    EXPECT_EQ(block->bytes().size(), 256);
    blocks.push_back(*std::move(block));
    EXPECT_EQ(memory.held_bytes(), (blocks.size() + 3) / 4 * 4 * 256);
  }
  EXPECT_EQ(memory.acquire().error(), std::errc::no_buffer_space);
  blocks.clear();
  EXPECT_EQ(memory.used_bytes(), 0);
  EXPECT_EQ(memory.held_bytes(), 4 * 256) << "the slab that is spare";
  EXPECT_EQ(memory.most_held_bytes(), 16 * 256);
}

TEST(BulkMemory, UsesFirstWhatWasFreedLast) {
  BulkMemory memory({.block_bytes = 256, .slab_blocks = 4, .spare_slabs = 8});
  std::vector<BufferRef> blocks;
  for (int i = 0; i < 12; ++i)
    blocks.push_back(*memory.acquire());
  const std::byte* const first = blocks[2].bytes().data();
  const std::byte* const last = blocks[9].bytes().data();
  blocks[2].reset();
  blocks[9].reset();
  const BufferRef again = *memory.acquire();
  EXPECT_EQ(again.bytes().data(), last);
  const BufferRef other = *memory.acquire();
  EXPECT_EQ(other.bytes().data(), first);
}

// A FIFO that holds little touches little, however many packets pass.
TEST(BulkMemory, StaysInAFewSlabsWhilePacketsPass) {
  BulkMemory memory({.block_bytes = 256, .slab_blocks = 4});
  std::deque<BufferRef> fifo;
  std::set<const std::byte*> touched;
  for (int i = 0; i < 10'000; ++i) {
    fifo.push_back(*memory.acquire());
    touched.insert(fifo.back().bytes().data());
    if (fifo.size() > 6) fifo.pop_front();
  }
  EXPECT_LE(touched.size(), 16);
}

TEST(BulkMemory, LendsEachBlockOnceWhateverTheOrder) {
  BulkMemory memory({.block_bytes = 64, .slab_blocks = 8, .spare_slabs = 1});
  Random random(1);
  std::vector<BufferRef> blocks;
  std::set<const std::byte*> lent;
  for (int i = 0; i < 20'000; ++i) {
    if (blocks.empty() || random.chance(i / 5000 % 2 == 0 ? 0.6 : 0.3)) {
      blocks.push_back(*memory.acquire());
      ASSERT_TRUE(lent.insert(blocks.back().bytes().data()).second);
    } else {
      const auto which = blocks.begin() + static_cast<long>(random.below(blocks.size()));
      lent.erase(which->bytes().data());
      std::swap(*which, blocks.back());
      blocks.pop_back();
    }
    ASSERT_EQ(memory.used_bytes(), blocks.size() * 64);
    ASSERT_GE(memory.held_bytes(), memory.used_bytes());
  }
}

TEST(Landing, BeginsAnewWhereItIsOnceNobodyRefersToWhatHasLanded) {
  Landing landing;
  const MutableBytes first = landing.room();
  ASSERT_GE(first.size(), Landing::kRoom);
  landing.landed(1000);
  BufferRef owner = landing.owner(first.subspan(10, 100));
  ASSERT_TRUE(owner);
  const MutableBytes second = landing.room();
  EXPECT_GE(second.data(), first.data() + 1000) << "somebody refers to what lies before";
  landing.landed(1000);
  owner.reset();
  EXPECT_EQ(landing.room().data(), first.data());
}

TEST(Landing, OwnsNothingElse) {
  Landing landing;
  std::array<std::byte, 100> other{};
  EXPECT_FALSE(landing.owner(other));
  const MutableBytes room = landing.room();
  EXPECT_FALSE(landing.owner(other));
  EXPECT_FALSE(landing.owner(room.first(0)));
  EXPECT_TRUE(landing.owner(room.first(1)));
  EXPECT_TRUE(landing.writable(other).empty());
  EXPECT_TRUE(landing.writable(room.first(0)).empty());
  const MutableBytes some = landing.writable(room.subspan(7, 20));
  EXPECT_EQ(some.data(), room.data() + 7);
  EXPECT_EQ(some.size(), 20u);
}

TEST(Landing, HasNoRoomOnceAllItsMemoryIsReferredTo) {
  Landing landing;
  std::deque<BufferRef> owners;
  std::set<const std::byte*> rooms;
  for (MutableBytes room = landing.room(); !room.empty(); room = landing.room()) {
    ASSERT_GE(room.size(), Landing::kRoom);
    EXPECT_TRUE(rooms.insert(room.data()).second);
    owners.push_back(landing.owner(room));
    landing.landed(Landing::kRoom);
  }
  EXPECT_EQ(rooms.size(), Landing::kSpareBytes / Landing::kRoom);
  owners.pop_front();
  EXPECT_TRUE(landing.room().empty()) << "others refer to that block";
  owners.erase(owners.begin(), owners.begin() + Landing::kBlock / Landing::kRoom - 1);
  EXPECT_FALSE(landing.room().empty());
}

class Fifos : public ::testing::Test {
 protected:
  link::PacketPtr packet(std::size_t payload) {
    return pool.copy(link::make_packet({.payload = payload}));
  }
  BufferPool payloads{link::PacketPool::kPayloadBlock, 100};
  link::PacketPool pool{100, payloads};
};

TEST_F(Fifos, CountRoomInBlocks) {
  Fifo fifo(1024, BlockSize{1});  // 128 bytes a block
  EXPECT_EQ(fifo.capacity(), 8);
  EXPECT_TRUE(fifo.reserve(5));
  EXPECT_FALSE(fifo.reserve(4));
  EXPECT_TRUE(fifo.reserve(3));
  fifo.give_up(8);
  EXPECT_EQ(fifo.used(), 0);
  EXPECT_EQ(fifo.most_used(), 8);
}

TEST_F(Fifos, GiveRoomBackWhenAPacketLeaves) {
  Fifo fifo(4096, BlockSize{});
  ASSERT_TRUE(fifo.reserve(6 + 3));
  fifo.push(packet(300));  // 326 bytes: 6 blocks
  EXPECT_EQ(fifo.queued(), 6);
  EXPECT_EQ(fifo.used(), 9);
  EXPECT_EQ(fifo.pop()->size(), 326);
  EXPECT_EQ(fifo.queued(), 0);
  EXPECT_EQ(fifo.used(), 3);
  EXPECT_EQ(fifo.pop(), nullptr);
}

TEST_F(Fifos, OfOneRemoteLeaveThoseOfOthersAlone) {
  BulkBuffer buffer({.lane_bytes = 64 * 10, .remotes = 3});
  Fifo& fifo = buffer.share(1).fifo(Vl{4});
  ASSERT_TRUE(fifo.reserve(10));
  EXPECT_FALSE(fifo.reserve(1));
  EXPECT_TRUE(buffer.share(1).fifo(Vl{5}).reserve(10));
  EXPECT_TRUE(buffer.share(0).fifo(Vl{4}).reserve(10));
  EXPECT_EQ(buffer.share(1).used_bytes(), 20 * 64);
  EXPECT_EQ(buffer.share(2).used_bytes(), 0);
}

}  // namespace
}  // namespace weft::wan
