// SPDX-License-Identifier: Apache-2.0
#include "hca/memory_table.h"

#include <fmt/format.h>

#include <bit>
#include <cassert>
#include <limits>
#include <thread>

namespace weft::hca {

// A reader counts itself in `pins` before it looks at `key`; remove() clears `key` before it looks
// at `pins`. With all four sequentially consistent at least one of the two sees the other: either
// the reader finds no key, or remove() waits for it. The region's own fields are plain: they are
// written before the key is published and not again until the last pin is gone.
struct MemoryTable::Slot {
  std::atomic<std::uint32_t> key{0};  // 0: free, or being removed
  std::atomic<std::uint32_t> pins{0};
  std::uint32_t use = 0;  // how often it was used, modulo 2^12, from a random start
  MemoryRegion region;
};

struct MemoryTable::Chunk {
  std::array<Slot, std::size_t{1} << kChunkBits> slots;
};

namespace {

constexpr std::uint32_t kKnownAccess =
    kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kWindowBind;

// One round of the Feistel network: 16 bits from 16 bits and a key.
std::uint32_t mix(std::uint32_t half, std::uint64_t round_key) {
  std::uint64_t x = (half ^ round_key) * 0x9E37'79B9'7F4A'7C15;
  x ^= x >> 32;
  x *= round_key | 1;
  return static_cast<std::uint32_t>(x >> 48);
}

bool wraps(std::uint64_t start, std::uint64_t length) {
  return length > std::numeric_limits<std::uint64_t>::max() - start;
}

Expected<void> check(const MemoryRegion& region) {
  const std::uint64_t base = std::bit_cast<std::uintptr_t>(region.base);
  if (wraps(base, region.length) || wraps(region.iova, region.length)) {
    return fail(std::errc::invalid_argument,
                fmt::format("memory region of {} bytes at {:#x} (virtual {:#x}): the range wraps",
                            region.length, base, region.iova));
  }
  if ((region.access & ~kKnownAccess) != 0) {
    return fail(
        std::errc::invalid_argument,
        fmt::format("memory region: unknown access rights {:#x}", region.access & ~kKnownAccess));
  }
  if ((region.access & (kRemoteWrite | kRemoteAtomic)) != 0 && (region.access & kLocalWrite) == 0) {
    return fail(std::errc::invalid_argument,
                "memory region: remote write and atomic rights need local write (IBA 10.6.3.1)");
  }
  return {};
}

}  // namespace

MemoryTable::MemoryTable(Entropy& entropy) : entropy_(entropy) {
  for (std::uint64_t& key : round_keys_)
    key = entropy.draw();
}

MemoryTable::~MemoryTable() {
  for (std::atomic<Chunk*>& chunk : chunks_) {
    const std::unique_ptr<Chunk> owned(chunk.load(std::memory_order_acquire));
    if (!owned) continue;
    for (const Slot& slot : owned->slots)
      assert(slot.pins.load() == 0 && "a pin outlives its table");
  }
}

std::uint32_t MemoryTable::encode(std::uint32_t plain) const {
  std::uint32_t left = plain >> 16;
  std::uint32_t right = plain & 0xFFFF;
  for (const std::uint64_t key : round_keys_) {
    const std::uint32_t next = left ^ mix(right, key);
    left = right;
    right = next;
  }
  return left << 16 | right;
}

std::uint32_t MemoryTable::decode(std::uint32_t key) const {
  std::uint32_t left = key >> 16;
  std::uint32_t right = key & 0xFFFF;
  for (unsigned round = kRounds; round-- > 0;) {
    const std::uint32_t previous = right ^ mix(left, round_keys_[round]);
    right = left;
    left = previous;
  }
  return left << 16 | right;
}

MemoryTable::Slot* MemoryTable::slot(std::uint32_t index) const {
  assert(index < kMaxRegions);
  Chunk* const chunk = chunks_[index >> kChunkBits].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &chunk->slots[index & ((1u << kChunkBits) - 1)];
}

MemoryTable::Slot* MemoryTable::find(std::uint32_t key) const {
  return slot(decode(key) & (kMaxRegions - 1));
}

std::optional<std::uint32_t> MemoryTable::take_free() {
  if (free_.empty() && ever_used_ < kMaxRegions) {
    const std::uint32_t index = ever_used_++;
    std::atomic<Chunk*>& chunk = chunks_[index >> kChunkBits];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(std::make_unique<Chunk>().release(), std::memory_order_release);
    }
    slot(index)->use = static_cast<std::uint32_t>(entropy_.draw());
    return index;
  }
  if (free_.empty()) return std::nullopt;
  const std::uint32_t index = free_.front();
  free_.pop_front();
  return index;
}

