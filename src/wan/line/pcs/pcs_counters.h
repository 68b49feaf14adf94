// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::wan {

enum class PcsCounter : std::uint8_t {
  kBadHeaders,
  kLocked,
  kLockLost,
  kSlips,
  kHighErrorRate,
  kErrorWords,
  kFrames,
  kBadFrames,
  kOverlong,
  kOrderedSets,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(PcsCounter::kCount)> kPcsCounters{
    {
        {"pcs_bad_headers", "headers of blocks that are none, while they were locked onto"},
        {"pcs_locked", "times it was found where blocks begin"},
        {"pcs_lock_lost", "times it was not known any more"},
        {"pcs_slips", "bits skipped to find it"},
        {"pcs_high_error_rate", "times 16 headers were bad within 125 us"},
        {"pcs_error_words", "blocks that are none, or not in their turn"},
        {"pcs_frames", "frames that began and ended as they must"},
        {"pcs_bad_frames", "frames with an error in them, or without an end"},
        {"pcs_overlong", "frames that were too long"},
        {"pcs_ordered_sets", "ordered sets that say no fault"},
    }};

using PcsCounters = CounterSet<PcsCounter, kPcsCounters>;

}  // namespace weft::wan
