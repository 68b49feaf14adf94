// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::wan::dccp {

// What became of the packets of a path with DCCP, of all of its connections.
enum class DccpCounter : std::uint8_t {
  kConnections,
  kResets,
  kTxData,
  kTxAcks,
  kTxSyncs,
  kLost,
  kMarked,
  kTimeouts,
  kReductions,
  kRxHeader,
  kRxChecksum,
  kRxStranger,
  kRxSequence,
  kRxUnexpected,
  kRxDuplicate,
  kRxOption,
  kRxCoverage,
  kTooLong,
  kCount,
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(DccpCounter::kCount)>
    kDccpCounterInfo{{
        {"dccp_connections", "DCCP connections that were set up"},
        {"dccp_resets", "DCCP connections that the other end has reset"},
        {"dccp_tx_data", "DCCP packets sent with a frame"},
        {"dccp_tx_acks", "DCCP packets sent for nothing but to acknowledge"},
        {"dccp_tx_syncs", "DCCP Syncs sent, on what did not fit into the sequence or the state"},
        {"dccp_lost", "DCCP packets with a frame that the other end has not got"},
        {"dccp_marked", "DCCP packets with a frame that met congestion (ECN)"},
        {"dccp_timeouts", "times that nothing was acknowledged for too long"},
        {"dccp_reductions", "times that the congestion window was halved, timeouts included"},
        {"dccp_rx_header", "packets dropped: none of DCCP, or with numbers of 24 bits"},
        {"dccp_rx_checksum", "DCCP packets dropped: with a wrong checksum"},
        {"dccp_rx_stranger", "DCCP packets dropped: of no connection that there is"},
        {"dccp_rx_sequence", "DCCP packets dropped: their numbers are beyond the connection's"},
        {"dccp_rx_unexpected", "DCCP packets dropped: of a type that cannot come now"},
        {"dccp_rx_duplicate",
         "DCCP packets with a frame dropped: come before, or too late to tell"},
        {"dccp_rx_option", "DCCP packets with options that are malformed"},
        {"dccp_rx_coverage", "DCCP packets whose frame the checksum does not cover, unasked"},
        {"dccp_too_long", "frames lost: they do not fit any more with DCCP before them"},
    }};
using DccpCounters = CounterSet<DccpCounter, kDccpCounterInfo>;

}  // namespace weft::wan::dccp
