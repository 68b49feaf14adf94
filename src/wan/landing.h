// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/buffer_pool.h"
#include "base/bytes.h"
#include "wan/bulk_memory.h"

namespace weft::wan {

// Memory that a network's frames are read into, so that packets which soon go on need not be
// copied: they refer to where they came. A block is used from its front again once nobody refers
// to it, so that a buffer through which packets pass stays in the processor's cache; packets that
// have to wait are better copied to where each has a block of its own. For one thread at a time.
class Landing {
 public:
  static constexpr std::size_t kBlock = std::size_t{256} << 10;
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;  // of blocks, altogether
  static constexpr std::size_t kRoom = std::size_t{64} << 10;      // of any datagram

  // Where to read the next frames to, kRoom bytes at least; nothing: all memory is in use.
  [[nodiscard]] MutableBytes room();
  // So many bytes of that have come. They stay until the next room(), and as long as an owner of
  // theirs is kept.
  void landed(std::size_t bytes);
  // Of some of what has landed since room(); nothing for other bytes.
  [[nodiscard]] BufferRef owner(Bytes bytes) const;

 private:
  BulkMemory memory_{{.block_bytes = kBlock,
                      .slab_blocks = 1,
                      .most_bytes = kMostBytes,
                      .spare_slabs = kMostBytes / kBlock}};
  BufferRef block_;
  std::size_t used_ = 0;  // of the block
};

}  // namespace weft::wan
