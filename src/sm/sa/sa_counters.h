// SPDX-License-Identifier: Apache-2.0
// What the administrator counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::sm {

enum class SaCounter : std::uint8_t {
  kQueries,
  kRecords,
  kRefused,
  kDroppedFlood,
  kDroppedKey,
  kDroppedNonsense,
  kDroppedNoMaster,
  kUnsent,
  kReports,
  kReportsLost,
  kTraps,
  kTrapsRepeated,
  kDroppedNotices,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(SaCounter::kCount)> kSaCounters{{
    {"sa_queries", "questions that were answered"},
    {"sa_records", "records in the answers"},
    {"sa_refused", "of the answers, those that were errors"},
    {"sa_dropped_flood", "questions dropped because too many of their port wait"},
    {"sa_dropped_key", "questions with a wrong SM_Key, which are not answered"},
    {"sa_dropped_nonsense", "datagrams of no method of the administrator"},
    {"sa_dropped_no_master", "questions and traps while the manager was not the master"},
    {"sa_unsent", "answers lost because the port takes no more"},
    {"sa_reports", "notices reported to subscribers"},
    {"sa_reports_lost", "reports that no subscriber has confirmed"},
    {"sa_traps", "traps of nodes that were taken"},
    {"sa_traps_repeated", "of them, those that only came again"},
    {"sa_dropped_notices", "notices of no known port, or with too many of their port before them"},
}};

using SaCounterSet = CounterSet<SaCounter, kSaCounters>;

}  // namespace weft::sm
