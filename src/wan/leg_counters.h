// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::wan {

// What becomes of what both ends of a leg watch.
enum class LegCounter : std::uint8_t {
  kTxDatagrams,
  kTxReports,
  kTxMarked,
  kTxLost,
  kRxDatagrams,
  kRxReports,
  kRxMarked,
  kReportForged,
  kFailures,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(LegCounter::kCount)> kLegCounters{
    {
        {"leg_tx_datagrams", "datagrams sent into the WAN that the other end watches"},
        {"leg_tx_reports", "of them, those with a report of what has come"},
        {"leg_tx_marked", "of them, those that came with congestion experienced (ECN)"},
        {"leg_tx_lost", "of them, those that have not come, as far as is known"},
        {"leg_rx_datagrams", "datagrams received that this end watches"},
        {"leg_rx_reports", "of them, those with a report"},
        {"leg_rx_marked", "of them, those with congestion experienced (ECN)"},
        {"leg_report_forged", "reports refused: of what was never sent"},
        {"leg_failures", "times that a way to the other end worked no more"},
    }};

}  // namespace weft::wan
