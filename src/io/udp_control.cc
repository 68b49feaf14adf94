// SPDX-License-Identifier: Apache-2.0
#include "io/udp_control.h"

#include <arpa/inet.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cstring>

namespace weft::io {
namespace {

template <class T>
T control_value(const cmsghdr& header) {
  T value{};
  const std::size_t length = header.cmsg_len - CMSG_LEN(0);
  std::memcpy(&value, CMSG_DATA(&header), std::min(length, sizeof value));
  return value;
}

void read_ipv4(const cmsghdr& header, ReceivedDatagram& out) {
  switch (header.cmsg_type) {
    case IP_PKTINFO: {
      const auto info = control_value<in_pktinfo>(header);
      out.destination = Gid::from_ipv4(ntohl(info.ipi_addr.s_addr));
      out.ifindex = static_cast<std::uint32_t>(info.ipi_ifindex);
      break;
    }
    case IP_TTL:
      out.ttl = static_cast<std::uint8_t>(control_value<int>(header));
      break;
    case IP_TOS:  // a single byte, unlike its neighbours
      out.tos = control_value<std::uint8_t>(header);
      break;
    default:
      break;
  }
}

void read_ipv6(const cmsghdr& header, ReceivedDatagram& out) {
  switch (header.cmsg_type) {
    case IPV6_PKTINFO: {
      const auto info = control_value<in6_pktinfo>(header);
      std::array<std::uint8_t, 16> bytes{};
      std::memcpy(bytes.data(), &info.ipi6_addr, bytes.size());
      out.destination = Gid{bytes};
      out.ifindex = info.ipi6_ifindex;
      break;
    }
    case IPV6_HOPLIMIT:
      out.ttl = static_cast<std::uint8_t>(control_value<int>(header));
      break;
    case IPV6_TCLASS:
      out.tos = static_cast<std::uint8_t>(control_value<int>(header));
      break;
    default:
      break;
  }
}

void write_ipv4(const SendDatagram& datagram, ControlWriter& writer) {
  if (!datagram.source.is_zero() || datagram.source_ifindex != 0) {
    in_pktinfo info{};
    if (!datagram.source.is_zero()) info.ipi_spec_dst.s_addr = htonl(datagram.source.ipv4());
    info.ipi_ifindex = static_cast<int>(datagram.source_ifindex);
    writer.put(IPPROTO_IP, IP_PKTINFO, info);
  }
  if (datagram.tos) writer.put(IPPROTO_IP, IP_TOS, int{*datagram.tos});
  if (datagram.ttl) writer.put(IPPROTO_IP, IP_TTL, int{*datagram.ttl});
}

void write_ipv6(const SendDatagram& datagram, Bytes options, ControlWriter& writer) {
  if (!datagram.source.is_zero() || datagram.source_ifindex != 0) {
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, datagram.source.bytes().data(), sizeof info.ipi6_addr);
    info.ipi6_ifindex = datagram.source_ifindex;
    writer.put(IPPROTO_IPV6, IPV6_PKTINFO, info);
  }
  if (datagram.tos) writer.put(IPPROTO_IPV6, IPV6_TCLASS, int{*datagram.tos});
  if (datagram.ttl) writer.put(IPPROTO_IPV6, IPV6_HOPLIMIT, int{*datagram.ttl});
  if (!options.empty()) writer.put_bytes(IPPROTO_IPV6, IPV6_DSTOPTS, options);
}

}  // namespace

void write_send_control(const SendDatagram& datagram, Bytes options, ControlBuffer& control,
                        msghdr& message) {
  ControlWriter writer(control);
  // The kernel sends a mapped destination by its IPv4 half, which reads IPv4 options only.
  if (datagram.destination.is_ipv4()) {
    write_ipv4(datagram, writer);
  } else {
    write_ipv6(datagram, options, writer);
  }
  if (datagram.segment_size != 0) writer.put(SOL_UDP, UDP_SEGMENT, datagram.segment_size);
  message.msg_controllen = writer.used();
  message.msg_control = writer.used() == 0 ? nullptr : control.bytes.data();
}

void read_receive_control(msghdr& message, ReceivedDatagram& out) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    switch (header->cmsg_level) {
      case IPPROTO_IP:
        read_ipv4(*header, out);
        break;
      case IPPROTO_IPV6:
        read_ipv6(*header, out);
        break;
      case SOL_UDP:
        if (header->cmsg_type == UDP_GRO) {
          out.segment_size = static_cast<std::uint16_t>(control_value<int>(*header));
        }
        break;
      case SOL_SOCKET:
        if (header->cmsg_type == SO_RXQ_OVFL) {
          out.overflows = control_value<std::uint32_t>(*header);
        }
        break;
      default:
        break;
    }
  }
}

}  // namespace weft::io
