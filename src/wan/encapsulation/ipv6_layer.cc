// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/ipv6_layer.h"

#include <cassert>

#include "wire/grh.h"

namespace weft::wan {

std::size_t Ipv6Layer::wrapped_size(std::size_t size) const {
  return size + wire::Grh::kSize;
}

// A GRH has IPv6's layout (IBA 8.3), and its reader and writer are used for it.
void Ipv6Layer::wrap(OutPacket& packet) const {
  assert(packet.carried.ip_protocol && packet.size() <= longest_body());
  const wire::Grh header{.traffic_class = packet.traffic_class,
                         .flow_label = ends_.flow_label,
                         .payload_length = static_cast<std::uint16_t>(packet.size()),
                         .next_header = *packet.carried.ip_protocol,
                         .hop_limit = ends_.hop_limit,
                         .sgid = ends_.local,
                         .dgid = ends_.remote};
  header.write(packet.prepend(wire::Grh::kSize));
  packet.carried = identity();
}

std::optional<PacketRefusal> Ipv6Layer::unwrap(InPacket& packet) const {
  const auto header = wire::Grh::parse(packet.bytes);
  if (!header) return PacketRefusal::kShort;
  if (header->ip_version != wire::Grh::kIpVersion) return PacketRefusal::kVersion;
  const Bytes body = packet.bytes.subspan(wire::Grh::kSize);
  // A link may have filled up its frame behind it.
  if (header->payload_length > body.size()) return PacketRefusal::kLength;
  if (header->dgid != ends_.local) return PacketRefusal::kDestination;
  if (header->sgid != ends_.remote) return PacketRefusal::kSource;
  packet.bytes = body.first(header->payload_length);
  packet.says = {.ip_protocol = header->next_header, .ether_type = {}};
  packet.traffic_class = header->traffic_class;
  packet.source = header->sgid;
  packet.destination = header->dgid;
  return std::nullopt;
}

}  // namespace weft::wan
