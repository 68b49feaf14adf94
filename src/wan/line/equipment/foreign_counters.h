// SPDX-License-Identifier: Apache-2.0
// What becomes of the traffic of others, as its receiver sees it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::wan {

enum class ForeignCounter : std::uint8_t { kSent, kWhole, kSpoilt, kLost, kOutOfOrder, kCount };

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ForeignCounter::kCount)>
    kForeignCounters{{
        {"foreign_sent", "cells or packets that hosts of others have sent over the line"},
        {"foreign_whole", "of them, those that came as they were sent"},
        {"foreign_spoilt", "of them, those that came otherwise, or what they never sent"},
        {"foreign_lost", "of them, those that did not come, though a later one did"},
        {"foreign_out_of_order", "of them, those that came behind a later one, or again"},
    }};

using ForeignCounters = CounterSet<ForeignCounter, kForeignCounters>;

// What came, by the numbers that are on it. The first one that comes is the first that counts.
class ForeignArrivals {
 public:
  void sent() { counters_.add_in_turn(ForeignCounter::kSent); }
  void spoilt() { counters_.add_in_turn(ForeignCounter::kSpoilt); }
  void whole(std::uint64_t number) {
    counters_.add_in_turn(ForeignCounter::kWhole);
    if (heard_ && number < next_) {
      counters_.add_in_turn(ForeignCounter::kOutOfOrder);
      return;
    }
    if (heard_) counters_.add_in_turn(ForeignCounter::kLost, number - next_);
    heard_ = true;
    next_ = number + 1;
  }
  [[nodiscard]] const ForeignCounters& counters() const { return counters_; }

 private:
  bool heard_ = false;
  std::uint64_t next_ = 0;
  ForeignCounters counters_;
};

}  // namespace weft::wan
