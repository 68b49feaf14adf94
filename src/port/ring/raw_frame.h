// SPDX-License-Identifier: Apache-2.0
// Whole packets, as a raw queue pair posts them, in the memory between a program and its lab's
// daemon.
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "hca/datagram.h"
#include "port/ring/link_frame.h"
#include "port/ring/shared_memory.h"

namespace weft::port {

// Whether a packet of so many posted bytes may need a block for its payload.
[[nodiscard]] constexpr bool needs_block(std::size_t posted) {
  return posted > ring::kMostHeader;
}

// Fills in all of `slot` but where it comes from and which block it has; what does not fit into the
// header goes to `block`, which has room for ring::kBlock bytes where needs_block() says so. Reads
// `pieces` once. What was posted without an ICRC, or asks for a new one, is not sealed: whoever
// takes it out of memory makes its CRCs. The ICRC of others stays as it is, but for another P_Key.
// False: it is no packet that an adapter lets out (hca::read_raw_head), its length is none that the
// LRH's PktLen allows (ends with the pad, with the ICRC, or with the VCRC), or it has no P_Key.
[[nodiscard]] bool write_raw_packet(std::span<const Bytes> pieces, const hca::Burst::Raw& how,
                                    MutableBytes block, ring::SendSlot& slot);

// Copies a packet of any kind, and makes the CRCs of one that is not sealed. False: it is too long
// to be a packet, or not such that CRCs could be made.
[[nodiscard]] bool copy_raw_packet(const LinkPieces& packet, bool sealed, LinkFrame& frame);

}  // namespace weft::port
