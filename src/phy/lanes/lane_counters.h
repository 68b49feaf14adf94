// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::phy {

// What the receiving end of a link's lanes counts. Link recoveries and failures are counted by
// whoever trains the link.
enum class LaneCounter : std::uint8_t {
  kSymbolErrors,
  kCodeErrors,
  kDisparityErrors,
  kMisplacedCommas,
  kSlips,
  kMisplacedSets,
  kDeskewLost,
  kSkipsAdded,
  kSkipsRemoved,
  kElasticOverflows,
  kElasticUnderflows,
  kDataPackets,
  kLinkPackets,
  kBadByEnd,
  kBadBySymbol,
  kMalformed,
  kOverlong,
  kStraySymbols,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(LaneCounter::kCount)>
    kLaneCounters{{
        {"symbol_errors", "symbol times with a wrong symbol on one lane or more, lanes in step"},
        {"code_errors", "symbols of one lane that are no character"},
        {"disparity_errors", "symbols of one lane that are a character of the other disparity"},
        {"misplaced_commas", "commas of one lane that are not where its symbols begin"},
        {"slips", "times one lane took another place for where its symbols begin"},
        {"misplaced_sets", "symbol times in which some lanes had COM and others had not"},
        {"deskew_lost", "times the lanes were in step no more"},
        {"skips_added", "SKP added on all lanes, for a sender's clock that is slower"},
        {"skips_removed", "SKP left out on all lanes, for a sender's clock that is faster"},
        {"elastic_overflows", "symbol times lost: the buffer between the clocks was full"},
        {"elastic_underflows", "times the buffer between the clocks was empty"},
        {"data_packets", "data packets received without a fault"},
        {"link_packets", "link packets received without a fault"},
        {"bad_by_end", "packets that the sender or a switch has marked as bad (EBP)"},
        {"bad_by_symbol", "packets with a wrong symbol, or with symbols lost"},
        {"malformed", "packets of a length or with a control symbol that no packet has"},
        {"overlong", "packets that did not end in time"},
        {"stray_symbols", "control symbols outside of packets where they may not be"},
    }};

using LaneCounters = CounterSet<LaneCounter, kLaneCounters>;

}  // namespace weft::phy
