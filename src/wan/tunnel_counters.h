// SPDX-License-Identifier: Apache-2.0
// What one end of a tunnel counts. Every packet that the fabric gives it is delivered at the other
// end or counted under one of the reasons, here or there.
#pragma once

#include "base/counters.h"

namespace weft::wan {

enum class TunnelCounter : std::uint8_t {
  kTxPackets,
  kTxVl15,
  kTxFrames,
  kTxRepeated,
  kTxSlowed,
  kTxCredit,
  kTxOptions,
  kTxNoLane,
  kTxVl15Full,
  kTxNoMemory,
  kTxSessionLost,
  kTxUnconfirmed,
  kRxPackets,
  kRxVl15,
  kRxFrames,
  kRxCredit,
  kRxMalformed,
  kRxVersion,
  kRxWrongSession,
  kRxDoubled,
  kRxLate,
  kRxLost,
  kRxOverrun,
  kRxNoMemory,
  kRxVl15Full,
  kRxSessionLost,
  kCreditForged,
  kAcknowledgeForged,
  kSessions,
  kSessionsSilent,
  kSessionsEnded,
  kPeerRestarts,
  kRefusals,
  kTxRepairs,
  kRxRepairs,
  kRxRecovered,
  kRxUnrecovered,
  kRxRepairRefused,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(TunnelCounter::kCount)>
    kTunnelCounters{{
        {"tx_packets", "data packets sent into the WAN"},
        {"tx_vl15", "management packets sent into the WAN"},
        {"tx_frames", "frames sent"},
        {"tx_repeated", "packets, or pieces of them, sent again because a frame was lost"},
        {"tx_slowed", "times that less was sent than the rate, since much of it did not come"},
        {"tx_credit", "credit advertisements sent"},
        {"tx_options", "frames sent with credit beside them, in IPv6 options"},
        {"tx_no_lane", "not sent: the other end has no such lane"},
        {"tx_vl15_full", "management packets not sent: too many waited"},
        {"tx_no_memory", "not sent: the machine had no memory for them"},
        {"tx_session_lost", "not sent: the session ended while they waited"},
        {"tx_unconfirmed", "sent, but the session ended before the other end said that they came"},
        {"rx_packets", "data packets delivered to the fabric"},
        {"rx_vl15", "management packets delivered to the fabric"},
        {"rx_frames", "frames of the session received"},
        {"rx_credit", "credit advertisements received"},
        {"rx_malformed", "frames and items dropped: they cannot be"},
        {"rx_version", "frames dropped: another version of the format"},
        {"rx_wrong_session", "frames dropped: not of this session"},
        {"rx_doubled", "frames dropped: they had come before, or were settled otherwise"},
        {"rx_late", "packets dropped: they had come before, or later ones were delivered"},
        {"rx_lost", "packets lost in the WAN"},
        {"rx_overrun", "packets dropped: the sender had no credit for them"},
        {"rx_no_memory", "packets dropped: the machine had no memory for them"},
        {"rx_vl15_full", "management packets dropped: too many waited"},
        {"rx_session_lost", "packets dropped: the session or the local link ended before delivery"},
        {"credit_forged", "credit advertisements refused: no FIFO has so much room"},
        {"acknowledge_forged", "acknowledgements refused: of frames that were never sent"},
        {"sessions", "sessions that came up"},
        {"sessions_silent", "of them, ended because nothing was heard"},
        {"sessions_ended", "of them, ended by this end, the other end, or loss of the path"},
        {"peer_restarts", "of them, ended because the other end began anew"},
        {"refusals", "times that one end refused the other"},
        {"tx_repairs", "frames sent with which lost ones can be made again"},
        {"rx_repairs", "frames received with which lost ones can be made again"},
        {"rx_recovered", "frames lost in the WAN and made again of repairs"},
        {"rx_unrecovered", "frames lost in the WAN for which too few repairs came"},
        {"rx_repair_refused", "repairs dropped: they do not fit what came before them"},
    }};

using TunnelCounters = CounterSet<TunnelCounter, kTunnelCounters>;

}  // namespace weft::wan
