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
  kTxToStation,
  kTxFlooded,
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
  kStationsScarce,
  kStationsMoved,
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
        {"tx_frames", "frames of the host that were sent"},
        {"tx_by_channel", "of these, those to one peer by a connection"},
        {"tx_by_datagram", "of these, those to one peer in datagrams"},
        {"tx_to_all", "broadcasts, to all peers"},
        {"tx_to_group", "frames to groups, to those who want them"},
        {"tx_to_station", "frames to stations behind a peer that bridges"},
        {"tx_flooded", "frames to stations whose place is not known, to all peers that bridge"},
        {"tx_copies", "to how many peers frames to several were sent"},
        {"tx_too_short", "frames dropped: too short for their header"},
        {"tx_too_long", "frames dropped: longer than the MTU allows"},
        {"tx_malformed", "frames dropped: what is left to do with them cannot be done"},
        {"tx_foreign_source", "frames dropped: not from the interface's own address"},
        {"tx_foreign_destination",
         "frames dropped: to stations that are no LAN ports; nobody bridges"},
        {"tx_to_self", "frames dropped: to the interface's own address"},
        {"tx_no_peer", "frames dropped: to a LAN port that is not known"},
        {"tx_no_member", "frames dropped: nobody is there to want them"},
        {"tx_storm", "frames dropped: those to all come faster than they may"},
        {"tx_no_room", "frames, or copies of them, dropped: the fabric takes no more"},
        {"channels_scarce", "connections not made: there are as many as there may be"},
        {"stations_scarce", "stations not learned: there are as many as there may be"},
        {"stations_moved", "stations that were heard behind another peer than before"},
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
