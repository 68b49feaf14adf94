// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/udp_layer.h"

#include "wan/encapsulation/internet_checksum.h"
#include "wire/endian.h"
#include "wire/ip.h"

namespace weft::wan {
namespace {

constexpr std::size_t kChecksumAt = 6;

}  // namespace

std::size_t UdpLayer::wrapped_size(std::size_t size) const {
  return size + wire::kUdpHeaderSize;
}

std::size_t UdpLayer::longest_body() const {
  return 0xFFFF - wire::kUdpHeaderSize;
}

void UdpLayer::wrap(OutPacket& packet) const {
  const MutableBytes header = packet.prepend(wire::kUdpHeaderSize);
  const std::size_t length = packet.size();
  wire::store_be16(header.data(), ends_.local_port);
  wire::store_be16(header.data() + 2, ends_.remote_port);
  wire::store_be16(header.data() + 4, static_cast<std::uint16_t>(length));
  wire::store_be16(header.data() + kChecksumAt, 0);
  packet.carried = identity();
  if (ends_.zero_checksum) return;
  InternetChecksum sum(ends_.local, ends_.remote, kProtocol, static_cast<std::uint32_t>(length));
  for (const Bytes piece : packet.pieces())
    sum.add(piece);
  // Zero says that there is none, and is the same number as all ones.
  const std::uint16_t checksum = sum.value();
  wire::store_be16(header.data() + kChecksumAt, checksum == 0 ? 0xFFFF : checksum);
}

std::optional<PacketRefusal> UdpLayer::unwrap(InPacket& packet) const {
  if (packet.bytes.size() < wire::kUdpHeaderSize) return PacketRefusal::kShort;
  const std::byte* const at = packet.bytes.data();
  const std::size_t length = wire::load_be16(at + 4);
  // IP has said how long the datagram is, and this must be all of it.
  if (length != packet.bytes.size()) return PacketRefusal::kLength;
  if (wire::load_be16(at) != ends_.remote_port || wire::load_be16(at + 2) != ends_.local_port) {
    return PacketRefusal::kPort;
  }
  if (wire::load_be16(at + kChecksumAt) == 0) {
    const bool ipv4 = packet.destination.is_ipv4_mapped();
    if (!ipv4 && !ends_.zero_checksum) return PacketRefusal::kNoChecksum;
  } else {
    InternetChecksum sum(packet.source, packet.destination, kProtocol,
                         static_cast<std::uint32_t>(length));
    sum.add(packet.bytes);
    if (sum.value() != 0) return PacketRefusal::kChecksum;
  }
  packet.bytes = packet.bytes.subspan(wire::kUdpHeaderSize);
  packet.says = {};
  return std::nullopt;
}

}  // namespace weft::wan
