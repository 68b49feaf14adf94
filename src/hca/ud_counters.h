// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counters.h"

namespace weft::hca {

enum class UdCounter : std::uint8_t {
  kTxPackets,
  kTxBytes,
  kTxRefused,
  kTxCreditStalls,
  kTxCredits,
  kRxPackets,
  kRxBytes,
  kRxMulticast,
  kRxCredits,
  kRxLost,
  kRxMalformed,
  kRxBadOpcode,
  kRxBadVersion,
  kRxBadPKey,
  kRxBadQKey,
  kRxNoReceive,
  kRxTooLong,
  kRxWrongState,
  kRxNotAttached,
  kRxBadDestination,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(UdCounter::kCount)> kUdCounters{{
    {"tx_packets", "datagrams handed to the wire"},
    {"tx_bytes", "message bytes in them"},
    {"tx_refused", "sends that the wire refused (no route, too long, bad memory)"},
    {"tx_credit_stalls", "times a sender waited for the receiver's credit"},
    {"tx_credits", "credit datagrams sent to peers"},
    {"rx_packets", "datagrams delivered into a receive buffer"},
    {"rx_bytes", "message bytes in them"},
    {"rx_multicast", "delivered datagrams that were multicast"},
    {"rx_credits", "credit datagrams received from peers"},
    {"rx_lost", "datagrams that a peer numbered and that never arrived"},
    {"rx_malformed", "dropped: truncated, or lengths that contradict each other"},
    {"rx_bad_opcode", "dropped: not an opcode of unreliable datagrams"},
    {"rx_bad_version", "dropped: transport header version is not 0"},
    {"rx_bad_pkey", "dropped: P_Key matches none of the port's"},
    {"rx_bad_qkey", "dropped: Q_Key is not the queue pair's"},
    {"rx_no_receive", "dropped: no receive request was posted"},
    {"rx_too_long", "dropped: longer than the posted receive buffer"},
    {"rx_wrong_state", "dropped: queue pair not ready to receive"},
    {"rx_not_attached", "dropped: multicast group the queue pair is not attached to"},
    {"rx_bad_destination", "dropped: destination QP is not this queue pair"},
}};

using UdCounters = CounterSet<UdCounter, kUdCounters>;

}  // namespace weft::hca
