// SPDX-License-Identifier: Apache-2.0
// Memory windows (IBA 10.6.7): parts of a region that are lent out and taken back without
// registering anything.
#include <fmt/format.h>

#include <cassert>

#include "hca/memory_slots.h"
#include "hca/memory_table.h"

namespace weft::hca {
namespace {

constexpr std::uint32_t kGrantable = kRemoteWrite | kRemoteRead | kRemoteAtomic;
// A window grants remote rights only; the rest of a region's rights mean nothing for it.
constexpr std::uint32_t kMemoryWindowsTolerated =
    kGrantable | kLocalWrite | kWindowBind | kZeroBased;

bool contains(const MemoryRegion& region, std::uint64_t address, std::uint64_t length) {
  if (address < region.iova) return false;
  const std::uint64_t offset = address - region.iova;
  return offset <= region.length && length <= region.length - offset;
}

tl::unexpected<Error> no_window(RKey key) {
  return fail(std::errc::invalid_argument, fmt::format("memory window: no key {:#x}", key.value()));
}

}  // namespace

MemoryTable::WindowSlot* MemoryTable::find_window(std::uint32_t key) const {
  return windows_.get(window_names_.decode(key >> kWindowKeyBits) & (kMaxWindows - 1));
}

MemoryTable::WindowSlot* MemoryTable::live_window(std::uint32_t key) const {
  WindowSlot* const slot = find_window(key);
  const std::uint32_t name = key >> kWindowKeyBits;
  return slot != nullptr && name != 0 && slot->name == name ? slot : nullptr;
}

bool MemoryTable::is_free_name(std::uint32_t name) const {
  if (name == 0) return false;
  for (std::uint32_t low = 0; low < 1u << kWindowKeyBits; ++low) {
    // One that change() has taken out of sight comes back under its key.
    const std::uint32_t key = name << kWindowKeyBits | low;
    const Slot* const slot = find(key);
    if (slot != nullptr && slot->region.key == key) return false;
  }
  return true;
}

Expected<RKey> MemoryTable::add_window(WindowType type, PdHandle pd) {
  const std::lock_guard lock(mutex_);
  const auto index = windows_.take(entropy_);
  if (!index) {
    return fail(std::errc::not_enough_memory,
                fmt::format("memory window: all {} of the device are in use", kMaxWindows));
  }
  WindowSlot& window = *windows_.get(*index);
  assert(window.key.load() == 0 && window.name == 0 && window.below == nullptr);
  do {
    window.name = window_names_.encode(++window.use << kWindowIndexBits | *index);
  } while (!is_free_name(window.name));
  assert(find_window(window.name << kWindowKeyBits) == &window);
  window.is_window = true;
  window.type = type;
  window.pd = pd;
  const std::uint64_t random = entropy_.draw();
  window.drawn = static_cast<std::uint8_t>(random);
  window.step = static_cast<std::uint8_t>(random >> 8 | 1);
  ++window_count_;
  return RKey{window.name << kWindowKeyBits | window.drawn};
}

Expected<void> MemoryTable::remove_window(RKey key) {
  const std::lock_guard lock(mutex_);
  WindowSlot* const window = live_window(key.value());
  if (window == nullptr) return no_window(key);
  unbind(*window);
  windows_.give_back(window_names_.decode(window->name) & (kMaxWindows - 1));
  window->name = 0;
  --window_count_;
  return {};
}

Expected<RKey> MemoryTable::draw_window_key(RKey key) {
  const std::lock_guard lock(mutex_);
  WindowSlot* const window = live_window(key.value());
  if (window == nullptr) return no_window(key);
  window->drawn = static_cast<std::uint8_t>(window->drawn + window->step);
  return RKey{window->name << kWindowKeyBits | window->drawn};
}

// `region` is what `binding.region_lkey` names, or nullptr. Clauses are those of IBA 10.6.7.2.
bool MemoryTable::may_bind(const WindowBinding& binding, const WindowSlot& window,
                           const Slot* region, PdHandle pd) {
  if (window.pd != pd || binding.new_key.value() >> kWindowKeyBits != window.name)
    return false;  // C10-72
  if ((binding.access & ~kMemoryWindowsTolerated) != 0) return false;
  if (window.type == WindowType::kType1) {
    if ((binding.access & kZeroBased) != 0) return false;  // o10-36.2.2
    if (binding.length == 0) return true;
  } else if (window.below != nullptr || binding.length == 0) {
    return false;  // o10-37.2.30, o10-37.2.40
  }
  if (region == nullptr || region->region.pd != pd) return false;
  const std::uint32_t rights = region->region.access;
  if ((rights & kZeroBased) != 0 || (rights & kWindowBind) == 0) return false;  // C10-73
  if ((binding.access & (kRemoteWrite | kRemoteAtomic)) != 0 && (rights & kLocalWrite) == 0) {
    return false;  // C10-74
  }
  return contains(region->region, binding.address, binding.length);  // C10-75
}

std::errc MemoryTable::bind_window(const WindowBinding& binding, PdHandle pd, Qpn qpn) {
  const std::lock_guard lock(mutex_);
  WindowSlot* const window = live_window(binding.window.value());
  if (window == nullptr) return std::errc::invalid_argument;
  Slot* const region = live_region(binding.region_lkey);
  if (!may_bind(binding, *window, region, pd)) return std::errc::invalid_argument;
  unbind(*window);
  if (binding.length == 0) return {};
  window->region = {.base = region->region.base + (binding.address - region->region.iova),
                    .iova = (binding.access & kZeroBased) != 0 ? 0 : binding.address,
                    .length = binding.length,
                    .access = binding.access & kGrantable,
                    .pd = pd,
                    .key = binding.new_key.value()};
  window->only_for = window->type == WindowType::kType2 ? qpn.value() : Slot::kAnyQueuePair;
  window->below = region;
  ++region->bound_windows;
  window->key.store(binding.new_key.value());
  return {};
}

void MemoryTable::unbind(WindowSlot& window) {
  if (window.below == nullptr) return;
  window.key.store(0);
  wait_for_pins(window);
  assert(window.below->bound_windows > 0);
  --window.below->bound_windows;
  window.below = nullptr;
}

std::errc MemoryTable::invalidate(RKey key, PdHandle pd, Qpn qpn) {
  const std::lock_guard lock(mutex_);
  WindowSlot* const window = live_window(key.value());
  const bool may = window != nullptr && window->type == WindowType::kType2 && window->pd == pd &&
                   window->below != nullptr && window->key.load() == key.value() &&
                   window->only_for == qpn.value();
  if (!may) return std::errc::invalid_argument;
  unbind(*window);
  return {};
}

void MemoryTable::unbind_windows_of(Qpn qpn) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t index = 0; index < windows_.ever_used(); ++index) {
    WindowSlot& window = *windows_.get(index);
    if (window.below != nullptr && window.only_for == qpn.value()) unbind(window);
  }
}

std::size_t MemoryTable::window_count() const {
  const std::lock_guard lock(mutex_);
  return window_count_;
}

}  // namespace weft::hca
