// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer_pool.h"
#include "base/bytes.h"
#include "wan/bulk_memory.h"

namespace weft::wan {

// Memory that a network's frames are read into, so that packets need not be copied: they refer to
// where they came. A block is used from its front again once nobody refers to it, so that a buffer
// through which packets pass stays in the processor's cache. A packet that waits holds up the whole
// block, so that where others have gone on it is better copied to a block of its own. For one
// thread at a time.
class Landing {
 public:
  static constexpr std::size_t kBlock = std::size_t{256} << 10;
  static constexpr std::size_t kRoom = std::size_t{64} << 10;  // of any datagram
  // Bytes of blocks that are kept when they are free.
  static constexpr std::size_t kSpareBytes = std::size_t{8} << 20;

  // `most_bytes`: of blocks, altogether.
  explicit Landing(std::uint64_t most_bytes = kSpareBytes)
      : memory_({.block_bytes = kBlock,
                 .slab_blocks = 1,
                 .most_bytes = most_bytes,
                 .spare_slabs = kSpareBytes / kBlock}) {}

  // Where to read the next frames to, kRoom bytes at least; nothing: all memory is in use.
  [[nodiscard]] MutableBytes room();
  // So many bytes of that have come. They stay until the next room(), and as long as an owner of
  // theirs is kept.
  void landed(std::size_t bytes);
  // Of some of what has landed since room(); nothing for other bytes.
  [[nodiscard]] BufferRef owner(Bytes bytes) const;
  // The same bytes, for who changes them where they are before anybody else refers to them.
  [[nodiscard]] MutableBytes writable(Bytes bytes) const;
  // Bytes of blocks that are referred to, with the one that is read into.
  [[nodiscard]] std::uint64_t held_bytes() const { return memory_.used_bytes(); }

 private:
  [[nodiscard]] bool holds(Bytes bytes) const;

  BulkMemory memory_;
  BufferRef block_;
  std::size_t used_ = 0;  // of the block
};

}  // namespace weft::wan
