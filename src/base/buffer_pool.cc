// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <cassert>

namespace weft {

BufferRef BufferBlock::lend(BufferOwner& owner) {
  assert(!lent());
  owner_ = &owner;
  references_.store(1, std::memory_order_relaxed);
  return BufferRef(this);
}

BufferRef BufferBlock::share() {
  assert(lent());
  count_one_more();
  return BufferRef(this);
}

MutableBytes BufferRef::bytes() const {
  return block_ == nullptr ? MutableBytes{} : block_->bytes_;
}

BufferPool::~BufferPool() {
  assert(in_use() == 0 && "a buffer outlives its pool");
}

std::size_t BufferPool::in_use() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size() - free_.size();
}

detail::PoolBlock* BufferPool::grow() {
  free_.reserve(blocks_.size() + 1);
  void* memory = ::operator new (sizeof(detail::PoolBlock) + block_bytes_,
                                 std::align_val_t{detail::kBufferAlignment});
  blocks_.emplace_back(new (memory) detail::PoolBlock(block_bytes_));
  return blocks_.back().get();
}

tl::expected<BufferRef, std::errc> BufferPool::acquire() {
  const std::lock_guard lock(mutex_);
  BufferBlock* block = nullptr;
  if (!free_.empty()) {
    block = free_.back();  // the last one back is the likeliest to be in the cache
    free_.pop_back();
  } else if (blocks_.size() >= max_blocks_) {
    return tl::unexpected(std::errc::no_buffer_space);
  } else {
    try {
      block = grow();
    } catch (const std::bad_alloc&) {
      return tl::unexpected(std::errc::not_enough_memory);
    }
  }
  return block->lend(*this);
}

void BufferPool::returned(BufferBlock& block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(&block);
}

}  // namespace weft
