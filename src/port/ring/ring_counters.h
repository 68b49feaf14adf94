// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counters.h"

namespace weft::port {

enum class RingCounter : std::uint8_t {
  kTxPackets,
  kTxBlocked,
  kTxInactive,
  kTxOutdated,
  kTxUnaddressed,
  kTxForbidden,
  kTxTooLong,
  kTxGone,
  kRxPackets,
  kRxMalformed,
  kRxBadIcrc,
  kFaultLost,
  kFaultDuplicated,
  kFaultReordered,
  kFaultCorrupted,
  kFaultOverflowed,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(RingCounter::kCount)>
    kRingCounters{{
        {"ring_tx_packets", "packets handed to the adapter"},
        {"ring_tx_blocked", "times the memory between program and adapter was full"},
        {"ring_tx_inactive", "packets dropped: the port was not Active"},
        {"ring_tx_outdated",
         "packets dropped: their P_Key or GID was no longer in the port's table"},
        {"ring_tx_unaddressed", "packets dropped: no LID to go to"},
        {"ring_tx_forbidden",
         "packets dropped: to queue pair 0 or 1, or with a privileged Q_Key, as no program may"},
        {"ring_tx_too_long", "packets dropped: longer than the MTU of the link"},
        {"ring_tx_gone", "packets dropped: the adapter is gone"},
        {"ring_rx_packets", "packets taken from the adapter"},
        {"ring_rx_malformed", "dropped: no packet, or one whose lengths contradict each other"},
        {"ring_rx_bad_icrc", "dropped: ICRC does not match the packet"},
        {"fault_lost", "lost on purpose (--fault loss)"},
        {"fault_duplicated", "handed on twice on purpose (--fault duplicate)"},
        {"fault_reordered", "let pass by later ones on purpose (--fault reorder)"},
        {"fault_corrupted", "given a wrong bit on purpose (--fault corrupt)"},
        {"fault_overflowed", "lost because --fault delay or reorder held too much"},
    }};

using RingCounters = CounterSet<RingCounter, kRingCounters>;

}  // namespace weft::port
