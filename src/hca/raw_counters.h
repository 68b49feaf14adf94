// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counters.h"

namespace weft::hca {

enum class RawCounter : std::uint8_t {
  kTxPackets,
  kTxBytes,
  kTxRefused,
  kRxPackets,
  kRxBytes,
  kRxMalformed,
  kRxBadIcrc,
  kRxNoReceive,
  kRxTooLong,
  kRxWrongState,
  kRxNotRaw,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(RawCounter::kCount)> kRawCounters{
    {
        {"tx_packets", "raw packets handed to the wire"},
        {"tx_bytes", "bytes of them, as they were posted"},
        {"tx_refused", "sends that the wire refused (no packet, too long, bad memory)"},
        {"rx_packets", "raw packets delivered into a receive buffer"},
        {"rx_bytes", "bytes of them, LRH through VCRC"},
        {"rx_malformed", "dropped: lengths that contradict each other"},
        {"rx_bad_icrc", "dropped: the ICRC is not that of the packet"},
        {"rx_no_receive", "dropped: no receive request was posted"},
        {"rx_too_long", "dropped: longer than the posted receive buffer"},
        {"rx_wrong_state", "dropped: queue pair not ready to receive"},
        {"rx_not_raw", "dropped: addressed to the queue pair itself, which no packet can be"},
    }};

using RawCounters = CounterSet<RawCounter, kRawCounters>;

}  // namespace weft::hca
