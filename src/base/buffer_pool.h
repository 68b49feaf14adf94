// SPDX-License-Identifier: Apache-2.0
// Reference-counted buffers of one size. Copying and dropping a reference is one atomic operation,
// or, of memory whose references take turns, a load and a store; taking a block and giving it back
// holds a mutex for a few instructions, which costs less than the cache misses of a lock-free list
// would and has no ABA problem to get wrong.
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

class BufferBlock;
class BufferRef;

// Who gets a block back.
class BufferOwner {
 public:
  virtual ~BufferOwner() = default;
  // The last reference to the block has gone, in whatever thread that was; it may be lent again,
  // and its memory is the owner's to use. Must not throw.
  virtual void returned(BufferBlock& block) = 0;
};

// What references are counted for: a block of a pool, or memory that comes from elsewhere, such as
// another process. Must outlive its references.
class BufferBlock {
 public:
  // In which threads its references are copied and dropped: in any; or, as all that belongs to one
  // worker is, never in two at a time. That spares the locked instructions, which would wait for
  // all that has just been copied to reach the cache.
  enum class Threads : std::uint8_t { kAny, kInTurn };

  BufferBlock() = default;
  explicit BufferBlock(MutableBytes bytes, Threads threads = Threads::kAny)
      : bytes_(bytes), threads_(threads) {}
  BufferBlock(const BufferBlock&) = delete;
  BufferBlock& operator=(const BufferBlock&) = delete;

  // The first reference. Only while there is none; `owner` outlives them all.
  [[nodiscard]] BufferRef lend(BufferOwner& owner);
  // One more; only while somebody holds one.
  [[nodiscard]] BufferRef share();
  [[nodiscard]] bool lent() const { return references_.load(std::memory_order_acquire) != 0; }
  // Of the lending that is or was last; null before the first.
  [[nodiscard]] const BufferOwner* owner() const { return owner_; }

 private:
  friend class BufferRef;
  void count_one_more() {
    if (threads_ == Threads::kInTurn) {
      references_.store(references_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      references_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // True: that was the last one.
  [[nodiscard]] bool count_one_less() {
    // Release our writes to whoever gets the block next; acquire those of the other holders. Of the
    // only reference nobody can take another one meanwhile: that spares the locked instruction.
    const std::uint32_t count = references_.load(std::memory_order_acquire);
    if (count == 1 || threads_ == Threads::kInTurn) {
      references_.store(count - 1, std::memory_order_release);
      return count == 1;
    }
    return references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  MutableBytes bytes_{};
  BufferOwner* owner_ = nullptr;
  std::atomic<std::uint32_t> references_{0};
  Threads threads_ = Threads::kAny;
};

// A share of one block; the last one to go gives the block back. Different references to one block
// may be used from different threads, as BufferBlock::Threads has it; who writes to the bytes is
// the holders' business.
class BufferRef {
 public:
  BufferRef() = default;
  BufferRef(const BufferRef& other) : block_(other.block_) {
    if (block_ != nullptr) block_->count_one_more();
  }
  BufferRef(BufferRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BufferRef() { reset(); }

  void reset() {
    BufferBlock* const block = std::exchange(block_, nullptr);
    if (block != nullptr && block->count_one_less()) block->owner_->returned(*block);
  }
  explicit operator bool() const { return block_ != nullptr; }
  // The whole block, uninitialised when fresh; empty for an empty reference, and of memory that may
  // not be written to.
  [[nodiscard]] MutableBytes bytes() const;
  // Null for an empty reference.
  [[nodiscard]] const BufferBlock* block() const { return block_; }
  // This is the only reference, so nobody else can see a write.
  [[nodiscard]] bool unique() const {
    return block_ != nullptr && block_->references_.load(std::memory_order_acquire) == 1;
  }

 private:
  friend class BufferBlock;
  explicit BufferRef(BufferBlock* block) : block_(block) {}
  BufferBlock* block_ = nullptr;
};

namespace detail {

inline constexpr std::size_t kBufferAlignment = 64;  // a cache line; so is the data's

// The data lies behind it.
struct alignas(kBufferAlignment) PoolBlock : BufferBlock {
  explicit PoolBlock(std::size_t size)
      : BufferBlock(MutableBytes(reinterpret_cast<std::byte*>(this + 1), size)) {}
};

struct PoolBlockDelete {
  void operator()(PoolBlock* block) const {
    block->~PoolBlock();
    ::operator delete (block, std::align_val_t{kBufferAlignment});
  }
};

}  // namespace detail

// Grows block by block up to its limit and keeps what it has. Thread-safe. Must outlive its
// buffers.
class BufferPool final : private BufferOwner {
 public:
  BufferPool(std::size_t block_bytes, std::size_t max_blocks)
      : block_bytes_(block_bytes), max_blocks_(max_blocks) {}
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool() override;

  // no_buffer_space: all blocks are in use. not_enough_memory: the system gave no more.
  [[nodiscard]] tl::expected<BufferRef, std::errc> acquire();

  [[nodiscard]] std::size_t block_bytes() const { return block_bytes_; }
  [[nodiscard]] std::size_t max_blocks() const { return max_blocks_; }
  [[nodiscard]] std::size_t in_use() const;

 private:
  detail::PoolBlock* grow();
  void returned(BufferBlock& block) override;

  const std::size_t block_bytes_;
  const std::size_t max_blocks_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<detail::PoolBlock, detail::PoolBlockDelete>> blocks_;
  std::vector<BufferBlock*> free_;  // room for every block, so that a release cannot fail
};

}  // namespace weft
