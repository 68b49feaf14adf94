// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/ethernet_layer.h"

#include <cassert>
#include <cstring>

#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::uint16_t kLeastEtherType = 0x0600;  // smaller ones are lengths (IEEE 802.3, 3.2.6)

}  // namespace

void EthernetLayer::wrap(OutPacket& packet) const {
  assert(packet.carried.ether_type);
  const std::uint16_t type = *packet.carried.ether_type;
  std::byte* const at = packet.prepend(kHeader).data();
  std::memcpy(at, ends_.remote_mac.data(), ends_.remote_mac.size());
  std::memcpy(at + 6, ends_.local_mac.data(), ends_.local_mac.size());
  wire::store_be16(at + 12, type);
  packet.carried = identity();
}

std::optional<PacketRefusal> EthernetLayer::unwrap(InPacket& packet) const {
  if (packet.bytes.size() < kHeader) return PacketRefusal::kShort;
  const std::byte* const at = packet.bytes.data();
  if (std::memcmp(at, ends_.local_mac.data(), 6) != 0) return PacketRefusal::kDestination;
  if (std::memcmp(at + 6, ends_.remote_mac.data(), 6) != 0) return PacketRefusal::kSource;
  const std::uint16_t type = wire::load_be16(at + 12);
  if (type < kLeastEtherType) return PacketRefusal::kProtocol;
  packet.says = {.ip_protocol = {}, .ether_type = type};
  packet.bytes = packet.bytes.subspan(kHeader);
  return std::nullopt;
}

}  // namespace weft::wan
