// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::wan {

enum class PppCounter : std::uint8_t {
  kPacketsSent,
  kPacketsReceived,
  kTooLongForPeer,
  kNotOpen,
  kEmpty,
  kOtherVendor,
  kOwnVendorPacket,
  kProtocolsRejected,
  kProtocolsDiscarded,
  kControlMalformed,
  kControlUnasked,
  kControlOverflow,
  kLooped,
  kEchoesSent,
  kEchoesAnswered,
  kEchoesLost,
  kQualityFailures,
  kOpened,
  kGivenUp,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(PppCounter::kCount)> kPppCounters{
    {
        {"ppp_tx_packets", "packets sent"},
        {"ppp_rx_packets", "packets handed on"},
        {"ppp_tx_too_long", "packets dropped: longer than the other end takes"},
        {"ppp_rx_not_open", "packets dropped: they came before their protocol was open"},
        {"ppp_rx_empty", "packets dropped: with nothing in them"},
        {"ppp_rx_other_vendor", "packets dropped: of another vendor's protocol"},
        {"ppp_rx_own_vendor_packet", "packets dropped: with the magic number of this end"},
        {"ppp_protocols_rejected", "packets of unknown protocols, rejected"},
        {"ppp_protocols_discarded", "packets of unknown protocols, dropped: the link was not open"},
        {"ppp_control_malformed", "control packets dropped: their lengths do not fit"},
        {"ppp_control_unasked", "control packets dropped: answers to nothing that was asked"},
        {"ppp_control_overflow", "control packets dropped: too many at once"},
        {"ppp_looped", "own magic numbers heard: the line leads back to this end"},
        {"ppp_echoes_sent", "Echo-Requests sent"},
        {"ppp_echoes_answered", "Echo-Requests that were answered"},
        {"ppp_echoes_lost", "Echo-Requests that were not, by the time of the next"},
        {"ppp_quality_failures", "times too many in a row were not, and the link was taken down"},
        {"ppp_opened", "times the link was opened"},
        {"ppp_given_up", "times there was no agreement, and negotiation began anew later"},
    }};

using PppCounters = CounterSet<PppCounter, kPppCounters>;

}  // namespace weft::wan
