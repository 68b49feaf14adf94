// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lan/ethernet_frame.h"
#include "service/inner.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/ip.h"
#include "wire/ip_protocol.h"

namespace weft::service::detail {
namespace {

namespace ip_protocol = wire::ip_protocol;

using wire::load_be16;
using wire::load_be24;
using wire::load_be32;
using wire::load_u8;

constexpr std::uint16_t kRarp = 0x8035;  // RFC 903

// IANA's protocol numbers.

// Extension headers of one packet, more than which nobody sends.
constexpr int kMostExtensions = 8;

// The least that a first fragment, or a packet, must have of its header.
std::size_t least_header(std::uint8_t protocol) {
  switch (protocol) {
    case ip_protocol::kTcp:
      return 20;
    case ip_protocol::kUdp:
    case ip_protocol::kUdpLite:
    case ip_protocol::kIcmp:
    case ip_protocol::kIcmpv6:
      return 8;
    case ip_protocol::kSctp:
    case ip_protocol::kDccp:
      return 12;
    default:
      return 0;
  }
}

bool has_ports(std::uint8_t protocol) {
  return protocol == ip_protocol::kTcp || protocol == ip_protocol::kUdp ||
         protocol == ip_protocol::kUdpLite || protocol == ip_protocol::kSctp ||
         protocol == ip_protocol::kDccp;
}

// Where the options of a message of neighbour discovery begin (RFC 4861, 4); 0: it is none.
std::size_t neighbour_options(std::uint8_t type) {
  switch (type) {
    case 133:  // router solicitation
      return 8;
    case 134:  // router advertisement
      return 16;
    case 135:  // neighbour solicitation
    case 136:  // neighbour advertisement
      return 24;
    case 137:  // redirect
      return 40;
    default:
      return 0;
  }
}

// Link-layer addresses of neighbour discovery (RFC 4861, 4.6.1; RFC 4391, 9.3).
void read_neighbour(Bytes message, const Around& around, Fields& out) {
  constexpr std::size_t kNamesTarget = 24;  // those whose options begin there, or later
  constexpr std::uint8_t kSourceAddress = 1;
  constexpr std::uint8_t kTargetAddress = 2;
  constexpr std::size_t kIpoibOption = 24;  // two bytes stand before the address
  const std::uint8_t type = load_u8(message.data());
  const std::size_t options = neighbour_options(type);
  if (options == 0) return;
  if (message.size() < options) {
    out.problem = Problem::kTransportLength;
    return;
  }
  ArpFields& arp = out.arp;
  arp.operation = type;
  arp.sender = out.ip.source;
  if (options >= kNamesTarget) arp.target = wire::load_gid(message.data() + 8);
  arp.checksum_at = static_cast<std::uint16_t>(around.at + 2);
  for (std::size_t at = options; at + 8 <= message.size();) {
    const std::byte* const option = message.data() + at;
    const std::size_t size = load_u8(option + 1) * std::size_t{8};
    if (size == 0 || size > message.size() - at) {
      out.problem = Problem::kTransportLength;
      return;
    }
    if (around.infiniband && size == kIpoibOption) {
      const auto place = static_cast<std::uint16_t>(around.at + at + 4);
      if (load_u8(option) == kSourceAddress) {
        arp.sender_at = place;
        arp.sender_qp = Qpn{load_be24(option + 5)};
        arp.sender_gid = wire::load_gid(option + 8);
      } else if (load_u8(option) == kTargetAddress) {
        arp.target_at = place;
        arp.target_qp = Qpn{load_be24(option + 5)};
        arp.target_gid = wire::load_gid(option + 8);
      }
    }
    at += size;
  }
}

// `header`: what follows all headers of IP, at most as much as IP says there is; `length`: as IP
// says it.
void read_transport(Bytes header, std::size_t length, const Around& around, Fields& out) {
  IpFields& ip = out.ip;
  if (ip.later_fragment) {
    // RFC 1858, 3.2: it would write over the flags of TCP. The offset is told by the caller.
    return;
  }
  const std::size_t least = least_header(ip.protocol);
  if (header.size() < least) {
    out.problem = ip.fragment ? Problem::kTinyFragment : Problem::kTransportLength;
    return;
  }
  const std::byte* const at = header.data();
  if (has_ports(ip.protocol)) {
    ip.ports = true;
    ip.source_port = load_be16(at);
    ip.destination_port = load_be16(at + 2);
  }
  if (ip.protocol == ip_protocol::kTcp) {
    ip.tcp_flags = load_u8(at + 13);
    const std::size_t size = (load_u8(at + 12) >> 4) * std::size_t{4};
    if (size < least || size > length) out.problem = Problem::kTransportLength;
  } else if (ip.protocol == ip_protocol::kUdp) {
    const std::size_t size = load_be16(at + 4);
    if (size < least || (!ip.fragment && size > length)) out.problem = Problem::kTransportLength;
  } else if (ip.protocol == ip_protocol::kIcmp || ip.protocol == ip_protocol::kIcmpv6) {
    ip.icmp_type = load_u8(at);
    ip.icmp_code = load_u8(at + 1);
    if (ip.protocol == ip_protocol::kIcmpv6 && ip.version == 6) read_neighbour(header, around, out);
  }
}

// Source routes let a packet go elsewhere than its destination says (RFC 791, 3.1).
bool has_bad_options(Bytes options) {
  constexpr std::uint8_t kEnd = 0;
  constexpr std::uint8_t kNothing = 1;
  constexpr std::uint8_t kLooseRoute = 131;
  constexpr std::uint8_t kStrictRoute = 137;
  std::size_t at = 0;
  while (at < options.size()) {
    const std::uint8_t type = load_u8(options.data() + at);
    if (type == kEnd) return false;
    if (type == kNothing) {
      ++at;
      continue;
    }
    if (type == kLooseRoute || type == kStrictRoute || options.size() - at < 2) return true;
    const std::size_t size = load_u8(options.data() + at + 1);
    if (size < 2 || size > options.size() - at) return true;
    at += size;
  }
  return false;
}

void read_ipv4(Bytes packet, const Around& around, Fields& out) {
  IpFields& ip = out.ip;
  if (packet.size() < wire::kIpv4HeaderSize) {
    out.problem = Problem::kIpLength;
    return;
  }
  const std::byte* const at = packet.data();
  if (load_u8(at) >> 4 != 4) {
    out.problem = Problem::kIpVersion;
    return;
  }
  const std::size_t header = (load_u8(at) & 0xFU) * 4;
  const std::size_t total = load_be16(at + 2);
  if (header < wire::kIpv4HeaderSize || header > total || header > packet.size() ||
      (around.whole && total > packet.size())) {
    out.problem = Problem::kIpLength;
    return;
  }
  const std::uint16_t fragment = load_be16(at + 6);
  constexpr std::uint16_t kMore = 0x2000;
  constexpr std::uint16_t kOffset = 0x1FFF;
  ip.version = 4;
  ip.dscp = static_cast<std::uint8_t>(load_u8(at + 1) >> 2);
  ip.length = static_cast<std::uint16_t>(total);
  ip.fragment = (fragment & (kMore | kOffset)) != 0;
  ip.later_fragment = (fragment & kOffset) != 0;
  ip.more_fragments = (fragment & kMore) != 0;
  ip.fragment_offset = static_cast<std::uint16_t>((fragment & kOffset) * 8);
  ip.identification = load_be16(at + 4);
  ip.hop_limit = load_u8(at + 8);
  ip.protocol = load_u8(at + 9);
  ip.source = Gid::from_ipv4(load_be32(at + 12));
  ip.destination = Gid::from_ipv4(load_be32(at + 16));
  if (has_bad_options(packet.subspan(wire::kIpv4HeaderSize, header - wire::kIpv4HeaderSize))) {
    out.problem = Problem::kIpOptions;
    return;
  }
  // RFC 1858, 3.2: it would write over the flags of TCP.
  if ((fragment & kOffset) == 1 && ip.protocol == ip_protocol::kTcp)
    out.problem = Problem::kTinyFragment;
  const Bytes rest = packet.subspan(header, std::min(total, packet.size()) - header);
  Around inside = around;
  inside.at += header;
  read_transport(rest, total - header, inside, out);
}

// Walks one extension header. `next`: its kind before, that of what follows after. Nothing: it
// cannot be, and out.problem says why.
struct Extensions {
  std::uint8_t next = 0;
  std::size_t at = 0;
};

bool is_extension(std::uint8_t next) {
  return next == ip_protocol::kHopByHop || next == ip_protocol::kRouting ||
         next == ip_protocol::kDestination || next == ip_protocol::kFragment ||
         next == ip_protocol::kAuthentication;
}

bool step_over(Bytes packet, Extensions& walk, Fields& out) {
  IpFields& ip = out.ip;
  if (packet.size() - walk.at < 8) {
    out.problem = ip.fragment ? Problem::kTinyFragment : Problem::kIpOptions;
    return false;
  }
  const std::byte* const at = packet.data() + walk.at;
  std::size_t size = (std::size_t{load_u8(at + 1)} + 1) * 8;
  if (walk.next == ip_protocol::kAuthentication) size = (std::size_t{load_u8(at + 1)} + 2) * 4;
  if (walk.next == ip_protocol::kFragment) {
    size = 8;
    const std::uint16_t fragment = load_be16(at + 2);
    if (ip.fragment) {
      out.problem = Problem::kIpOptions;  // a fragment of a fragment
      return false;
    }
    ip.fragment = (fragment & 0xFFF9) != 0;
    ip.later_fragment = (fragment & 0xFFF8) != 0;
    ip.more_fragments = (fragment & 1) != 0;
    ip.fragment_offset = fragment & 0xFFF8;
    ip.identification = load_be32(at + 4);
    if (fragment >> 3 == 1 && load_u8(at) == ip_protocol::kTcp)
      out.problem = Problem::kTinyFragment;
  }
  // RFC 5095: type 0 is a source route.
  if (walk.next == ip_protocol::kRouting && load_u8(at + 2) == 0) {
    out.problem = Problem::kIpOptions;
    return false;
  }
  if (size > packet.size() - walk.at) {
    out.problem = ip.fragment ? Problem::kTinyFragment : Problem::kIpOptions;
    return false;
  }
  walk.next = load_u8(at);
  walk.at += size;
  return true;
}

void read_ipv6(Bytes packet, const Around& around, Fields& out) {
  IpFields& ip = out.ip;
  if (packet.size() < wire::kIpv6HeaderSize) {
    out.problem = Problem::kIpLength;
    return;
  }
  const std::byte* const at = packet.data();
  if (load_u8(at) >> 4 != 6) {
    out.problem = Problem::kIpVersion;
    return;
  }
  const std::size_t total = wire::kIpv6HeaderSize + load_be16(at + 4);
  if ((around.whole && total > packet.size()) || total > 0xFFFF) {
    out.problem = Problem::kIpLength;
    return;
  }
  ip.version = 6;
  ip.dscp = static_cast<std::uint8_t>(load_be16(at) >> 6 & 0x3F);
  ip.length = static_cast<std::uint16_t>(total);
  ip.hop_limit = load_u8(at + 7);
  ip.source = wire::load_gid(at + 8);
  ip.destination = wire::load_gid(at + 24);
  const Bytes bounded = packet.first(std::min(total, packet.size()));
  Extensions walk{.next = load_u8(at + 6), .at = wire::kIpv6HeaderSize};
  for (int i = 0; is_extension(walk.next) && !ip.later_fragment; ++i) {
    ip.protocol = walk.next;
    if (i == kMostExtensions) {
      out.problem = Problem::kIpOptions;
      return;
    }
    if (!step_over(bounded, walk, out)) return;
  }
  ip.protocol = walk.next;
  if (walk.next == ip_protocol::kNoNext) return;
  Around inside = around;
  inside.at += walk.at;
  read_transport(bounded.subspan(walk.at), total - walk.at, inside, out);
}

void read_arp(Bytes message, const Around& around, Fields& out) {
  constexpr std::uint16_t kInfiniband = 32;
  constexpr std::uint16_t kEthernet = 1;
  constexpr std::size_t kIpoibAddress = 20;
  constexpr std::size_t kHead = 8;
  const std::size_t hardware = around.infiniband ? kIpoibAddress : 6;
  const std::uint16_t kind = around.infiniband ? kInfiniband : kEthernet;
  const std::byte* const at = message.data();
  if (message.size() < kHead + 2 * (hardware + 4) || load_be16(at) != kind ||
      load_be16(at + 2) != lan::EthernetFrame::kIpv4 || load_u8(at + 4) != hardware ||
      load_u8(at + 5) != 4) {
    out.problem = Problem::kArp;
    return;
  }
  ArpFields& arp = out.arp;
  arp.operation = load_be16(at + 6);
  const std::size_t target = kHead + hardware + 4;
  arp.sender = Gid::from_ipv4(load_be32(at + kHead + hardware));
  arp.target = Gid::from_ipv4(load_be32(at + target + hardware));
  if (!around.infiniband) return;
  arp.sender_at = static_cast<std::uint16_t>(around.at + kHead);
  arp.sender_qp = Qpn{load_be24(at + kHead + 1)};
  arp.sender_gid = wire::load_gid(at + kHead + 4);
  arp.target_at = static_cast<std::uint16_t>(around.at + target);
  arp.target_qp = Qpn{load_be24(at + target + 1)};
  arp.target_gid = wire::load_gid(at + target + 4);
}

}  // namespace

bool is_network_type(std::uint16_t ether_type) {
  return ether_type == lan::EthernetFrame::kIpv4 || ether_type == lan::EthernetFrame::kIpv6 ||
         ether_type == lan::EthernetFrame::kArp || ether_type == kRarp;
}

void read_network(Bytes bytes, const Around& around, Fields& out) {
  switch (out.ether_type) {
    case lan::EthernetFrame::kIpv4:
      return read_ipv4(bytes, around, out);
    case lan::EthernetFrame::kIpv6:
      return read_ipv6(bytes, around, out);
    case lan::EthernetFrame::kArp:
    case kRarp:
      return read_arp(bytes, around, out);
    default:
      return;
  }
}

}  // namespace weft::service::detail
