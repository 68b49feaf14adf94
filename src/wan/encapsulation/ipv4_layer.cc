// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/ipv4_layer.h"

#include <cassert>

#include "wire/endian.h"
#include "wire/ip.h"

namespace weft::wan {
namespace {

constexpr std::uint8_t kVersionAndLength = 0x45;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint16_t kFragmentBits = 0x3FFF;  // more fragments, and an offset

}  // namespace

std::size_t Ipv4Layer::wrapped_size(std::size_t size) const {
  return size + wire::kIpv4HeaderSize;
}

std::size_t Ipv4Layer::longest_body() const {
  return 0xFFFF - wire::kIpv4HeaderSize;
}

void Ipv4Layer::wrap(OutPacket& packet) const {
  assert(packet.carried.ip_protocol && packet.size() <= longest_body());
  const std::uint8_t protocol = *packet.carried.ip_protocol;
  const MutableBytes header = packet.prepend(wire::kIpv4HeaderSize);
  std::byte* const at = header.data();
  wire::store_u8(at, kVersionAndLength);
  wire::store_u8(at + 1, packet.traffic_class);
  wire::store_be16(at + 2, static_cast<std::uint16_t>(packet.size()));
  wire::store_be16(at + 4, 0);
  wire::store_be16(at + 6, kDontFragment);
  wire::store_u8(at + 8, ends_.hop_limit);
  wire::store_u8(at + 9, protocol);
  wire::store_be16(at + 10, 0);
  wire::store_be32(at + 12, ends_.local.ipv4());
  wire::store_be32(at + 16, ends_.remote.ipv4());
  wire::store_be16(at + 10, wire::internet_checksum(header));
  packet.carried = identity();
}

std::optional<PacketRefusal> Ipv4Layer::unwrap(InPacket& packet) const {
  if (packet.bytes.size() < wire::kIpv4HeaderSize) return PacketRefusal::kShort;
  const std::byte* const at = packet.bytes.data();
  const std::uint8_t first = wire::load_u8(at);
  if (first >> 4 != 4) return PacketRefusal::kVersion;
  const std::size_t header = (first & 15U) * 4;
  if (header < wire::kIpv4HeaderSize || header > packet.bytes.size()) {
    return PacketRefusal::kHeaderLength;
  }
  if (wire::internet_checksum(packet.bytes.first(header)) != 0)
    return PacketRefusal::kHeaderChecksum;
  const std::size_t total = wire::load_be16(at + 2);
  // A link may have filled up its frame behind it.
  if (total < header || total > packet.bytes.size()) return PacketRefusal::kLength;
  if ((wire::load_be16(at + 6) & kFragmentBits) != 0) return PacketRefusal::kFragment;
  packet.source = Gid::from_ipv4(wire::load_be32(at + 12));
  packet.destination = Gid::from_ipv4(wire::load_be32(at + 16));
  if (packet.destination != ends_.local) return PacketRefusal::kDestination;
  if (packet.source != ends_.remote) return PacketRefusal::kSource;
  packet.traffic_class = wire::load_u8(at + 1);
  packet.says = {.ip_protocol = wire::load_u8(at + 9), .ether_type = {}};
  packet.bytes = packet.bytes.subspan(header, total - header);
  return std::nullopt;
}

}  // namespace weft::wan
