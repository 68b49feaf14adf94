// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_notes.h"

#include <fmt/format.h>

#include <utility>

namespace weft::daemon {
namespace {

using lan::LanCounter;

// What does not happen where all is well.
constexpr std::array kNoted{
    LanCounter::kTxTooLong,       LanCounter::kTxMalformed,    LanCounter::kTxForeignSource,
    LanCounter::kTxStorm,         LanCounter::kChannelsScarce, LanCounter::kStationsScarce,
    LanCounter::kRxNotLan,        LanCounter::kRxVersion,      LanCounter::kRxMalformed,
    LanCounter::kRxConflict,      LanCounter::kRxCrowded,      LanCounter::kRxForgedQueuePair,
    LanCounter::kRxNotWhole,      LanCounter::kRxTooLong,      LanCounter::kRxForgedSource,
    LanCounter::kRxForeignSource, LanCounter::kRxStorm,
};

}  // namespace

void LanNotes::look(const lan::LanCounters& counters, Time now) {
  if (now < next_) return;
  next_ = now + kEvery;
  for (const LanCounter counter : kNoted) {
    const auto row = static_cast<std::size_t>(counter);
    Kind& kind = kinds_[row];
    const std::uint64_t before = std::exchange(kind.count, counters.get(counter));
    if (kind.count == before) {
      kind.in_a_row = 0;
      continue;
    }
    if (++kind.in_a_row < (counter == LanCounter::kRxForgedQueuePair ? kPatience : 1)) continue;
    const auto risen = std::exchange(kind.risen, now);
    if (risen && now - *risen < kQuiet) continue;
    const CounterInfo& info = lan::kLanCounters[row];
    notes_.push_back({now, fmt::format("{}: {}", info.name, info.help)});
    if (notes_.size() > kMost) notes_.pop_front();
  }
}

}  // namespace weft::daemon
