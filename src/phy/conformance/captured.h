// SPDX-License-Identifier: Apache-2.0
// What a capture of a link shows of a negotiation: messages, and nothing of lines or SerDes.
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "phy/conformance/exchange.h"

namespace weft::phy::conformance {

struct CapturedPacket {
  Time time{};
  unsigned node = 0;  // that sent it, 0 or 1
  Bytes packet{};     // LRH through VCRC
};

struct CapturedExchange {
  Exchange exchange{};
  std::size_t messages = 0;
  std::size_t damaged = 0;  // packets whose ICRC is wrong: left out
};

// From the first packet to the last, whatever they are. What was sent is taken to have arrived at
// once. Packets that are out of order are put in the order of time.
[[nodiscard]] CapturedExchange captured_exchange(std::span<const CapturedPacket> packets);

}  // namespace weft::phy::conformance
