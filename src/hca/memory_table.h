// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <vector>

#include "base/bytes.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/ids.h"
#include "hca/key_permutation.h"
#include "hca/types.h"

namespace weft::hca {

using PdHandle = std::uint32_t;  // identifies a protection domain within a device

// A registered range of the process's memory (IBA 10.6).
struct MemoryRegion {
  std::byte* base = nullptr;  // what `iova` maps to
  std::uint64_t iova = 0;     // the address that work requests and peers use
  std::uint64_t length = 0;   // bytes
  std::uint32_t access = 0;   // Access bits
  PdHandle pd = 0;
  std::uint32_t key = 0;  // L_Key and R_Key are one number here
};

// What to make different about a region; what is not given stays.
struct RegionChange {
  struct Range {
    std::byte* base = nullptr;
    std::uint64_t iova = 0;
    std::uint64_t length = 0;
  };
  std::optional<Range> range{};
  std::optional<PdHandle> pd{};
  std::optional<std::uint32_t> access{};
};

// IBA 10.6.7. Type 1 is bound by the bind verb, any queue pair of its domain may be asked for it.
// Type 2 (here always 2B) is bound by a work request and belongs to that work request's queue pair.
enum class WindowType : std::uint8_t { kType1, kType2 };

// The regions and memory windows of one device, found by key. Look-ups take no lock and may run
// while another thread registers or deregisters: a slot is published by its key and its memory is
// never freed while the table lives. remove() returns once no pinned use of the region is left.
//
// A region's key is the number of a slot and of its use, put through a permutation of the 32-bit
// numbers. So every region of a table has a key of its own, a slot that is used again has a
// different one for 4,095 times, and whoever knows neither the permutation nor a key guesses one of
// n with probability n / 2^32.
//
// The upper 24 bits of an R_Key name a window as long as it is allocated, the low 8 change from
// bind to bind (IBA 10.6.7.2). No region has a key with these upper bits meanwhile.
class MemoryTable {
 public:
  static constexpr std::size_t kMaxRegions = std::size_t{1} << 20;
  static constexpr std::size_t kMaxWindows = std::size_t{1} << 16;

  explicit MemoryTable(Entropy& entropy);
  ~MemoryTable();
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  // `region.key` is drawn here; with kZeroBased `region.iova` becomes 0. Fails with EINVAL for a
  // range that wraps or for remote write or atomic rights without local write (IBA 10.6.3.1),
  // ENOMEM when the table is full.
  Expected<MemoryRegion> add(MemoryRegion region);
  // Waits until no pin of the region is left; none can be taken meanwhile. Fails with EINVAL for an
  // unknown key, EBUSY while windows are bound to the region (IBA 10.6.7.2.6). The caller must not
  // hold a pin itself, nor a lock that the holder of one needs to let it go: it would wait for
  // itself.
  Expected<void> remove(std::uint32_t key);
  // Makes a live region another one without changing its key (ibv_rereg_mr). Waits, and must not be
  // waited for, as remove(); nobody finds the region meanwhile. Errors as of add() and remove();
  // the region is as before then.
  Expected<MemoryRegion> change(std::uint32_t key, const RegionChange& change);
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<MemoryRegion> snapshot() const;

  // A window that is bound to nothing. ENOMEM when the device has no more. Whatever asks for a
  // window below looks at the upper 24 bits of the key only, so every key that it ever had will do.
  Expected<RKey> add_window(WindowType type, PdHandle pd);
  // Unbinds it if need be. EINVAL for a key that names no window.
  Expected<void> remove_window(RKey window);
  // The next key that a window of type 1 may be bound with: each call gives another one, and the
  // 255 after it are different. (The application draws those of type 2.) EINVAL as above.
  Expected<RKey> draw_window_key(RKey window);
  // Carries out a bind (IBA 10.6.7.2) for a queue pair of domain `pd`, and returns zero; or EINVAL,
  // and nothing has changed: the window or the region is not of `pd`; the region has not
  // kWindowBind, or is zero-based, or does not contain the range, or lacks local write for remote
  // write or atomic rights; `new_key` names another window. Type 2 besides: it is still bound, or
  // the length is zero. Binding a window of type 1 again revokes the old key; a length of zero is
  // all that it does.
  std::errc bind_window(const WindowBinding& binding, PdHandle pd, Qpn qpn);
  // Unbinds the window of type 2 that has exactly this key and was bound by this queue pair: by a
  // local invalidate or a send with invalidate (IBA 10.6.7.2.4, 9.4.1.1). EINVAL for anything else,
  // regions included: those of user space cannot be invalidated, which is how rxe sees it too.
  std::errc invalidate(RKey key, PdHandle pd, Qpn qpn);
  // The queue pair is no more: its windows of type 2 are unbound, so that whoever gets its number
  // next finds none.
  void unbind_windows_of(Qpn qpn);
  [[nodiscard]] std::size_t window_count() const;

 private:
  friend class RegionPin;
  friend class RegionPinSet;
  struct Slot;
  struct WindowSlot;
  template <class T>
  struct Chunk;
  static constexpr std::size_t kChunkBits = 8;
  static constexpr std::size_t kIndexBits = 20;
  static constexpr std::size_t kWindowIndexBits = 16;
  static constexpr unsigned kWindowKeyBits = 8;  // of an R_Key that do not name the window
  static_assert(kMaxRegions == std::size_t{1} << kIndexBits);
  static_assert(kMaxWindows == std::size_t{1} << kWindowIndexBits);

