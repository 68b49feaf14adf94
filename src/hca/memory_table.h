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
#include <vector>

#include "base/bytes.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/ids.h"
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

// The regions of one device, found by key. Look-ups take no lock and may run while another thread
// registers or deregisters: a slot is published by its key and its memory is never freed while the
// table lives. remove() returns once no pinned use of the region is left.
//
// A key is the number of a slot and of its use, put through a permutation of the 32-bit numbers
// that is drawn when the table is made. So every region of a table has a key of its own, a slot
// that is used again has a different one for 4,095 times, and whoever knows neither the permutation
// nor a key guesses one of n with probability n / 2^32. The permutation is a small Feistel network,
// not a cipher: it keeps a peer that was given some keys from counting on to the next one, not a
// cryptanalyst who has collected thousands.
class MemoryTable {
 public:
  static constexpr std::size_t kMaxRegions = std::size_t{1} << 20;

  explicit MemoryTable(Entropy& entropy);
  ~MemoryTable();
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  // `region.key` is drawn here. Fails with EINVAL for a range that wraps or for remote write or
  // atomic rights without local write (IBA 10.6.3.1), ENOMEM when the table is full.
  Expected<MemoryRegion> add(MemoryRegion region);
  // Waits until no pin of the region is left; none can be taken meanwhile. Fails with EINVAL for an
  // unknown key. The caller must not hold a pin itself, nor a lock that the holder of one needs to
  // let it go: it would wait for itself.
  Expected<void> remove(std::uint32_t key);
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<MemoryRegion> snapshot() const;

 private:
  friend class RegionPin;
  friend class RegionPinSet;
  struct Slot;
  struct Chunk;
  static constexpr std::size_t kChunkBits = 8;
  static constexpr std::size_t kIndexBits = 20;
  static constexpr unsigned kRounds = 4;
  static_assert(kMaxRegions == std::size_t{1} << kIndexBits);

  // The permutation from (use << kIndexBits | index) to keys, and back.
  [[nodiscard]] std::uint32_t encode(std::uint32_t plain) const;
  [[nodiscard]] std::uint32_t decode(std::uint32_t key) const;
  // The slot that `key` would have; nullptr when the table has never been that large.
  [[nodiscard]] Slot* find(std::uint32_t key) const;
  [[nodiscard]] Slot* slot(std::uint32_t index) const;
  // A slot that is not in use and its number, or nothing. Called under the mutex.
  std::optional<std::uint32_t> take_free();
  // Takes a pin of the region that `key` names, if it may be used so; see RegionPin::resolve.
  [[nodiscard]] Slot* pin(std::uint32_t key) const;
  static void unpin(Slot& slot);
  [[nodiscard]] static std::byte* locate(const Slot& slot, PdHandle pd, std::uint64_t address,
                                         std::uint64_t length, std::uint32_t access);
  [[nodiscard]] static bool names(const Slot& slot, std::uint32_t key);

  Entropy& entropy_;
  std::array<std::uint64_t, kRounds> round_keys_{};
  mutable std::mutex mutex_;  // registration only
  std::array<std::atomic<Chunk*>, (kMaxRegions >> kChunkBits)> chunks_{};
  std::deque<std::uint32_t> free_;  // used longest ago first
  std::uint32_t ever_used_ = 0;     // slots below it have been used at least once
  std::size_t size_ = 0;
};

// Holds one region for the duration of a burst, so that neighbouring packets look it up once.
class RegionPin {
 public:
  explicit RegionPin(const MemoryTable& table) : table_(table) {}
  ~RegionPin() { release(); }
  RegionPin(const RegionPin&) = delete;
  RegionPin& operator=(const RegionPin&) = delete;

  // The bytes of [address, address+length) when `key` names a region of `pd` with all of `access`
  // that contains them; nullptr otherwise. Valid until another region is resolved or release().
  std::byte* resolve(std::uint32_t key, PdHandle pd, std::uint64_t address, std::uint64_t length,
                     std::uint32_t access);
  void release();

 private:
  const MemoryTable& table_;
  MemoryTable::Slot* held_ = nullptr;
  std::uint32_t key_ = 0;  // of held_
};

// Holds every region that a burst refers to, each once.
class RegionPinSet {
 public:
  explicit RegionPinSet(const MemoryTable& table) : table_(table) {}
  ~RegionPinSet() { release(); }
  RegionPinSet(const RegionPinSet&) = delete;
  RegionPinSet& operator=(const RegionPinSet&) = delete;

  // As RegionPin::resolve, but valid until release().
  std::byte* resolve(std::uint32_t key, PdHandle pd, std::uint64_t address, std::uint64_t length,
                     std::uint32_t access);
  void release();
  [[nodiscard]] std::size_t size() const { return held_.size(); }

 private:
  struct Held {
    MemoryTable::Slot* slot;
    std::uint32_t key;
  };
  const MemoryTable& table_;
  std::vector<Held> held_;
};

}  // namespace weft::hca
