// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counters.h"

namespace weft::port {

enum class UdpCounter : std::uint8_t {
  kTxCalls,
  kTxBlocked,
  kTxNoSegmentation,
  kTxTooLong,
  kTxFragmenting,
  kTxUnreachable,
  kTxFailed,
  kRxCalls,
  kRxDatagrams,
  kRxTruncated,
  kRxRunt,
  kRxOversized,
  kRxBadIcrc,
  kRxWrongDestination,
  kRxOverflow,
  kErrorsRefused,
  kErrorsUnreachable,
  kErrorsTooLong,
  kErrorsOther,
  kErrorsUnquoted,
  kFaultLost,
  kFaultDuplicated,
  kFaultReordered,
  kFaultCorrupted,
  kFaultOverflowed,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(UdpCounter::kCount)> kUdpCounters{
    {
        {"udp_tx_calls", "sends handed to the kernel, each a run of datagrams"},
        {"udp_tx_blocked", "times the kernel's send buffer was full"},
        {"udp_tx_no_segmentation", "runs sent singly because UDP_SEGMENT was refused"},
        {"udp_tx_too_long", "datagrams above the path MTU, not sent"},
        {"udp_tx_fragmenting", "sockets that went over to fragments: too long for a path"},
        {"udp_tx_unreachable", "datagrams without a route or refused by a filter, not sent"},
        {"udp_tx_failed", "datagrams that the kernel refused for another reason"},
        {"udp_rx_calls", "receives from the kernel, each a run of datagrams"},
        {"udp_rx_datagrams", "datagrams in them"},
        {"udp_rx_truncated", "dropped: longer than any datagram of this wire, cut by the kernel"},
        {"udp_rx_runt", "dropped: shorter than a transport header and its ICRC"},
        {"udp_rx_oversized", "dropped: message longer than the port's MTU"},
        {"udp_rx_bad_icrc",
         "dropped: ICRC does not match the datagram, or any address of this device"},
        {"udp_rx_wrong_destination",
         "dropped: without an ICRC, sent to an address that is not this device's"},
        {"udp_rx_overflow", "lost in the kernel: the socket's receive buffer was full"},
        {"udp_icmp_refused", "reports of the network: nobody listens at the port"},
        {"udp_icmp_unreachable", "reports of the network: no way to the host, or forbidden"},
        {"udp_icmp_too_long",
         "reports of the network: datagram longer than a link on the way takes"},
        {"udp_icmp_other", "reports of the network about something else"},
        {"udp_icmp_unquoted", "of all these, ignored: quotes too little of the datagram"},
        {"fault_lost", "lost on purpose (--fault loss)"},
        {"fault_duplicated", "handed on twice on purpose (--fault duplicate)"},
        {"fault_reordered", "let pass by later ones on purpose (--fault reorder)"},
        {"fault_corrupted", "given a wrong bit on purpose (--fault corrupt)"},
        {"fault_overflowed", "lost because --fault delay or reorder held too much"},
    }};

using UdpCounters = CounterSet<UdpCounter, kUdpCounters>;

}  // namespace weft::port
