// SPDX-License-Identifier: Apache-2.0
// What one port of a link counts. Every packet that a port is given and does not hand on is counted
// under exactly one of the reasons.
#pragma once

#include "base/counters.h"

namespace weft::link {

enum class PortCounter : std::uint8_t {
  kTxPackets,
  kTxWords,
  kTxUnicast,
  kTxMulticast,
  kTxVl15,
  kTxFlowControl,
  kTxCreditProbes,
  kTxWaitNs,
  kTxInactive,
  kTxNoVl,
  kTxMtu,
  kTxHoqLife,
  kTxSwitchLife,
  kTxVlStalled,
  kTxLinkLost,
  kRxPackets,
  kRxWords,
  kRxUnicast,
  kRxMulticast,
  kRxVl15,
  kRxFlowControl,
  kRxBadVcrc,
  kRxBadLpcrc,
  kRxMalformed,
  kRxBadVl,
  kRxBadLinkPacket,
  kRxOverrun,
  kRxVl15Dropped,
  kRxWrongState,
  kVlStalls,
  kLinkUps,
  kLinkDowned,
  kLinkErrorRecoveries,
  kLinkIntegrity,
  kCreditWatchdog,
  kRemoteInit,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(PortCounter::kCount)>
    kPortCounters{{
        {"tx_packets", "packets sent, on all virtual lanes"},
        {"tx_words", "4-byte words in them, LRH through ICRC"},
        {"tx_unicast", "of them, to a unicast or the permissive LID"},
        {"tx_multicast", "of them, to a multicast LID"},
        {"tx_vl15", "of them, management packets on VL15"},
        {"tx_flow_control", "flow-control packets sent"},
        {"tx_credit_probes", "of them, because a packet had long waited for credit"},
        {"tx_wait_ns", "nanoseconds in which packets waited and none had credit"},
        {"tx_inactive", "not sent: the link state does not allow it"},
        {"tx_no_vl", "not sent: the virtual lane is not operational"},
        {"tx_mtu", "not sent: longer than the neighbour's MTU"},
        {"tx_hoq_life", "not sent: too long at the head of its lane (HOQLife)"},
        {"tx_switch_life", "not sent: too long in the switch (LifeTimeValue)"},
        {"tx_vl_stalled", "not sent: its lane was stalled (VLStallCount)"},
        {"tx_link_lost", "not sent: the link went down while it waited"},
        {"rx_packets", "packets received, on all virtual lanes"},
        {"rx_words", "4-byte words in them, LRH through ICRC"},
        {"rx_unicast", "of them, to a unicast or the permissive LID"},
        {"rx_multicast", "of them, to a multicast LID"},
        {"rx_vl15", "of them, management packets on VL15"},
        {"rx_flow_control", "flow-control packets received"},
        {"rx_bad_vcrc", "dropped: the VCRC is wrong"},
        {"rx_bad_lpcrc", "flow-control packets dropped: the LPCRC is wrong"},
        {"rx_malformed", "dropped: LVer, length, or VL15 with what cannot be management"},
        {"rx_bad_vl", "dropped: the virtual lane is not operational"},
        {"rx_bad_link_packet", "flow-control packets dropped: length, Op or virtual lane"},
        {"rx_overrun", "dropped: more than the lane's buffer had room for"},
        {"rx_vl15_dropped", "dropped: too many management packets at once"},
        {"rx_wrong_state", "dropped: the link state does not allow it"},
        {"vl_stalls", "times a lane entered the state VLStalled"},
        {"link_ups", "times the link was physically up"},
        {"link_downed", "times a link that was up went down"},
        {"link_error_recoveries", "times the link was up again after error recovery"},
        {"link_integrity", "times faults of the link were more than LocalPhyErrors"},
        {"credit_watchdog", "times the link was trained anew because no credit came"},
        {"remote_init", "times an active link began anew because the other end did"},
    }};

using PortCounters = CounterSet<PortCounter, kPortCounters>;

// IBA 16.1.3.5: what the counters above are in the standard's sums.
[[nodiscard]] std::uint64_t port_xmit_discards(const PortCounters& counters);
[[nodiscard]] std::uint64_t port_rcv_errors(const PortCounters& counters);

}  // namespace weft::link
