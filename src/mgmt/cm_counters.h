// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counters.h"

namespace weft::mgmt {

enum class CmCounter : std::uint8_t {
  kTxMads,
  kTxRetries,
  kTxRejects,
  kRxMads,
  kRxMalformed,
  kRxUnknown,
  kRxNoConnection,
  kRxWrongPeer,
  kRxWrongState,
  kRxRepeated,
  kRefusedNoListener,
  kRefusedBacklog,
  kRefusedLimit,
  kRefusedInvalid,
  kRefusedStale,
  kTimeouts,
  kRxReports,
  kRxStrayReports,
  kUndelivered,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(CmCounter::kCount)> kCmCounters{{
    {"cm_tx_mads", "management datagrams sent"},
    {"cm_tx_retries", "of these, sent again because no answer came"},
    {"cm_tx_rejects", "of these, rejects"},
    {"cm_rx_mads", "management datagrams received"},
    {"cm_rx_malformed", "dropped: too short, or not of the class or version of the manager"},
    {"cm_rx_unknown", "dropped: not a message that the manager knows"},
    {"cm_rx_no_connection", "dropped: for a communication ID that nobody has"},
    {"cm_rx_wrong_peer", "dropped: from an address or ID that is not the connection's peer"},
    {"cm_rx_wrong_state", "dropped: does not fit the connection's state"},
    {"cm_rx_repeated", "repeated messages, answered as before"},
    {"cm_refused_no_listener", "requests refused because nobody listens for the service"},
    {"cm_refused_backlog", "requests refused because the listener has too many waiting"},
    {"cm_refused_limit", "requests refused because the manager remembers too much already"},
    {"cm_refused_invalid", "requests refused because of what they ask for"},
    {"cm_refused_stale",
     "requests and replies refused because their queue pair is still connected"},
    {"cm_timeouts", "exchanges given up because the peer never answered"},
    {"cm_rx_reports", "reports of the network that a message did not arrive"},
    {"cm_rx_stray_reports", "dropped: a report about a message that waits for no answer"},
    {"cm_undelivered", "exchanges given up because the network says that nobody is there"},
}};

using CmCounters = CounterSet<CmCounter, kCmCounters>;

}  // namespace weft::mgmt
