// SPDX-License-Identifier: Apache-2.0
// The queue of errors of a UDP socket (ip(7), IP_RECVERR).

// linux/errqueue.h needs what comes before it.
// clang-format off
#include <time.h>
#include <linux/errqueue.h>
// clang-format on
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "io/udp_control.h"
#include "io/udp_socket.h"

namespace weft::io {
namespace {

using Reason = DeliveryError::Reason;

// RFC 792, RFC 1122 3.2.2.1.
Reason icmp_reason(const sock_extended_err& error) {
  if (error.ee_type != ICMP_DEST_UNREACH) return Reason::kOther;
  switch (error.ee_code) {
    case ICMP_PORT_UNREACH:
      return Reason::kPortUnreachable;
    case ICMP_FRAG_NEEDED:
      return Reason::kTooLong;
    default:
      return Reason::kUnreachable;
  }
}

// RFC 4443, sections 3.1 and 3.2.
Reason icmp6_reason(const sock_extended_err& error) {
  if (error.ee_type == ICMP6_PACKET_TOO_BIG) return Reason::kTooLong;
  if (error.ee_type != ICMP6_DST_UNREACH) return Reason::kOther;
  return error.ee_code == ICMP6_DST_UNREACH_NOPORT ? Reason::kPortUnreachable
                                                   : Reason::kUnreachable;
}

Reason reason_of(const sock_extended_err& error) {
  switch (error.ee_origin) {
    case SO_EE_ORIGIN_ICMP:
      return icmp_reason(error);
    case SO_EE_ORIGIN_ICMP6:
      return icmp6_reason(error);
    case SO_EE_ORIGIN_LOCAL:
      return error.ee_errno == EMSGSIZE ? Reason::kTooLong : Reason::kOther;
    default:
      return Reason::kOther;
  }
}

}  // namespace

IoResult UdpSocket::receive_error(MutableBytes buffer, DeliveryError& out) const {
  sockaddr_storage name{};
  // The error, the address of who reports it, and what every datagram brings along.
  constexpr std::size_t kSize =
      CMSG_SPACE(sizeof(sock_extended_err) + sizeof(sockaddr_in6)) + ControlBuffer::kSize;
  alignas(cmsghdr) std::array<char, kSize> control;
  iovec data{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_name = &name;
  message.msg_namelen = sizeof name;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  long quoted = 0;
  do {
    quoted = syscall(SYS_recvmsg, fd(), &message, MSG_ERRQUEUE | MSG_DONTWAIT);
  } while (quoted < 0 && errno == EINTR);
  if (quoted < 0) {
    if (errno == EAGAIN) return {IoStatus::kWouldBlock, 0, {}};
    return {IoStatus::kFailed, 0, static_cast<std::errc>(errno)};
  }
  out = DeliveryError{};
  if (message.msg_namelen > 0) out.destination = SocketAddress::from_sockaddr(name);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    const bool is_error = (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_RECVERR) ||
                          (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_RECVERR);
    sock_extended_err error{};
    if (!is_error || header->cmsg_len < CMSG_LEN(sizeof error)) continue;
    std::memcpy(&error, CMSG_DATA(header), sizeof error);
    out.reason = reason_of(error);
  }
  return {IoStatus::kDone, static_cast<std::size_t>(quoted), {}};
}

}  // namespace weft::io
