// SPDX-License-Identifier: Apache-2.0
// Receiver credits for services without acknowledgements, UD and UC, between Weft peers on the
// `udp` wire (docs/wire-udp.md): nothing else keeps a sender from overrunning the receiver's socket
// buffer. A sender numbers its packets in BTH.PSN and sets BTH.AckReq now and then; the receiver
// answers with a credit packet: the newest PSN it has seen, how many more receive requests may be
// used and how many bytes it can take. Credits pace; they never make a service reliable: a sender
// that hears nothing goes on after a short while.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::hca {

// The payload of a credit packet, 16 bytes big-endian.
struct Credit {
  static constexpr std::size_t kSize = 16;
  Psn seen{};                  // newest PSN of the flow that arrived
  std::uint32_t receives = 0;  // receive requests that packets after `seen` may use up
  std::uint32_t bytes = 0;     // may be in flight after `seen`, by the cost rule of kPacketCost
  std::uint32_t lost = 0;      // packets of this flow that never arrived, modulo 2^32

  static std::optional<Credit> parse(Bytes bytes);
  void write(MutableBytes bytes) const;
};

// What one packet costs of the receiver's socket buffer beyond its bytes: the kernel accounts whole
// buffers (truesize). A packet costs its bytes (BTH to ICRC) plus kPacketCost. Packets that leave
// as one segmented send arrive as one buffer and cost kPacketCost together, once: 60 KiB in a run
// are charged 61 KiB (the kernel: 66 to 70), a lone packet of 64 bytes 1.1 KiB (the kernel: 0.75 to
// 1.25). What this estimate lacks is left free by grant_budget().
inline constexpr std::uint32_t kPacketCost = 1024;

// How much of a socket buffer of `socket_bytes` (as getsockopt(SO_RCVBUF) tells, in the kernel's
// own units) may be granted in units of cost. A quarter may be held by packets that were read
// already (Linux returns the memory of a UDP socket in such steps), and of the rest a sixth covers
// the error of kPacketCost.
[[nodiscard]] constexpr std::uint32_t grant_budget(std::uint32_t socket_bytes) {
  return socket_bytes / 8 * 5;
}

// More in flight gains nothing, and waits in memory that the caches no longer hold.
inline constexpr std::uint32_t kMostGranted = 1024 * 1024;

}  // namespace weft::hca
