// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::phy {

// The first three are PortCounters' SymbolErrorCounter, LinkErrorRecoveryCounter and
// LinkDownedCounter (IBA 16.1.3.5), which the performance agent reads.
enum class TrainingCounter : std::uint8_t {
  kSymbolErrors,
  kLinkErrorRecoveries,
  kLinkDowned,
  kLinkUps,
  kTrainingFailed,
  kErrorBursts,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(TrainingCounter::kCount)>
    kTrainingCounters{{
        {"symbol_errors", "symbols in error on lanes in use while the link was up"},
        {"link_error_recoveries", "times the link was up again after error recovery"},
        {"link_downed", "times error recovery failed, and the link went down"},
        {"link_ups", "times the link was trained and went up"},
        {"training_failed", "times Config.RcvrCfg ran out of time, and polling began anew"},
        {"error_bursts", "times so many symbols were in error that the link was trained again"},
    }};

using TrainingCounters = CounterSet<TrainingCounter, kTrainingCounters>;

}  // namespace weft::phy
