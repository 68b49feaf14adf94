// SPDX-License-Identifier: Apache-2.0
#include "wire/roce_frame.h"

#include <array>

#include "wire/crc.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/ip.h"
#include "wire/ip_protocol.h"

namespace weft::wire {
namespace {

constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;
constexpr std::uint16_t kEtherTypeVlan = 0x8100;         // IEEE 802.1Q
constexpr std::uint16_t kEtherTypeServiceVlan = 0x88A8;  // IEEE 802.1ad
constexpr std::uint16_t kRoceFrameDontFragment = 0x4000;
constexpr std::uint16_t kMoreFragmentsOrOffset = 0x3FFF;
constexpr std::size_t kMaxIpv4HeaderSize = 60;

tl::unexpected<WalkFailure> refuse_frame(WalkError error, std::size_t offset) {
  return tl::unexpected(WalkFailure{error, offset});
}

// `base` is where `packet`, the IP packet cut to its length, starts in what the caller was given.
Walked<RoceFrame> parse_udp(Bytes packet, std::size_t header_size, RoceFrame frame,
                            std::size_t base) {
  const std::size_t udp = base + header_size;
  if (packet.size() < header_size + kUdpHeaderSize) return refuse_frame(WalkError::too_short, udp);
  frame.ip_header = packet.first(header_size);
  frame.udp_header = packet.subspan(header_size, kUdpHeaderSize);
  frame.transport = packet.subspan(header_size + kUdpHeaderSize);
  const std::byte* at = frame.udp_header.data();
  if (load_be16(at + 4) != packet.size() - header_size) {
    return refuse_frame(WalkError::udp_length_mismatch, udp + 4);
  }
  frame.datagram.src_port = load_be16(at);
  frame.datagram.dst_port = load_be16(at + 2);
  frame.datagram.payload_size = frame.transport.size();
  return frame;
}

Walked<RoceFrame> parse_ipv4(Bytes packet, std::size_t base) {
  if (packet.size() < kIpv4HeaderSize) return refuse_frame(WalkError::too_short, base);
  const std::byte* at = packet.data();
  if (load_u8(at) >> 4 != 4) return refuse_frame(WalkError::bad_ip_version, base);
  const std::size_t header_size = std::size_t{4} * (load_u8(at) & 0xF);
  if (header_size < kIpv4HeaderSize) return refuse_frame(WalkError::bad_ip_header_length, base);
  const std::size_t total = load_be16(at + 2);
  if (total > packet.size() || total < header_size) {
    return refuse_frame(WalkError::bad_ip_length, base + 2);
  }
  const std::uint16_t fragment = load_be16(at + 6);
  if ((fragment & kMoreFragmentsOrOffset) != 0) return refuse_frame(WalkError::fragment, base + 6);
  if (load_u8(at + 9) != ip_protocol::kUdp) return refuse_frame(WalkError::not_udp, base + 9);
  RoceFrame frame;
  frame.datagram = {.src = Gid::from_ipv4(load_be32(at + 12)),
                    .dst = Gid::from_ipv4(load_be32(at + 16)),
                    .traffic_class = load_u8(at + 1),
                    .hop_limit = load_u8(at + 8),
                    .identification = load_be16(at + 4),
                    .dont_fragment = (fragment & kRoceFrameDontFragment) != 0};
  return parse_udp(packet.first(total), header_size, frame, base);
}

Walked<RoceFrame> parse_ipv6(Bytes packet, std::size_t base) {
  const auto header = Grh::parse(packet);
  if (!header) return refuse_frame(WalkError::too_short, base);
  if (header->ip_version != 6) return refuse_frame(WalkError::bad_ip_version, base);
  const std::size_t total = kIpv6HeaderSize + header->payload_length;
  if (total > packet.size()) return refuse_frame(WalkError::bad_ip_length, base + 4);
  if (header->next_header != ip_protocol::kUdp) return refuse_frame(WalkError::not_udp, base + 6);
  RoceFrame frame;
  frame.datagram = {.src = header->sgid,
                    .dst = header->dgid,
                    .traffic_class = header->traffic_class,
                    .hop_limit = header->hop_limit,
                    .flow_label = header->flow_label};
  return parse_udp(packet.first(total), kIpv6HeaderSize, frame, base);
}

}  // namespace

Walked<RoceFrame> parse_ethernet(Bytes frame) {
  std::size_t at = 12;
  for (;;) {
    if (frame.size() < at + 2) return refuse_frame(WalkError::too_short, 0);
    const std::uint16_t type = load_be16(frame.data() + at);
    if (type == kEtherTypeIpv4) return parse_ipv4(frame.subspan(at + 2), at + 2);
    if (type == kEtherTypeIpv6) return parse_ipv6(frame.subspan(at + 2), at + 2);
    if (type != kEtherTypeVlan && type != kEtherTypeServiceVlan) {
      return refuse_frame(WalkError::not_ip, at);
    }
    at += 4;
  }
}

Walked<RoceFrame> parse_ip(Bytes packet) {
  if (packet.empty()) return refuse_frame(WalkError::too_short, 0);
  const bool ipv6 = load_u8(packet.data()) >> 4 == 6;
  return ipv6 ? parse_ipv6(packet, 0) : parse_ipv4(packet, 0);
}

bool check_icrc(const RoceFrame& frame) {
  if (frame.transport.size() < Bth::kSize + kIcrcSize) return false;
  constexpr std::byte kOnes{0xFF};
  std::array<std::byte, 8 + kMaxIpv4HeaderSize + kUdpHeaderSize + Bth::kSize> masked;
  ByteSink sink(masked);
  std::array<std::byte, 8> prefix;
  prefix.fill(kOnes);
  // The array has room for the largest of each.
  (void)sink.put(prefix);
  (void)sink.put(frame.ip_header);
  (void)sink.put(frame.udp_header);
  (void)sink.put(frame.transport.first(Bth::kSize));
  std::byte* const ip = masked.data() + 8;
  std::byte* const udp = ip + frame.ip_header.size();
  if (load_u8(ip) >> 4 == 4) {
    ip[1] = ip[8] = ip[10] = ip[11] = kOnes;
  } else {
    ip[0] |= std::byte{0x0F};
    ip[1] = ip[2] = ip[3] = ip[7] = kOnes;
  }
  udp[6] = udp[7] = udp[kUdpHeaderSize + Bth::kUncoveredByte] = kOnes;

  const std::uint32_t state = crc32_update(kIcrcPreset, sink.written());
  const std::size_t rest = frame.transport.size() - Bth::kSize - kIcrcSize;
  const Bytes icrc = frame.transport.last(kIcrcSize);
  return crc32_finish(crc32_update(state, frame.transport.subspan(Bth::kSize, rest))) ==
         load_le32(icrc.data());
}

}  // namespace weft::wire
