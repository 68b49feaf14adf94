// SPDX-License-Identifier: Apache-2.0
// Reference-counted buffers of one size. Copying and dropping a reference is one atomic operation;
// taking a block and giving it back holds a mutex for a few instructions, which costs less than the
// cache misses of a lock-free list would and has no ABA problem to get wrong.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace weft {

class BufferPool;

namespace detail {

inline constexpr std::size_t kBufferAlignment = 64;  // a cache line; so is the data's

struct alignas(kBufferAlignment) BufferBlock {
  BufferPool* pool;
  std::atomic<std::uint32_t> references{0};

  explicit BufferBlock(BufferPool* owner) : pool(owner) {}
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};

struct BufferBlockDelete {
  void operator()(BufferBlock* block) const {
    block->~BufferBlock();
    ::operator delete (block, std::align_val_t{kBufferAlignment});
  }
};

}  // namespace detail

// A share of one block; the last one to go gives the block back. Different references to one block
// may be used from different threads; who writes to the bytes is the holders' business.
class BufferRef {
 public:
  BufferRef() = default;
  BufferRef(const BufferRef& other) : block_(other.block_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  BufferRef(BufferRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BufferRef() { reset(); }

  void reset();
  explicit operator bool() const { return block_ != nullptr; }
  // The whole block, uninitialised when fresh; empty for an empty reference.
  [[nodiscard]] MutableBytes bytes() const;
  // This is the only reference, so nobody else can see a write.
  [[nodiscard]] bool unique() const {
    return block_ != nullptr && block_->references.load(std::memory_order_acquire) == 1;
  }

 private:
  friend class BufferPool;
  explicit BufferRef(detail::BufferBlock* block) : block_(block) {}
  detail::BufferBlock* block_ = nullptr;
};

// Grows block by block up to its limit and keeps what it has. Thread-safe. Must outlive its
// buffers.
class BufferPool {
 public:
  BufferPool(std::size_t block_bytes, std::size_t max_blocks)
      : block_bytes_(block_bytes), max_blocks_(max_blocks) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  // no_buffer_space: all blocks are in use. not_enough_memory: the system gave no more.
  [[nodiscard]] tl::expected<BufferRef, std::errc> acquire();

  [[nodiscard]] std::size_t block_bytes() const { return block_bytes_; }
  [[nodiscard]] std::size_t max_blocks() const { return max_blocks_; }
  [[nodiscard]] std::size_t in_use() const;

 private:
  friend class BufferRef;
  detail::BufferBlock* grow();
  void release(detail::BufferBlock* block);

  const std::size_t block_bytes_;
  const std::size_t max_blocks_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<detail::BufferBlock, detail::BufferBlockDelete>> blocks_;
  std::vector<detail::BufferBlock*> free_;  // room for every block, so that a release cannot fail
};

}  // namespace weft
