// SPDX-License-Identifier: Apache-2.0
// What a LAN port counts. Every frame that its host or the fabric gives it goes on or is counted
// under one of the reasons.
#pragma once

#include "base/counters.h"

namespace weft::lan {

enum class LanCounter : std::uint8_t {
  kTxFrames,
  kTxByChannel,
  kTxByDatagram,
  kTxToAll,
  kTxToGroup,
  kTxCopies,
  kTxTooShort,
  kTxTooLong,
  kTxMalformed,
  kTxForeignSource,
  kTxForeignDestination,
  kTxToSelf,
  kTxNoPeer,
  kTxNoMember,
  kTxStorm,
  kTxNoRoom,
  kChannelsScarce,
  kRxFrames,
  kRxByChannel,
  kRxByDatagram,
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
  kRxForgedQueuePair,
  kRxNotWhole,
  kRxTooShort,
  kRxTooLong,
  kRxForgedSource,
  kRxForeignSource,
  kRxNotOurs,
  kRxReport,
  kRxStorm,
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
        {"rx_stranger", "messages dropped: of a port that is no peer"},
        {"rx_forged_queue_pair", "messages dropped: not of the queue pair of the peer's LAN port"},
        {"rx_not_whole", "messages dropped: a part of a frame on a connection"},
        {"rx_too_short", "frames dropped: too short for their header"},
        {"rx_too_long", "frames dropped: longer than the MTU allows"},
        {"rx_forged_source", "frames dropped: in the name of another LAN port than their sender"},
        {"rx_foreign_source", "frames dropped: in the name of a station that is no LAN port"},
        {"rx_not_ours", "frames dropped: for another station"},
        {"rx_report", "reports of groups not given to the host: it is no multicast router"},
        {"rx_storm", "frames dropped: those of the peer to all come faster than they may"},
    }};

using LanCounters = CounterSet<LanCounter, kLanCounters>;

}  // namespace weft::lan
