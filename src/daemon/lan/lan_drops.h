// SPDX-License-Identifier: Apache-2.0
// Which of its counters a LAN port adds up as drops: frames, messages and packets that are lost,
// each of which is counted once. What is usual is not among them: that nobody wants a frame to a
// group, and that the group of the fabric brings what a port, or another one of its bond, has sent
// to it back.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/counters.h"
#include "daemon/lan/lan_driver.h"
#include "daemon/lan/resident_consumer.h"
#include "hca/connected_counters.h"
#include "hca/ud_counters.h"
#include "lan/lan_counters.h"

namespace weft::daemon {

inline constexpr auto kLanDrops = [] {
  using enum lan::LanCounter;
  return std::array{kTxTooShort,
                    kTxTooLong,
                    kTxMalformed,
                    kTxForeignSource,
                    kTxToSelf,
                    kTxNoPeer,
                    kTxForeignDestination,
                    kTxStorm,
                    kTxNoRoom,
                    kRxNotLan,
                    kRxVersion,
                    kRxMalformed,
                    kRxDoubled,
                    kRxLate,
                    kRxConflict,
                    kRxIncomplete,
                    kRxCrowded,
                    kRxSenderGone,
                    kRxStranger,
                    kRxNotWhole,
                    kRxTooShort,
                    kRxTooLong,
                    kRxForgedQueuePair,
                    kRxForgedSource,
                    kRxForeignSource,
                    kRxNotOurs,
                    kRxStorm};
}();
inline constexpr std::array kLanDriverDrops{LanDriverCounter::kTxUnknownOffload,
                                            LanDriverCounter::kRxHostRefused};
inline constexpr auto kResidentDrops = [] {
  using enum ResidentCounter;
  return std::array{kTxUnaddressed, kTxRefused, kTxNoPacket,
                    kRxMalformed,   kRxBadIcrc, kRxNoQueuePair};
}();
inline constexpr auto kUdDrops = [] {
  using enum hca::UdCounter;
  return std::array{kRxMalformed, kRxBadOpcode, kRxBadVersion, kRxBadPKey,        kRxBadQKey,
                    kRxNoReceive, kRxTooLong,   kRxWrongState, kRxBadDestination, kRxNotAttached};
}();
// Of those of connections, what an unreliable one can have.
inline constexpr auto kConnectedDrops = [] {
  using enum hca::ConnectedCounter;
  return std::array{kRxMalformed,  kRxBadOpcode, kRxBadVersion,
                    kRxBadPKey,    kRxBadSource, kRxBadDestination,
                    kRxWrongState, kRxNoReceive, kRxMessagesAbandoned};
}();

// `values` are all counters of the set that Enum counts, in its order.
template <class Enum, std::size_t N>
std::uint64_t sum_of(std::span<const CounterValue> values, const std::array<Enum, N>& which) {
  assert(values.size() == static_cast<std::size_t>(Enum::kCount));
  std::uint64_t sum = 0;
  for (const Enum counter : which)
    sum += values[static_cast<std::size_t>(counter)].value;
  return sum;
}

}  // namespace weft::daemon
