// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::wan {

// Of each run of octets between flags, one of the first seven counts; none where it is empty.
enum class PppReceiveCounter : std::uint8_t {
  kFrames,
  kTooShort,
  kTooLong,
  kFcsWrong,
  kAborted,
  kAddressWrong,
  kProtocolWrong,
  kInterrupted,
  kOctetsSkipped,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(PppReceiveCounter::kCount)>
    kPppReceiveCounters{{
        {"ppp_rx_frames", "frames handed on"},
        {"ppp_rx_too_short", "frames dropped: shorter than a protocol and an FCS"},
        {"ppp_rx_too_long", "frames dropped: longer than the receive unit"},
        {"ppp_rx_fcs_wrong", "frames dropped: their FCS is wrong"},
        {"ppp_rx_aborted", "frames dropped: their sender has given them up"},
        {"ppp_rx_address_wrong", "frames dropped: address and control are not FF 03"},
        {"ppp_rx_protocol_wrong", "frames dropped: their protocol is not a number of protocols"},
        {"ppp_rx_interrupted", "frames dropped: the line was interrupted within them"},
        {"ppp_rx_octets_skipped", "octets passed over before the first flag"},
    }};

using PppReceiveCounters = CounterSet<PppReceiveCounter, kPppReceiveCounters>;

}  // namespace weft::wan
