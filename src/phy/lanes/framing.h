// SPDX-License-Identifier: Apache-2.0
// Packets as characters of a link (IBA vol 2, 5.5): a data packet is SDP, its bytes, EGP or EBP; a
// link packet SLP, its six bytes, EGP. They are dealt out over the lanes in this order, from lane 0
// on. A packet begins on lane 0; what it has left of its last column, on a link of more than four
// lanes, is filled with PAD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "phy/code/character.h"
#include "phy/link_width.h"

namespace weft::phy {

enum class PacketKind : std::uint8_t { kData, kLink };
enum class PacketEnd : std::uint8_t { kGood, kBad };  // EGP, EBP

inline constexpr std::size_t kLinkPacketSize = 6;

// Whether a packet of so many bytes, its VCRC or LPCRC included, has its end where it has to be:
// a data packet is words of 4 bytes and a CRC of 2, with an LRH at least.
[[nodiscard]] constexpr bool is_packet_size(PacketKind kind, std::size_t size) {
  if (kind == PacketKind::kLink) return size == kLinkPacketSize;
  return size % 4 == 2 && size >= 10;
}

// Appends a packet, in whole columns of `width`. `bytes` has a size of is_packet_size.
void append_packet(PacketKind kind, Bytes bytes, PacketEnd end, LinkWidth width,
                   std::vector<Character>& out);

}  // namespace weft::phy
