// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
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
  std::uint32_t key = 0;      // L_Key and R_Key are one number here
};

// The regions of one device, found by key. Look-ups take no lock and may run while another thread
// registers or deregisters: a slot is published by its key and its memory is never freed while the
// table lives. deregister() returns once no pinned use of the region is left.
class MemoryTable {
 public:
  static constexpr std::size_t kMaxRegions = std::size_t{1} << 20;

  explicit MemoryTable(Entropy& entropy);
  ~MemoryTable();
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  // `region.key` is drawn here: the low bits find the slot, the rest is random, so that a peer
  // cannot guess a key it was not given. Fails with EINVAL for a range that wraps or for remote
  // write or atomic rights without local write (IBA 10.6.3.1), ENOMEM when the table is full.
  Expected<MemoryRegion> add(MemoryRegion region);
  // Fails with EINVAL for an unknown key.
  Expected<void> remove(std::uint32_t key);
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<MemoryRegion> snapshot() const;

 private:
  friend class RegionPin;
  struct Slot;
  struct Chunk;
  static constexpr std::size_t kChunkBits = 8;
  static constexpr std::size_t kIndexBits = 20;
  [[nodiscard]] Slot* slot(std::uint32_t index) const;

  Entropy& entropy_;
  mutable std::mutex mutex_;  // registration only
  std::array<std::atomic<Chunk*>, (kMaxRegions >> kChunkBits)> chunks_{};
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
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
};

}  // namespace weft::hca
