// SPDX-License-Identifier: Apache-2.0
// What a memory table is made of; for its own source files.
#pragma once

#include <cassert>

#include "hca/memory_table.h"

namespace weft::hca {

// A reader counts itself in `pins` before it looks at `key`; who takes a region or window away
// clears `key` before it looks at `pins`. With all four sequentially consistent at least one of the
// two sees the other: either the reader finds no key, or the other waits for it. What a reader
// looks at is plain: it is written before the key is published and not again until the last pin is
// gone.
struct MemoryTable::Slot {
  static constexpr std::uint32_t kAnyQueuePair = ~std::uint32_t{0};

  std::atomic<std::uint32_t> key{0};  // 0: free, being removed, or a window that is not bound
  std::atomic<std::uint32_t> pins{0};
  std::uint32_t use = 0;  // how often it was used, from a random start

  // Of a window: what may be done through it. `region.key` is set as long as a region has a slot.
  MemoryRegion region;
  bool is_window = false;
  std::uint32_t only_for = kAnyQueuePair;  // a window's: the one number that may use it

  std::uint32_t bound_windows = 0;  // to this region; guarded by the mutex
};

struct MemoryTable::WindowSlot : Slot {
  // Guarded by the mutex, but for `below` while a window is bound.
  std::uint32_t name = 0;  // upper 24 bits of its keys; 0: not allocated
  WindowType type{};
  PdHandle pd = 0;
  std::uint8_t drawn = 0;  // low bits of the key that was drawn last
  std::uint8_t step = 1;   // odd, so that 256 draws are different
  Slot* below = nullptr;   // the region that it is bound to
};

template <class T>
struct MemoryTable::Chunk {
  std::array<T, std::size_t{1} << kChunkBits> slots;
};

template <class T, std::size_t kMost>
MemoryTable::Slots<T, kMost>::~Slots() {
  for (std::atomic<Chunk<T>*>& chunk : chunks_) {
    const std::unique_ptr<Chunk<T>> owned(chunk.load(std::memory_order_acquire));
    if (!owned) continue;
    for (const T& slot : owned->slots)
      assert(slot.pins.load() == 0 && "a pin outlives its table");
  }
}

template <class T, std::size_t kMost>
T* MemoryTable::Slots<T, kMost>::get(std::uint32_t index) const {
  assert(index < kMost);
  Chunk<T>* const chunk = chunks_[index >> kChunkBits].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &chunk->slots[index & ((1u << kChunkBits) - 1)];
}

template <class T, std::size_t kMost>
std::optional<std::uint32_t> MemoryTable::Slots<T, kMost>::take(Entropy& entropy) {
  if (free_.empty() && ever_used_ < kMost) {
    const std::uint32_t index = ever_used_++;
    std::atomic<Chunk<T>*>& chunk = chunks_[index >> kChunkBits];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(std::make_unique<Chunk<T>>().release(), std::memory_order_release);
    }
    get(index)->use = static_cast<std::uint32_t>(entropy.draw());
    return index;
  }
  if (free_.empty()) return std::nullopt;
  const std::uint32_t index = free_.front();
  free_.pop_front();
  return index;
}

}  // namespace weft::hca
