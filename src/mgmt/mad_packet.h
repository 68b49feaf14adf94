// SPDX-License-Identifier: Apache-2.0
// Management datagrams and the packets that carry them on a link: UD SEND Only, 256 bytes, queue
// pair 0 on VL15 or queue pair 1 on any other lane (IBA 13.4.2, 13.5.1, 14.2.1).
#pragma once

#include <cstddef>
#include <string_view>
#include <tl/expected.hpp>

#include "base/bytes.h"
#include "base/ids.h"
#include "mgmt/mad_envelope.h"

namespace weft::mgmt {

// LRH, GRH, BTH, DETH, datagram, ICRC, VCRC.
inline constexpr std::size_t kMaxMadPacket = 8 + 40 + 12 + 8 + wire::kMadSize + 4 + 2;

enum class MadPacketError : std::uint8_t {
  kMalformed,  // not an IBA packet at all
  kIcrc,       // altered on the way
  kNotMad,     // not a UD SEND Only to queue pair 0 or 1
  kLength,     // its payload is not 256 bytes
  kLane,       // queue pair 0 outside VL15, or queue pair 1 on it
  kGlobalSmp,  // queue pair 0, with a GRH
  kQKey,       // queue pair 1, with another Q_Key than 0x80010000
  kCount,
};

// One line for a person: "a management datagram whose length is not 256 bytes".
[[nodiscard]] std::string_view text(MadPacketError error);

struct MadPacket {
  MadEnvelope envelope;
  wire::MadBytes mad;  // within the bytes that were parsed
};

// `packet` is LRH through VCRC, whose VCRC has been checked; `port` is where it came in.
[[nodiscard]] tl::expected<MadPacket, MadPacketError> parse_mad_packet(Bytes packet,
                                                                       PortNumber port);

// Writes LRH through VCRC; `out` has room for kMaxMadPacket bytes. Lane 15 or 0: whoever sends it
// on another (by SL to VL) rewrites that. Returns its length in bytes.
std::size_t write_mad_packet(const MadEnvelope& envelope, wire::MadBytes mad, Psn psn,
                             MutableBytes out);

}  // namespace weft::mgmt
