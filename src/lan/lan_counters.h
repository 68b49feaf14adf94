// SPDX-License-Identifier: Apache-2.0
// What a LAN port counts. Every frame that its host or the fabric gives it goes on or is counted
// under one of the reasons.
#pragma once

#include "base/counters.h"

namespace weft::lan {

enum class LanCounter : std::uint8_t {
  kRxNotLan,
  kRxVersion,
  kRxMalformed,
  kRxDoubled,
  kRxLate,
  kRxConflict,
  kRxIncomplete,
  kRxCrowded,
  kRxSenderGone,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(LanCounter::kCount)> kLanCounters{
    {
        {"rx_not_lan", "messages dropped: of another protocol"},
        {"rx_version", "messages dropped: of a version or kind that is not known here"},
        {"rx_malformed", "messages dropped: they cannot be"},
        {"rx_doubled", "datagrams dropped: they had come before"},
        {"rx_late", "datagrams dropped: too far behind others of their sender"},
        {"rx_conflict", "frames dropped: their parts contradict each other"},
        {"rx_incomplete", "frames dropped: parts of them did not come in time"},
        {"rx_crowded", "frames dropped: incomplete, and their room was needed for newer ones"},
        {"rx_sender_gone", "frames dropped: incomplete when their sender left the LAN"},
    }};

using LanCounters = CounterSet<LanCounter, kLanCounters>;

}  // namespace weft::lan
