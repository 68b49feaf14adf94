// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counters.h"

namespace weft::hca {

enum class ConnectedCounter : std::uint8_t {
  kTxPackets,
  kTxBytes,
  kTxAcks,
  kTxNaks,
  kTxRnrNaks,
  kTxRetransmitted,
  kTxRefused,
  kTxTimeouts,
  kTxProbes,
  kTxWindowStalls,
  kTxCnps,
  kRxPackets,
  kRxBytes,
  kRxAcks,
  kRxNaks,
  kRxRnrNaks,
  kRxCnps,
  kRxDuplicates,
  kRxOutOfOrder,
  kRxBuffered,
  kRxReadsReplayed,
  kRxAtomicsReplayed,
  kRxGhostAcks,
  kRxBadResponses,
  kRxMalformed,
  kRxBadOpcode,
  kRxBadVersion,
  kRxBadPKey,
  kRxBadSource,
  kRxBadDestination,
  kRxWrongState,
  kRxNoReceive,
  kRxInvalidRequests,
  kRxAccessErrors,
  kRxMessagesAbandoned,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ConnectedCounter::kCount)>
    kConnectedCounters{{
        {"tx_packets", "packets handed to the wire, all kinds"},
        {"tx_bytes", "payload bytes in them"},
        {"tx_acks", "acknowledgements sent"},
        {"tx_naks", "negative acknowledgements sent, without RNR"},
        {"tx_rnr_naks", "times the peer was told that no receive request is posted"},
        {"tx_retransmitted", "request packets sent again"},
        {"tx_refused", "packets that the wire refused (no route, too long, bad memory)"},
        {"tx_timeouts", "times the local ACK timeout expired"},
        {"tx_probes", "packets sent again to learn what became of the last ones"},
        {"tx_window_stalls", "times a sender waited for the peer's window"},
        {"tx_cnps", "congestion notifications sent"},
        {"rx_packets", "packets accepted, all kinds"},
        {"rx_bytes", "payload bytes in them"},
        {"rx_acks", "acknowledgements received"},
        {"rx_naks", "negative acknowledgements received, without RNR"},
        {"rx_rnr_naks", "times the peer had no receive request posted"},
        {"rx_cnps", "congestion notifications received"},
        {"rx_duplicates", "request packets that had arrived before"},
        {"rx_out_of_order", "request packets that arrived after a gap"},
        {"rx_buffered", "of those, the ones that were kept until the gap was filled"},
        {"rx_reads_replayed", "duplicate RDMA reads answered again"},
        {"rx_atomics_replayed", "duplicate atomics answered from what was kept"},
        {"rx_ghost_acks", "dropped: acknowledges what is not outstanding"},
        {"rx_bad_responses", "dropped: a response that fits no request"},
        {"rx_malformed", "dropped: truncated, or lengths that contradict each other"},
        {"rx_bad_opcode", "dropped: not an opcode of this transport service"},
        {"rx_bad_version", "dropped: transport header version is not 0"},
        {"rx_bad_pkey", "dropped: P_Key matches none of the port's"},
        {"rx_bad_source", "dropped: not from the peer of the connection"},
        {"rx_bad_destination", "dropped: destination QP is not this queue pair"},
        {"rx_wrong_state", "dropped: queue pair not ready to receive"},
        {"rx_no_receive", "unreliable messages dropped: no receive request was posted"},
        {"rx_invalid_requests", "requests refused as invalid"},
        {"rx_access_errors", "requests refused for want of rights to the memory"},
        {"rx_messages_abandoned", "unreliable messages dropped because a packet was missing"},
    }};

using ConnectedCounters = CounterSet<ConnectedCounter, kConnectedCounters>;

}  // namespace weft::hca
