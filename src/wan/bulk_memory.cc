// SPDX-License-Identifier: Apache-2.0
#include "wan/bulk_memory.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>
#include <vector>

namespace weft::wan {

struct BulkMemory::Block : BufferBlock {
  Block(MutableBytes bytes, Slab& of) : BufferBlock(bytes, Threads::kInTurn), slab(of) {}
  Slab& slab;
  Block* next_free = nullptr;
};

struct BulkMemory::Slab {
  std::unique_ptr<std::byte[]> bytes;
  std::vector<std::unique_ptr<Block>> blocks;
  Block* free = nullptr;  // the last one freed
  std::size_t free_blocks = 0;
  Slab* next = nullptr;
  Slab* previous = nullptr;
};

void BulkMemory::List::push_front(Slab& slab) {
  slab.previous = nullptr;
  slab.next = std::exchange(first, &slab);
  if (slab.next != nullptr) slab.next->previous = &slab;
}

void BulkMemory::List::remove(Slab& slab) {
  (slab.previous != nullptr ? slab.previous->next : first) = slab.next;
  if (slab.next != nullptr) slab.next->previous = slab.previous;
}

BulkMemory::BulkMemory(const Options& options) : options_(options) {
  assert(options.block_bytes >= 64 && options.slab_blocks >= 1);
}

BulkMemory::~BulkMemory() {
  assert(used_ == 0 && "a block outlives its memory");
  while (usable_.first != nullptr)
    release(*usable_.first);
}

BulkMemory::Slab* BulkMemory::grow() {
  auto slab = std::make_unique<Slab>();
  const std::size_t size = options_.block_bytes;
  // Not initialised: a page is the system's until something is written to it.
  slab->bytes.reset(new std::byte[options_.slab_blocks * size]);
  slab->blocks.reserve(options_.slab_blocks);
  for (std::size_t i = 0; i < options_.slab_blocks; ++i) {
    slab->blocks.push_back(
        std::make_unique<Block>(MutableBytes(slab->bytes.get() + i * size, size), *slab));
  }
  for (std::size_t i = options_.slab_blocks; i-- > 0;)
    slab->blocks[i]->next_free = std::exchange(slab->free, slab->blocks[i].get());
  slab->free_blocks = options_.slab_blocks;
  ++empty_slabs_;
  most_slabs_ = std::max(most_slabs_, ++slabs_);
  usable_.push_front(*slab);
  return slab.release();
}

void BulkMemory::release(Slab& slab) {
  usable_.remove(slab);
  --slabs_;
  --empty_slabs_;
  const std::unique_ptr<Slab> owned(&slab);
}

tl::expected<BufferRef, std::errc> BulkMemory::acquire() {
  Slab* slab = usable_.first;
  if (slab == nullptr) {
    if (slabs_ >= options_.most_bytes / slab_bytes()) {
      return tl::unexpected(std::errc::no_buffer_space);
    }
    try {
      slab = grow();
    } catch (const std::bad_alloc&) {
      return tl::unexpected(std::errc::not_enough_memory);
    }
  }
  if (slab->free_blocks == options_.slab_blocks) --empty_slabs_;
  Block* const block = std::exchange(slab->free, slab->free->next_free);
  if (--slab->free_blocks == 0) usable_.remove(*slab);
  ++used_;
  return block->lend(*this);
}

void BulkMemory::returned(BufferBlock& returned) {
  auto& block = static_cast<Block&>(returned);
  Slab& slab = block.slab;
  block.next_free = std::exchange(slab.free, &block);
  if (slab.free_blocks++ != 0) usable_.remove(slab);
  usable_.push_front(slab);
  --used_;
  if (slab.free_blocks < options_.slab_blocks) return;
  if (++empty_slabs_ > options_.spare_slabs) release(slab);
}

}  // namespace weft::wan
