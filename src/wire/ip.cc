// SPDX-License-Identifier: Apache-2.0
#include "wire/ip.h"

#include <algorithm>
#include <cassert>

#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/ip_protocol.h"

namespace weft::wire {
namespace {

constexpr std::uint16_t kIpDontFragment = 0x4000;

std::uint16_t length16(std::size_t size) {
  assert(size <= 0xFFFF);
  return static_cast<std::uint16_t>(size);
}

}  // namespace

std::uint16_t internet_checksum(Bytes header) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at + 1 < header.size(); at += 2)
    sum += load_be16(header.data() + at);
  while (sum > 0xFFFF)
    sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

void write_ipv4_header(std::span<std::byte, kIpv4HeaderSize> out, const Datagram& datagram) {
  std::byte* at = out.data();
  store_u8(at, 0x45);
  store_u8(at + 1, datagram.traffic_class);
  store_be16(at + 2, length16(kIpv4HeaderSize + kUdpHeaderSize + datagram.payload_size));
  store_be16(at + 4, datagram.identification);
  store_be16(at + 6, datagram.dont_fragment ? kIpDontFragment : 0);
  store_u8(at + 8, datagram.hop_limit);
  store_u8(at + 9, ip_protocol::kUdp);
  store_be16(at + 10, 0);
  store_be32(at + 12, datagram.src.ipv4());
  store_be32(at + 16, datagram.dst.ipv4());
  store_be16(at + 10, internet_checksum(out));
}

void write_ipv6_header(std::span<std::byte, kIpv6HeaderSize> out, const Datagram& datagram) {
  Grh{.traffic_class = datagram.traffic_class,
      .flow_label = datagram.flow_label,
      .payload_length = length16(kUdpHeaderSize + datagram.payload_size),
      .next_header = ip_protocol::kUdp,
      .hop_limit = datagram.hop_limit,
      .sgid = datagram.src,
      .dgid = datagram.dst}
      .write(out);
}

void write_udp_header(std::span<std::byte, kUdpHeaderSize> out, const Datagram& datagram) {
  std::byte* at = out.data();
  store_be16(at, datagram.src_port);
  store_be16(at + 2, datagram.dst_port);
  store_be16(at + 4, length16(kUdpHeaderSize + datagram.payload_size));
  store_be16(at + 6, 0);
}

std::size_t write_ip_udp_headers(MutableBytes out, const Datagram& datagram) {
  assert(out.size() >= kIpv6HeaderSize + kUdpHeaderSize);
  if (datagram.is_ipv4()) {
    write_ipv4_header(out.first<kIpv4HeaderSize>(), datagram);
    write_udp_header(out.subspan<kIpv4HeaderSize, kUdpHeaderSize>(), datagram);
    return kIpv4HeaderSize + kUdpHeaderSize;
  }
  write_ipv6_header(out.first<kIpv6HeaderSize>(), datagram);
  write_udp_header(out.subspan<kIpv6HeaderSize, kUdpHeaderSize>(), datagram);
  return kIpv6HeaderSize + kUdpHeaderSize;
}

void write_grh_area(std::span<std::byte, 40> out, const Datagram& datagram) {
  if (!datagram.is_ipv4()) return write_ipv6_header(out, datagram);
  std::fill_n(out.begin(), 20, std::byte{0});
  write_ipv4_header(out.last<kIpv4HeaderSize>(), datagram);
}

}  // namespace weft::wire
