// SPDX-License-Identifier: Apache-2.0
// The memory behind a bulk buffer: blocks that packets' payloads lie in. It is taken from the
// system only as it fills, and given back as it empties, slab by slab. What was freed last is used
// first, so that a buffer that holds little stays in the processor's cache however much it may
// hold.
//
// For one thread at a time, as everything of a worker is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>
#include <tl/expected.hpp>

#include "base/buffer_pool.h"

namespace weft::wan {

class BulkMemory final : private BufferOwner {
 public:
  struct Options {
    std::size_t block_bytes = 4096;  // at least link::PacketPool::kPayloadBlock for any packet
    std::size_t slab_blocks = 64;    // taken from the system, and given back, together
    std::uint64_t most_bytes = ~std::uint64_t{0};  // of blocks, in slabs that are begun
    std::size_t spare_slabs =
        4;  // free ones that are kept: what comes and goes costs no system call
  };

  explicit BulkMemory(const Options& options);
  BulkMemory(const BulkMemory&) = delete;
  BulkMemory& operator=(const BulkMemory&) = delete;
  // After all of its blocks have come back.
  ~BulkMemory() override;

  // no_buffer_space: all that may be taken is in use. not_enough_memory: the system gave no more.
  [[nodiscard]] tl::expected<BufferRef, std::errc> acquire();

  [[nodiscard]] std::size_t block_bytes() const { return options_.block_bytes; }
  // Bytes of blocks in use; taken from the system at the moment; taken at most so far.
  [[nodiscard]] std::uint64_t used_bytes() const { return used_ * options_.block_bytes; }
  [[nodiscard]] std::uint64_t held_bytes() const { return slabs_ * slab_bytes(); }
  [[nodiscard]] std::uint64_t most_held_bytes() const { return most_slabs_ * slab_bytes(); }

 private:
  struct Slab;
  struct Block;
  // Slabs in the order in which they are to be used.
  struct List {
    Slab* first = nullptr;
    void push_front(Slab& slab);
    void remove(Slab& slab);
  };

  [[nodiscard]] std::uint64_t slab_bytes() const {
    return std::uint64_t{options_.slab_blocks} * options_.block_bytes;
  }
  [[nodiscard]] Slab* grow();
  void release(Slab& slab);
  void returned(BufferBlock& block) override;

  const Options options_;
  List usable_;  // with a free block, the one that was freed into last first
  std::uint64_t used_ = 0;
  std::uint64_t slabs_ = 0;
  std::uint64_t most_slabs_ = 0;
  std::size_t empty_slabs_ = 0;  // wholly free
};

}  // namespace weft::wan