  // Slots by number, which are made as they are needed and then stay. get() takes no lock.
  template <class T, std::size_t kMost>
  class Slots {
   public:
    ~Slots();
    // nullptr when there has never been that many.
    [[nodiscard]] T* get(std::uint32_t index) const;
    // The number of a slot that is not in use, or nothing. With the mutex held, as the others.
    std::optional<std::uint32_t> take(Entropy& entropy);
    void give_back(std::uint32_t index) { free_.push_back(index); }
    [[nodiscard]] std::uint32_t ever_used() const { return ever_used_; }

   private:
    std::array<std::atomic<Chunk<T>*>, (kMost >> kChunkBits)> chunks_{};
    std::deque<std::uint32_t> free_;  // used longest ago first
    std::uint32_t ever_used_ = 0;     // slots below it have been used at least once
  };

  // The slot that `key` would have; nullptr when the table has never been that large.
  [[nodiscard]] Slot* find(std::uint32_t key) const;
  [[nodiscard]] WindowSlot* find_window(std::uint32_t key) const;
  // With the mutex held: what is alive under this key, or nullptr.
  [[nodiscard]] Slot* live_region(std::uint32_t key) const;
  [[nodiscard]] WindowSlot* live_window(std::uint32_t key) const;
  [[nodiscard]] bool is_free_name(std::uint32_t name) const;
  [[nodiscard]] static bool may_bind(const WindowBinding& binding, const WindowSlot& window,
                                     const Slot* region, PdHandle pd);
  static void unbind(WindowSlot& window);  // with the mutex held

  // Takes a live region out of sight, with the mutex held: nobody finds it any more.
  Expected<Slot*> withdraw(std::uint32_t key);
  // Takes a pin of the region, or if `remote` the window, that `key` names. `like`: of what was
  // pinned last by that key, or null; to compute a slot costs as much as all the rest.
  [[nodiscard]] Slot* pin(std::uint32_t key, bool remote, Slot* like = nullptr) const;
  static bool try_pin(Slot* slot, std::uint32_t key);
  static void unpin(Slot& slot);
  static void wait_for_pins(const Slot& slot);
  [[nodiscard]] static std::byte* locate(const Slot& slot, PdHandle pd, std::uint64_t address,
                                         std::uint64_t length, std::uint32_t access, Qpn qpn);
  [[nodiscard]] static bool names(const Slot& slot, std::uint32_t key);

  Entropy& entropy_;
  const KeyPermutation<32> region_keys_;
  const KeyPermutation<32 - kWindowKeyBits> window_names_;
  mutable std::mutex mutex_;  // registering and binding only
  Slots<Slot, kMaxRegions> regions_;
  Slots<WindowSlot, kMaxWindows> windows_;
  std::size_t size_ = 0;
  std::size_t window_count_ = 0;
};

// Holds one region or window for the duration of a burst, so that neighbouring packets look it up
// once.
//
// Binding and invalidating a window wait for the pins of it, with the lock of a queue pair held. So
// the pin of a window must be released before the call into the core that took it returns, and
// before the core calls bind_window() or invalidate() itself. Regions may be held longer.
class RegionPin {
 public:
  explicit RegionPin(const MemoryTable& table) : table_(table) {}
  ~RegionPin() { release(); }
  RegionPin(const RegionPin&) = delete;
  RegionPin& operator=(const RegionPin&) = delete;

  // The bytes of [address, address+length) when `key` names a region of `pd` with all of `access`
  // that contains them; nullptr otherwise. When `access` has a remote right in it, a window that
  // queue pair `qpn` may use will do as well. Valid until another region is resolved or release().
  std::byte* resolve(std::uint32_t key, PdHandle pd, std::uint64_t address, std::uint64_t length,
                     std::uint32_t access, Qpn qpn = {});
  void release();
  // Lets go of a window, but keeps a region.
  void release_window();

 private:
  const MemoryTable& table_;
  MemoryTable::Slot* held_ = nullptr;
  MemoryTable::Slot* last_ = nullptr;  // what was held, and may be another's now
  std::uint32_t key_ = 0;              // of both
};

// Holds every region that a burst refers to, each once. Of a window it holds the region below, so
// nobody who unbinds the window waits for a burst: what has been resolved may still be sent.
class RegionPinSet {
 public:
  explicit RegionPinSet(const MemoryTable& table) : table_(table) {}
  ~RegionPinSet() { release(); }
  RegionPinSet(const RegionPinSet&) = delete;
  RegionPinSet& operator=(const RegionPinSet&) = delete;

  // As RegionPin::resolve, but valid until release().
  std::byte* resolve(std::uint32_t key, PdHandle pd, std::uint64_t address, std::uint64_t length,
                     std::uint32_t access, Qpn qpn = {});
  void release();
  [[nodiscard]] std::size_t size() const { return held_.size(); }

 private:
  struct Held {
    MemoryTable::Slot* slot = nullptr;
    std::uint32_t key = 0;
  };
  void hold_below(const MemoryTable::Slot& window);

  const MemoryTable& table_;
  std::vector<Held> held_;
  Held last_;  // looked up last; it may be another's now
};

}  // namespace weft::hca
