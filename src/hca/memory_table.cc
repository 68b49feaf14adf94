// SPDX-License-Identifier: Apache-2.0
#include "hca/memory_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <thread>

#include "hca/memory_slots.h"

namespace weft::hca {
namespace {

constexpr std::uint32_t kKnownAccess =
    kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kWindowBind | kZeroBased;
constexpr std::uint32_t kRemoteRights = kRemoteWrite | kRemoteRead | kRemoteAtomic;

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

MemoryTable::MemoryTable(Entropy& entropy)
    : entropy_(entropy), region_keys_(entropy), window_names_(entropy) {
}

MemoryTable::~MemoryTable() = default;

MemoryTable::Slot* MemoryTable::find(std::uint32_t key) const {
  return regions_.get(region_keys_.decode(key) & (kMaxRegions - 1));
}

MemoryTable::Slot* MemoryTable::live_region(std::uint32_t key) const {
  Slot* const slot = find(key);
  return slot != nullptr && key != 0 && slot->key.load() == key ? slot : nullptr;
}

Expected<MemoryRegion> MemoryTable::add(MemoryRegion region) {
  if ((region.access & kZeroBased) != 0) region.iova = 0;
  if (auto checked = check(region); !checked) return tl::make_unexpected(checked.error());
  const std::lock_guard lock(mutex_);
  const auto index = regions_.take(entropy_);
  if (!index) {
    return fail(std::errc::not_enough_memory,
                fmt::format("memory region: all {} of the device are in use", kMaxRegions));
  }
  Slot& slot = *regions_.get(*index);
  assert(slot.key.load() == 0 && slot.bound_windows == 0);
  do {  // 0 marks a free slot, so the one number that becomes 0 is skipped
    region.key = region_keys_.encode(++slot.use << kIndexBits | *index);
  } while (region.key == 0 || live_window(region.key) != nullptr);
  assert(find(region.key) == &slot);
  slot.region = region;
  slot.key.store(region.key);
  ++size_;
  return region;
}

Expected<MemoryTable::Slot*> MemoryTable::withdraw(std::uint32_t key) {
  Slot* const slot = live_region(key);
  if (slot == nullptr) {
    return fail(std::errc::invalid_argument, fmt::format("memory region: no key {:#x}", key));
  }
  if (slot->bound_windows != 0) {
    return fail(std::errc::device_or_resource_busy,
                fmt::format("memory region {:#x}: {} memory windows are bound to it", key,
                            slot->bound_windows));
  }
  slot->key.store(0);
  --size_;
  return slot;
}

Expected<void> MemoryTable::remove(std::uint32_t key) {
  std::unique_lock lock(mutex_);
  const auto slot = withdraw(key);
  if (!slot) return tl::make_unexpected(slot.error());
  // The slot is in no list now: nobody but us can hand it out again.
  lock.unlock();
  wait_for_pins(**slot);
  lock.lock();
  (*slot)->region.key = 0;
  regions_.give_back(region_keys_.decode(key) & (kMaxRegions - 1));
  return {};
}

Expected<MemoryRegion> MemoryTable::change(std::uint32_t key, const RegionChange& change) {
  std::unique_lock lock(mutex_);
  MemoryRegion region;
  if (const Slot* const slot = live_region(key)) region = slot->region;
  if (change.range) {
    region.base = change.range->base;
    region.iova = change.range->iova;
    region.length = change.range->length;
  }
  if (change.pd) region.pd = *change.pd;
  if (change.access) region.access = *change.access;
  if ((region.access & kZeroBased) != 0) region.iova = 0;
  if (auto checked = check(region); !checked) return tl::make_unexpected(checked.error());
  const auto slot = withdraw(key);
  if (!slot) return tl::make_unexpected(slot.error());
  lock.unlock();
  wait_for_pins(**slot);
  lock.lock();
  (*slot)->region = region;
  (*slot)->key.store(key);
  ++size_;
  return region;
}

// Pins that are waited for last as long as one burst or one copy, so there is nothing to sleep for.
void MemoryTable::wait_for_pins(const Slot& slot) {
  while (slot.pins.load() != 0)
    std::this_thread::yield();
}

std::size_t MemoryTable::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

std::vector<MemoryRegion> MemoryTable::snapshot() const {
  const std::lock_guard lock(mutex_);
  std::vector<MemoryRegion> regions;
  regions.reserve(size_);
  for (std::uint32_t index = 0; index < regions_.ever_used(); ++index) {
    const Slot& slot = *regions_.get(index);
    if (slot.key.load() != 0) regions.push_back(slot.region);
  }
  assert(regions.size() == size_);
  return regions;
}

bool MemoryTable::try_pin(Slot* slot, std::uint32_t key) {
  if (slot == nullptr || key == 0) return false;
  slot->pins.fetch_add(1);
  if (slot->key.load() == key) return true;
  unpin(*slot);
  return false;
}

MemoryTable::Slot* MemoryTable::pin(std::uint32_t key, bool remote, Slot* like) const {
  if (like != nullptr && names(*like, key) && try_pin(like, key)) return like;
  if (Slot* const slot = find(key); try_pin(slot, key)) return slot;
  if (!remote) return nullptr;
  Slot* const window = find_window(key);
  return try_pin(window, key) ? window : nullptr;
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
                               std::uint64_t length, std::uint32_t access, Qpn qpn) {
  const MemoryRegion& region = slot.region;
  if (region.pd != pd || (region.access & access) != access) return nullptr;
  if (slot.is_window) {
    if ((access & kRemoteRights) == 0) return nullptr;
    if (slot.only_for != Slot::kAnyQueuePair && slot.only_for != qpn.value()) return nullptr;
  }
  if (address < region.iova) return nullptr;
  const std::uint64_t offset = address - region.iova;
  if (offset > region.length || length > region.length - offset) return nullptr;
  return region.base + offset;
}

std::byte* RegionPin::resolve(std::uint32_t key, PdHandle pd, std::uint64_t address,
                              std::uint64_t length, std::uint32_t access, Qpn qpn) {
  if (held_ == nullptr || key_ != key || !MemoryTable::names(*held_, key)) {
    release();
    held_ = table_.pin(key, (access & kRemoteRights) != 0, key_ == key ? last_ : nullptr);
    key_ = key;
    if (held_ == nullptr) return nullptr;
    last_ = held_;
  }
  return MemoryTable::locate(*held_, pd, address, length, access, qpn);
}

void RegionPin::release() {
  if (held_ != nullptr) MemoryTable::unpin(*held_);
  held_ = nullptr;
}

void RegionPin::release_window() {
  if (held_ != nullptr && held_->is_window) release();
}

std::byte* RegionPinSet::resolve(std::uint32_t key, PdHandle pd, std::uint64_t address,
                                 std::uint64_t length, std::uint32_t access, Qpn qpn) {
  // Newest first: neighbouring packets mostly share a region.
  for (std::size_t i = held_.size(); i-- > 0;) {
    if (held_[i].key != key) continue;
    // Being removed: what has it may finish, nothing new may begin.
    if (!MemoryTable::names(*held_[i].slot, key)) return nullptr;
    return MemoryTable::locate(*held_[i].slot, pd, address, length, access, qpn);
  }
  MemoryTable::Slot* const like = last_.key == key ? last_.slot : nullptr;
  MemoryTable::Slot* const slot = table_.pin(key, (access & kRemoteRights) != 0, like);
  if (slot == nullptr) return nullptr;
  last_ = {slot, key};
  std::byte* const at = MemoryTable::locate(*slot, pd, address, length, access, qpn);
  if (slot->is_window) {
    if (at != nullptr) hold_below(*slot);
    MemoryTable::unpin(*slot);
  } else {
    held_.push_back({slot, key});
  }
  return at;
}

// The region below a window cannot go while the window is pinned.
void RegionPinSet::hold_below(const MemoryTable::Slot& window) {
  MemoryTable::Slot* const region = static_cast<const MemoryTable::WindowSlot&>(window).below;
  const auto same = [&](const Held& held) { return held.slot == region; };
  if (std::any_of(held_.begin(), held_.end(), same)) return;
  region->pins.fetch_add(1);
  held_.push_back({region, region->region.key});
}

void RegionPinSet::release() {
  for (const Held& held : held_)
    MemoryTable::unpin(*held.slot);
  held_.clear();
}

}  // namespace weft::hca
