// SPDX-License-Identifier: Apache-2.0
#include "wan/bulk_buffer.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/prefetch.h"
#include "link/packet_pool.h"

namespace weft::wan {
namespace {

// Packets that leave may have waited so long that they are in no cache any more: what lies in them
// is asked for so many packets ahead, which is about as long as memory takes.
constexpr std::size_t kBulkBufferAhead = 8;
// Packets that a FIFO has memory to list when it is empty.
constexpr std::size_t kBulkBufferAtRest = 4096;

void ask_for(const link::Packet& packet) {
  constexpr std::size_t kLine = 64;
  const auto* const at = reinterpret_cast<const std::byte*>(&packet);
  for (std::size_t line = 0; line < sizeof packet; line += kLine)
    prefetch_to_write(at + line);
}

}  // namespace

bool Fifo::reserve(std::uint64_t blocks) {
  if (blocks > capacity_ - used_) return false;
  used_ += blocks;
  most_used_ = std::max(most_used_, used_);
  return true;
}

void Fifo::give_up(std::uint64_t blocks) {
  assert(blocks <= used_ - queued_);
  used_ -= blocks;
}

void Fifo::push(link::PacketPtr packet) {
  queued_ += block_.blocks(packet->size());
  assert(queued_ <= used_);
  queue_.push(std::move(packet));
}

link::PacketPtr Fifo::pop() {
  if (queue_.empty()) return nullptr;
  if (queue_.size() > kBulkBufferAhead) ask_for(*queue_[kBulkBufferAhead]);
  link::PacketPtr packet = std::move(queue_.front());
  queue_.pop_front();
  queue_.rest(kBulkBufferAtRest);
  const std::uint64_t blocks = block_.blocks(packet->size());
  queued_ -= blocks;
  used_ -= blocks;
  return packet;
}

std::size_t Fifo::clear() {
  const std::size_t packets = queue_.size();
  used_ -= std::exchange(queued_, 0);
  queue_.clear();
  return packets;
}

BulkBuffer::Share::Share(const Options& options, BulkMemory& memory, Landing& landing)
    : memory_(memory), landing_(landing) {
  for (auto& fifo : fifos_)
    fifo = std::make_unique<Fifo>(options.lane_bytes, options.block);
}

std::uint64_t BulkBuffer::Share::used_bytes() const {
  std::uint64_t blocks = 0;
  for (const auto& fifo : fifos_)
    blocks += fifo->used();
  return blocks * block().bytes();
}

std::uint64_t BulkBuffer::Share::most_used_bytes() const {
  std::uint64_t blocks = 0;
  for (const auto& fifo : fifos_)
    blocks += fifo->most_used();
  return blocks * block().bytes();
}

BulkBuffer::BulkBuffer(const Options& options)
    : memory_({.block_bytes = link::PacketPool::kPayloadBlock,
               .most_bytes = options.most_memory,
               .spare_slabs = options.spare_slabs}),
      landing_(std::max<std::uint64_t>(options.most_memory, Landing::kSpareBytes)) {
  for (std::size_t remote = 0; remote < options.remotes; ++remote)
    shares_.push_back(std::make_unique<Share>(options, memory_, landing_));
}

}  // namespace weft::wan