Expected<MemoryRegion> MemoryTable::add(MemoryRegion region) {
  if (auto checked = check(region); !checked) return tl::make_unexpected(checked.error());
  const std::lock_guard lock(mutex_);
  const auto index = take_free();
  if (!index) {
    return fail(std::errc::not_enough_memory,
                fmt::format("memory region: all {} of the device are in use", kMaxRegions));
  }
  Slot& slot = *this->slot(*index);
  assert(slot.key.load() == 0);
  do {  // 0 marks a free slot, so the one number that becomes 0 is skipped
    region.key = encode(++slot.use << kIndexBits | *index);
  } while (region.key == 0);
  assert(find(region.key) == &slot);
  slot.region = region;
  slot.key.store(region.key);
  ++size_;
  return region;
}

Expected<void> MemoryTable::remove(std::uint32_t key) {
  Slot* const slot = find(key);
  {
    const std::lock_guard lock(mutex_);
    if (slot == nullptr || key == 0 || slot->key.load() != key) {
      return fail(std::errc::invalid_argument, fmt::format("memory region: no key {:#x}", key));
    }
    slot->key.store(0);
    --size_;
  }
  // Pins last as long as one burst or one copy, so there is nothing to sleep for. The slot is in no
  // list now: nobody but us can hand it out again.
  while (slot->pins.load() != 0)
    std::this_thread::yield();
  const std::lock_guard lock(mutex_);
  free_.push_back(decode(key) & (kMaxRegions - 1));
  return {};
}

std::size_t MemoryTable::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

std::vector<MemoryRegion> MemoryTable::snapshot() const {
  const std::lock_guard lock(mutex_);
  std::vector<MemoryRegion> regions;
  regions.reserve(size_);
  for (std::uint32_t index = 0; index < ever_used_; ++index) {
    const Slot& slot = *this->slot(index);
    if (slot.key.load() != 0) regions.push_back(slot.region);
  }
  assert(regions.size() == size_);
  return regions;
}

MemoryTable::Slot* MemoryTable::pin(std::uint32_t key) const {
  Slot* const slot = find(key);
  if (slot == nullptr || key == 0) return nullptr;
  slot->pins.fetch_add(1);
  if (slot->key.load() == key) return slot;
  unpin(*slot);
  return nullptr;
}

void MemoryTable::unpin(Slot& slot) {
  const std::uint32_t before = slot.pins.fetch_sub(1);
  assert(before > 0);
  (void)before;
}

bool MemoryTable::names(const Slot& slot, std::uint32_t key) {
  return slot.key.load() == key;
}

std::byte* MemoryTable::locate(const Slot& slot, PdHandle pd, std::uint64_t address,
                               std::uint64_t length, std::uint32_t access) {
  const MemoryRegion& region = slot.region;
  if (region.pd != pd || (region.access & access) != access) return nullptr;
  if (address < region.iova) return nullptr;
  const std::uint64_t offset = address - region.iova;
  if (offset > region.length || length > region.length - offset) return nullptr;
  return region.base + offset;
}

std::byte* RegionPin::resolve(std::uint32_t key, PdHandle pd, std::uint64_t address,
                              std::uint64_t length, std::uint32_t access) {
  if (held_ == nullptr || key_ != key || !MemoryTable::names(*held_, key)) {
    release();
    held_ = table_.pin(key);
    key_ = key;
    if (held_ == nullptr) return nullptr;
  }
  return MemoryTable::locate(*held_, pd, address, length, access);
}

void RegionPin::release() {
  if (held_ != nullptr) MemoryTable::unpin(*held_);
  held_ = nullptr;
}

std::byte* RegionPinSet::resolve(std::uint32_t key, PdHandle pd, std::uint64_t address,
                                 std::uint64_t length, std::uint32_t access) {
  // Newest first: neighbouring packets mostly share a region.
  MemoryTable::Slot* slot = nullptr;
  for (std::size_t i = held_.size(); i-- > 0 && slot == nullptr;) {
    if (held_[i].key == key) slot = held_[i].slot;
  }
  if (slot == nullptr) {
    slot = table_.pin(key);
    if (slot == nullptr) return nullptr;
    held_.push_back({slot, key});
  } else if (!MemoryTable::names(*slot, key)) {
    return nullptr;  // being removed: what has it may finish, nothing new may begin
  }
  return MemoryTable::locate(*slot, pd, address, length, access);
}

void RegionPinSet::release() {
  for (const Held& held : held_)
    MemoryTable::unpin(*held.slot);
  held_.clear();
}

}  // namespace weft::hca
