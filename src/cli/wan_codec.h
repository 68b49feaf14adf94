// SPDX-License-Identifier: Apache-2.0
// InfiniBand packets as the bytes of any stack, and back, without a network.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/error.h"
#include "wan/encapsulation/ends.h"

namespace weft::cli {

// What a stack makes of packets.
enum class WanForm : std::uint8_t {
  kOctets,    // of a line
  kEthernet,  // frames of Ethernet
  kIp,        // packets of IP
};

// Errors name what of the stack cannot be.
Expected<WanForm> wan_form(std::string_view stack, const wan::Ends& ends);

struct WanPackets {
  std::size_t taken = 0;               // that were put in, or came out
  std::size_t missed = 0;              // that cannot be put in, or what is none came out
  std::vector<CounterValue> counters;  // of what the stack did with them
};

// Packets, LRH through VCRC, as packets of the network; `out` is told of which each is.
Expected<WanPackets> encode_packets(
    std::string_view stack, const wan::Ends& ends, const std::vector<Bytes>& packets,
    const std::function<Expected<void>(std::size_t packet, Bytes)>& out);
Expected<WanPackets> decode_packets(std::string_view stack, const wan::Ends& ends,
                                    const std::vector<Bytes>& packets,
                                    const std::function<Expected<void>(Bytes)>& out);

// Packets as a line's octets, in pieces: idle ones first, until a receiver understands, and idle
// ones last, until it has handed on all.
Expected<WanPackets> encode_line(std::string_view stack, const wan::Ends& ends,
                                 const std::vector<Bytes>& packets,
                                 const std::function<Expected<void>(Bytes)>& out);
// `read` gives the next octets of the line; none: that was all.
Expected<WanPackets> decode_line(std::string_view stack, const wan::Ends& ends,
                                 const std::function<Expected<Bytes>()>& read,
                                 const std::function<Expected<void>(Bytes)>& out);

}  // namespace weft::cli
