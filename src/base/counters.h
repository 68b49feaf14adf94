// SPDX-License-Identifier: Apache-2.0
// Counters that explain themselves. A component lists its counters once, as an enum and a table of
// names and help texts; whatever prints counters (weft run --stats, weft resource) needs no more.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct CounterInfo {
  std::string_view name;  // snake_case, unique within its set: "rx_bad_icrc"
  std::string_view help;  // one line: what one count means
};

struct CounterValue {
  std::string_view name;
  std::string_view help;
  std::uint64_t value = 0;
};

// `Enum` has consecutive values from 0 and a last one `kCount`; `kInfo` has one row for each.
template <class Enum, const std::array<CounterInfo, static_cast<std::size_t>(Enum::kCount)>& kInfo>
class CounterSet {
 public:
  static constexpr std::size_t kSize = static_cast<std::size_t>(Enum::kCount);

  void add(Enum counter, std::uint64_t n = 1) {
    values_[static_cast<std::size_t>(counter)].fetch_add(n, std::memory_order_relaxed);
  }
  // The same by callers who take turns, under a lock say; others may only read. It spares the
  // locked instruction, which would wait for all that has just been copied to reach the cache.
  void add_in_turn(Enum counter, std::uint64_t n = 1) {
    std::atomic<std::uint64_t>& value = values_[static_cast<std::size_t>(counter)];
    value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get(Enum counter) const {
    return values_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::vector<CounterValue> snapshot() const {
    std::vector<CounterValue> out;
    out.reserve(kSize);
    for (std::size_t i = 0; i < kSize; ++i) {
      out.push_back({kInfo[i].name, kInfo[i].help, values_[i].load(std::memory_order_relaxed)});
    }
    return out;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kSize> values_{};
};

// Adds `more` into `into`, counter by counter, by name.
void accumulate(std::vector<CounterValue>& into, std::span<const CounterValue> more);

// Lines of "name value  # help" for the counters that are not zero (all of them when `zeros`).
std::string format_counters(std::span<const CounterValue> counters, bool zeros = false);

}  // namespace weft
