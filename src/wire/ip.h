// SPDX-License-Identifier: Apache-2.0
// The IP and UDP headers around a RoCEv2 packet (RFC 791, RFC 8200, RFC 768), written whole: for
// captures, and for the 40 bytes in front of a received UD message. Reading them is
// roce_frame.h's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::wire {

// The two low bits of the traffic class, explicit congestion notification (RFC 3168, 5).
inline constexpr std::uint8_t kEcnBits = 3;
inline constexpr std::uint8_t kEcnCapable = 2;  // ECT(0)
inline constexpr std::uint8_t kCongestionExperienced = 3;

inline constexpr std::uint16_t kRocePort = 4791;  // IBA annex A17.9.4
inline constexpr std::size_t kIpv4HeaderSize = 20;
inline constexpr std::size_t kIpv6HeaderSize = 40;
inline constexpr std::size_t kUdpHeaderSize = 8;

// A UDP datagram as its headers describe it. The addresses are both IPv4-mapped or both IPv6.
struct Datagram {
  Gid src{};
  Gid dst{};
  std::uint16_t src_port = 0;
  std::uint16_t dst_port = 0;
  std::uint8_t traffic_class = 0;    // IPv4's type of service
  std::uint8_t hop_limit = 64;       // IPv4's time to live
  std::uint16_t identification = 0;  // IPv4 only
  bool dont_fragment = true;         // IPv4 only
  std::uint32_t flow_label = 0;      // IPv6 only, 20 bits
  std::size_t payload_size = 0;      // bytes after the UDP header, at most 65,507

  [[nodiscard]] bool is_ipv4() const { return src.is_ipv4_mapped() && dst.is_ipv4_mapped(); }
  friend bool operator==(const Datagram&, const Datagram&) = default;
};

// Without options, with a right checksum.
void write_ipv4_header(std::span<std::byte, kIpv4HeaderSize> out, const Datagram& datagram);
void write_ipv6_header(std::span<std::byte, kIpv6HeaderSize> out, const Datagram& datagram);
// With a zero checksum, as RoCEv2 sends it over either IP.
void write_udp_header(std::span<std::byte, kUdpHeaderSize> out, const Datagram& datagram);

// The IP and UDP headers of `datagram`; returns their size, 28 or 48. `out` has room for 48 bytes.
std::size_t write_ip_udp_headers(MutableBytes out, const Datagram& datagram);

// What RoCEv2 puts in front of a received UD message in place of a GRH (IBA annex A17.9.2): an IPv6
// header, or 20 zero bytes and an IPv4 header.
void write_grh_area(std::span<std::byte, 40> out, const Datagram& datagram);

// RFC 1071 over a header of an even number of bytes: zero for a header whose checksum is right.
[[nodiscard]] std::uint16_t internet_checksum(Bytes header);

}  // namespace weft::wire
