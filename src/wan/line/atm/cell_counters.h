// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::wan::atm {

// What became of the octets of a line: 53 for each cell that is counted as user_cells, idle_cells,
// unassigned_cells or discarded_cells, and those that skipped_octets has.
enum class CellCounter : std::uint8_t {
  kUserCells,
  kIdleCells,
  kUnassignedCells,
  kCorrectedHeaders,
  kDiscardedCells,
  kSkippedOctets,
  kSyncLosses,
  kSyncs,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(CellCounter::kCount)>
    kCellCounters{{
        {"user_cells", "cells of connections, handed on"},
        {"idle_cells", "cells in which the line was idle"},
        {"unassigned_cells", "cells of no connection"},
        {"corrected_headers", "headers with one wrong bit, which was put right"},
        {"discarded_cells", "cells whose header had errors that were not put right"},
        {"skipped_octets", "octets received while it was not known where cells begin"},
        {"sync_losses", "times it was not known any more where cells begin"},
        {"syncs", "times it became known where cells begin"},
    }};

using CellCounters = CounterSet<CellCounter, kCellCounters>;

}  // namespace weft::wan::atm
