// SPDX-License-Identifier: Apache-2.0
// VL arbitration, IBA 7.6.9: which of the data lanes that have a packet and credit sends next. Two
// tables of (lane, weight) are each gone through in weighted round robin. The high one goes first,
// until it has sent its limit while the low one waited. VL15 is ahead of both and not dealt with
// here.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"

namespace weft::link {

class VlArbitration {
 public:
  VlArbitration() = default;
  VlArbitration(const VlArbitration&) = delete;
  VlArbitration& operator=(const VlArbitration&) = delete;

  static constexpr std::size_t kMaxEntries = 64;
  static constexpr std::uint8_t kUnlimited = 255;  // LimitOfHighPriority

  struct Entry {
    Vl vl{};
    std::uint8_t weight = 0;  // units of 64 bytes; 0: the entry is skipped
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  enum class Table : std::uint8_t { kLow, kHigh };

  // As long as neither table was set, all lanes take turns, a packet each.
  [[nodiscard]] bool is_set() const { return !low_.entries.empty() || !high_.entries.empty(); }
  // Puts `entries` into the table from entry `first` on; beyond kMaxEntries they are ignored.
  void set(Table table, std::size_t first, std::span<const Entry> entries);
  // Entry by entry as it was set; what was not has weight 0.
  [[nodiscard]] Entry get(Table table, std::size_t index) const;
  // Units of 4096 bytes; 0: one packet; kUnlimited.
  void set_high_limit(std::uint8_t limit);
  [[nodiscard]] std::uint8_t high_limit() const { return limit_; }

  // The lane that sends next. Bit n of `sendable`: lane n has a packet and credit for it. Nothing
  // when no table has an entry for any of them: the standard has such lanes never send.
  [[nodiscard]] std::optional<Vl> choose(std::uint16_t sendable) {
    return is_set() ? choose_by_tables(sendable) : take_turns(sendable);
  }
  // The lane chosen has sent a packet of so many bytes.
  void sent(std::size_t bytes) {
    if (chosen_ != nullptr) count(bytes);
  }

 private:
  struct Wheel {
    std::vector<Entry> entries;
    std::uint16_t lanes = 0;  // bit n: an entry with weight is for lane n
    std::size_t at = 0;
    int left = 0;  // of the weight of the entry at `at`
    // Moves on to the entry that sends next; false: none may.
    bool turn_to(std::uint16_t sendable);
  };
  [[nodiscard]] std::optional<Vl> choose_by_tables(std::uint16_t sendable);
  [[nodiscard]] std::optional<Vl> take_turns(std::uint16_t sendable) {
    if (sendable == 0) return std::nullopt;
    const auto later = static_cast<std::uint16_t>(sendable & (0xFFFEU << last_));
    last_ = static_cast<std::uint8_t>(std::countr_zero(later != 0 ? later : sendable));
    return Vl{last_};
  }
  void count(std::size_t bytes);
  void refill_high();

  Wheel low_;
  Wheel high_;
  Wheel* chosen_ = nullptr;
  bool counts_high_ = false;    // the low table waited when the high one was chosen
  std::int64_t high_left_ = 1;  // bytes the high table may still send while the low one waits
  std::uint8_t limit_ = 0;
  std::uint8_t last_ = 14;  // without tables: the lane that sent last
};

}  // namespace weft::link
