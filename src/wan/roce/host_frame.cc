// SPDX-License-Identifier: Apache-2.0
#include "wan/roce/host_frame.h"

#include <algorithm>
#include <cstring>

#include "wire/endian.h"
#include "wire/ip.h"
#include "wire/ip_protocol.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/raw_header.h"
#include "wire/roce_frame.h"

namespace weft::wan {
namespace {

constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeArp = 0x0806;
constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;
constexpr std::uint16_t kEtherTypeFrame = 0x6558;  // Transparent Ethernet Bridging, RFC 1701
constexpr std::size_t kEtherType = 12;             // where it is in a frame
constexpr std::size_t kArp = 28;                   // of IPv4 over Ethernet
constexpr std::uint8_t kSolicitation = 135;
constexpr std::uint8_t kAdvertisement = 136;
constexpr std::uint8_t kUnrouted = 255;  // RFC 4861, 7.1: of packets that no router has forwarded
constexpr std::size_t kPrefix = wire::Lrh::kSize + wire::RawHeader::kSize;
// No hop looks at it: an extender's tunnel is between two ports.
constexpr Lid kNeighbour{0xFFFF};

MacAddress mac_at(const std::byte* at) {
  MacAddress mac;
  std::memcpy(mac.data(), at, mac.size());
  return mac;
}

std::optional<std::size_t> arp_size(Bytes frame) {
  const Bytes arp = frame.subspan(HostFrame::kHeader);
  // Ethernet's addresses for IPv4's.
  constexpr std::uint64_t kKinds = 0x0001'0800'0604;
  if (arp.size() < kArp || wire::load_be64(arp.data()) >> 16 != kKinds) return std::nullopt;
  return HostFrame::kHeader + kArp;
}

// Nothing: it is no neighbour discovery. 0: it cannot be.
std::optional<std::size_t> discovery_size(Bytes frame) {
  constexpr std::size_t kHeaders = HostFrame::kHeader + wire::kIpv6HeaderSize;
  if (frame.size() < kHeaders + 1) return std::nullopt;
  const std::byte* const ip = frame.data() + HostFrame::kHeader;
  const std::uint8_t type = wire::load_u8(frame.data() + kHeaders);
  if (wire::load_u8(ip + 6) != wire::ip_protocol::kIcmpv6 ||
      (type != kSolicitation && type != kAdvertisement)) {
    return std::nullopt;
  }
  const std::size_t size = kHeaders + wire::load_be16(ip + 4);
  const bool can_be = wire::load_u8(ip) >> 4 == 6 && wire::load_u8(ip + 7) == kUnrouted &&
                      size <= frame.size() && size >= kHeaders + 24;
  return can_be ? size : 0;
}

// A RoCEv2 packet, or nothing that is carried.
void read_datagram(HostFrame& out, Bytes frame) {
  const auto read = wire::parse_ethernet(frame);
  out.kind = HostFrame::Kind::kOther;
  if (!read || read->datagram.dst_port != wire::kRocePort) return;
  out.kind = HostFrame::Kind::kRoce;
  out.traffic_class = read->datagram.traffic_class;
  const auto end = read->transport.data() + read->transport.size();
  out.bytes = frame.first(static_cast<std::size_t>(end - frame.data()));
}

void mark_ipv4(std::byte* ip) {
  const std::uint16_t before = wire::load_be16(ip);
  const auto after = static_cast<std::uint16_t>(before | wire::kCongestionExperienced);
  wire::store_be16(ip, after);
  // RFC 1624, 3.
  const std::uint32_t sum = static_cast<std::uint16_t>(~wire::load_be16(ip + 10)) +
                            std::uint32_t{static_cast<std::uint16_t>(~before)} + after;
  wire::store_be16(ip + 10, static_cast<std::uint16_t>(~((sum & 0xFFFF) + (sum >> 16))));
}

// `frame` is a RoCEv2 packet in Ethernet.
void mark_congestion(MutableBytes frame, std::uint8_t traffic_class) {
  if ((traffic_class & wire::kEcnBits) == 0) return;  // its ends do not want to know
  std::byte* const ip = frame.data() + HostFrame::kHeader;
  const std::uint16_t type = wire::load_be16(frame.data() + kEtherType);
  if (type == kEtherTypeIpv4) mark_ipv4(ip);
  if (type == kEtherTypeIpv6) {  // bits 4 to 11 of its first word
    wire::store_be16(
        ip, static_cast<std::uint16_t>(wire::load_be16(ip) | wire::kCongestionExperienced << 4));
  }
}

}  // namespace

HostFrame HostFrame::read(Bytes frame) {
  HostFrame out;
  if (frame.size() < kHeader) return out;
  out.destination = mac_at(frame.data());
  out.source = mac_at(frame.data() + out.destination.size());
  if ((out.source[0] & 1) != 0) return out;
  const std::uint16_t type = wire::load_be16(frame.data() + kEtherType);
  std::optional<std::size_t> size;
  if (type == kEtherTypeArp) {
    size = arp_size(frame).value_or(0);
  } else if (type == kEtherTypeIpv6) {
    size = discovery_size(frame);
  }
  if (!size) {
    read_datagram(out, frame);
  } else if (*size != 0) {
    out.kind = Kind::kResolution;
    out.bytes = frame.first(*size);
  }
  return out;
}

link::PacketPtr raw_packet(const HostFrame& frame, Vl vl, bool mark, link::PacketPool& pool) {
  const std::size_t covered = (kPrefix + frame.bytes.size() + 3) / 4 * 4;
  const std::size_t size = covered + wire::kVcrcSize;
  if (size > kLongestRawPacket) return nullptr;
  std::array<std::byte, kLongestRawPacket> packet;
  const MutableBytes bytes = MutableBytes(packet).first(size);
  // What is marked by SL in the WAN is so by lane.
  wire::Lrh{.vl = vl,
            .sl = Sl{vl.value()},
            .next_header = wire::Lnh::raw,
            .dlid = kNeighbour,
            .packet_words = static_cast<std::uint16_t>(covered / 4),
            .slid = kNeighbour}
      .write(bytes);
  wire::RawHeader{.ether_type = kEtherTypeFrame}.write(bytes.subspan(wire::Lrh::kSize));
  const MutableBytes carried = bytes.subspan(kPrefix);
  std::ranges::copy(frame.bytes, carried.begin());
  std::fill(carried.begin() + static_cast<std::ptrdiff_t>(frame.bytes.size()), carried.end(),
            std::byte{});
  if (mark) mark_congestion(carried, frame.traffic_class);
  wire::seal_link_packet(bytes);
  return pool.copy(bytes);
}

HostFrame carried_frame(const link::Packet& packet, MutableBytes room) {
  const std::size_t size = packet.size();
  if (packet.lrh().next_header != wire::Lnh::raw ||
      size > std::min(kLongestRawPacket, room.size()) || size < kPrefix + wire::kVcrcSize) {
    return {};
  }
  packet.copy_to(room.first(size));
  const auto header = wire::RawHeader::parse(room.subspan(wire::Lrh::kSize));
  if (header->ether_type != kEtherTypeFrame) return {};
  return HostFrame::read(room.first(size - wire::kVcrcSize).subspan(kPrefix));
}

}  // namespace weft::wan
