// SPDX-License-Identifier: Apache-2.0
#include "phy/lanes/framing.h"

#include <cassert>

namespace weft::phy {

void append_packet(PacketKind kind, Bytes bytes, PacketEnd end, LinkWidth width,
                   std::vector<Character>& out) {
  assert(is_packet_size(kind, bytes.size()));
  std::size_t size = 0;
  const auto put = [&](Character character) {
    out.push_back(character);
    ++size;
  };
  put(kind == PacketKind::kData ? kSdp : kSlp);
  for (const std::byte byte : bytes)
    put({std::to_integer<std::uint8_t>(byte), false});
  put(end == PacketEnd::kGood ? kEgp : kEbp);
  while (size % lanes_of(width) != 0)
    put(kPad);
}

}  // namespace weft::phy
