// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"

namespace weft::hca {

// The P_Key table of a port (IBA 10.9.2) as its queue pairs see it. They name entries by index, and
// what they send and take goes by what the entry says then: a subnet manager changes entries while
// queue pairs use them. Any thread may call anything.
class PKeyTable {
 public:
  static constexpr std::size_t kMost = 128;  // entries

  // That of a wire without partitions: the default one, at index 0 alone.
  PKeyTable() : PKeyTable(std::span(&kDefaultPKey, 1)) {}
  // At most kMost; what is beyond is not there.
  explicit PKeyTable(std::span<const PKey> keys) : size_(std::min(keys.size(), kMost)) {
    assign(keys);
  }

  // Entries; fixed, whether they are in use or not.
  [[nodiscard]] std::size_t size() const { return size_; }
  // Below size().
  [[nodiscard]] PKey at(std::size_t index) const {
    assert(index < size_);
    return PKey{keys_[index].load(std::memory_order_relaxed)};
  }
  // New contents; entries that `keys` has none for become unused, those beyond size() are not
  // there.
  void assign(std::span<const PKey> keys) {
    for (std::size_t i = 0; i < size_; ++i) {
      const std::uint16_t key = i < keys.size() ? keys[i].value() : std::uint16_t{0};
      keys_[i].store(key, std::memory_order_relaxed);
    }
  }

  // Packets that a queue pair dropped for their P_Key: part of the port's P_KeyViolations.
  void note_violation() { violations_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t violations() const {
    return violations_.load(std::memory_order_relaxed);
  }

 private:
  const std::size_t size_;
  std::array<std::atomic<std::uint16_t>, kMost> keys_{};
  std::atomic<std::uint64_t> violations_{0};
};

}  // namespace weft::hca
