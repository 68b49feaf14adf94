// SPDX-License-Identifier: Apache-2.0
#include "io/udp_socket.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "io/socket_buffer.h"
#include "io/udp_control.h"

// Sends and receives are bare system calls: they never block, so they need not be the cancellation
// points that libc's are, at a price that shows in a round trip.

namespace weft::io {
namespace {

// The kernel tells a socket of IP_RECVERR what ICMP said by failing its next call, whose datagram
// it does not even look at.
bool may_be_of_earlier_datagram(int error) {
  switch (error) {
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EMSGSIZE:
    case EACCES:
    case EPROTO:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case EHOSTDOWN:
    case ENONET:
      return true;
    default:
      return false;
  }
}

// Without IPv6 in the kernel there is no such family; with IPv6 switched off there is no address.
bool means_no_ipv6(const Error& error) {
  return error.code == std::errc::address_family_not_supported ||
         error.code == std::errc::address_not_available;
}

}  // namespace

Expected<UdpSocket> UdpSocket::open(const UdpOptions& options) {
  if (options.ipv4_only) return open_family(options, AF_INET);
  auto dual = open_family(options, AF_INET6);
  const bool ipv4_would_do = options.local.address.is_zero() || options.local.is_ipv4();
  if (!dual && ipv4_would_do && means_no_ipv6(dual.error())) return open_family(options, AF_INET);
  return dual;
}

Expected<UdpSocket> UdpSocket::open_family(const UdpOptions& options, int family) {
  UniqueFd fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
  if (!fd) return fail_errno(errno, "socket for " + options.local.to_string());
  UdpSocket socket(std::move(fd), family);
  socket.local_ = options.local;
  if (auto ok = socket.configure(options); !ok) return tl::unexpected(ok.error());

  sockaddr_storage raw{};
  const socklen_t length = options.local.to_sockaddr(family, raw);
  if (length == 0) {
    return fail(std::errc::address_family_not_supported,
                fmt::format("bind {}: an IPv4 socket", options.local.to_string()));
  }
  if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&raw), length) != 0) {
    return fail_errno(errno, "bind " + options.local.to_string());
  }
  socklen_t bound_length = sizeof raw;
  if (getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&raw), &bound_length) != 0) {
    return fail_errno(errno, "getsockname " + options.local.to_string());
  }
  socket.local_ = SocketAddress::from_sockaddr(raw);
  return socket;
}

Expected<UdpSocket> UdpSocket::adopt(UniqueFd fd) {
  sockaddr_storage raw{};
  socklen_t length = sizeof raw;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&raw), &length) != 0) {
    return fail_errno(errno, "getsockname of a socket handed over");
  }
  int protocol = 0;
  socklen_t protocol_length = sizeof protocol;
  const bool is_ip = raw.ss_family == AF_INET || raw.ss_family == AF_INET6;
  if (!is_ip || getsockopt(fd.get(), SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_length) != 0 ||
      protocol != IPPROTO_UDP) {
    return fail(std::errc::invalid_argument, "the socket handed over is none of UDP");
  }
  UdpSocket socket(std::move(fd), raw.ss_family);
  socket.local_ = SocketAddress::from_sockaddr(raw);
  int gro = 0;
  socklen_t gro_length = sizeof gro;
  socket.gro_ = getsockopt(socket.fd(), SOL_UDP, UDP_GRO, &gro, &gro_length) == 0;
  return socket;
}

Expected<void> UdpSocket::set(int level, int name, int value, const char* text) const {
  if (setsockopt(fd(), level, name, &value, sizeof value) == 0) return {};
  return fail_errno(errno, fmt::format("setsockopt {} on {}", text, local_.to_string()));
}

// A dual-stack socket keeps separate settings for the IPv4 that it carries.
Expected<void> UdpSocket::set_both(int name4, int name6, int value, const char* text) const {
  if (auto ok = set(IPPROTO_IP, name4, value, text); !ok) return ok;
  if (!carries_ipv6()) return {};
  return set(IPPROTO_IPV6, name6, value, text);
}

Expected<void> UdpSocket::configure(const UdpOptions& options) {
  Expected<void> ok;
  // The mapped half of a dual-stack socket reports PKTINFO through the IPv6 option alone.
  if (carries_ipv6()) {
    ok = set(IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY");
    if (ok && options.tell_destination) {
      ok = set(IPPROTO_IPV6, IPV6_RECVPKTINFO, 1, "IPV6_RECVPKTINFO");
    }
  } else if (options.tell_destination) {
    ok = set(IPPROTO_IP, IP_PKTINFO, 1, "IP_PKTINFO");
  }
  if (ok && options.tell_hops) ok = set_both(IP_RECVTTL, IPV6_RECVHOPLIMIT, 1, "IP_RECVTTL");
  if (ok) ok = set_both(IP_RECVTOS, IPV6_RECVTCLASS, 1, "IP_RECVTOS");
  static_assert(int{IP_PMTUDISC_DO} == int{IPV6_PMTUDISC_DO});
  if (ok) ok = set_both(IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, IP_PMTUDISC_DO, "IP_MTU_DISCOVER");
  if (ok && options.tos != 0) ok = set_both(IP_TOS, IPV6_TCLASS, options.tos, "IP_TOS");
  if (ok && options.tell_overflows) ok = set(SOL_SOCKET, SO_RXQ_OVFL, 1, "SO_RXQ_OVFL");
  if (ok && options.only_joined_groups) {
    ok = set_both(IP_MULTICAST_ALL, IPV6_MULTICAST_ALL, 0, "IP_MULTICAST_ALL");
  }
  if (ok && options.tell_errors) ok = set_both(IP_RECVERR, IPV6_RECVERR, 1, "IP_RECVERR");
  if (ok && options.reuse_address) ok = set(SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  if (ok && options.reuse_port) ok = set(SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
  if (ok && options.accept_zero_checksum6 && carries_ipv6()) {
    ok = set(SOL_UDP, UDP_NO_CHECK6_RX, 1, "UDP_NO_CHECK6_RX");
  }
  if (ok && options.deaf) ok = stop_ears();
  if (!ok) return ok;
  tos_ = options.tos;
  gro_ = set(SOL_UDP, UDP_GRO, 1, "UDP_GRO").has_value();  // Linux 5.0; without it all are single
  if (!options.coalesce) set_coalescing(false);
  size_receive_buffer(fd(), options.receive_buffer);
  size_send_buffer(fd(), options.send_buffer);
  return {};
}

Expected<void> UdpSocket::stop_ears() const {
  if (drop_all(fd())) return {};
  return fail_errno(errno, "setsockopt SO_ATTACH_FILTER on " + local_.to_string());
}

std::size_t UdpSocket::granted_receive_buffer() const {
  return io::granted_receive_buffer(fd());
}
std::size_t UdpSocket::granted_send_buffer() const {
  return io::granted_send_buffer(fd());
}

bool UdpSocket::set_hop_limit(std::uint8_t hops) const {
  const int value = hops == 0 ? -1 : hops;
  return set_both(IP_TTL, IPV6_UNICAST_HOPS, value, "IP_TTL").has_value();
}

void UdpSocket::set_coalescing(bool on) const {
  // Where the kernel does not know the option there is nothing to turn on or off.
  const int value = on ? 1 : 0;
  setsockopt(fd(), SOL_UDP, UDP_GRO, &value, sizeof value);
}

bool UdpSocket::stop_coalescing() const {
  set_coalescing(false);
  int waiting = 0;
  if (ioctl(fd(), FIONREAD, &waiting) == 0 && waiting == 0) return true;
  set_coalescing(true);
  return false;
}

void UdpSocket::allow_fragments() const {
  static_assert(int{IP_PMTUDISC_DONT} == int{IPV6_PMTUDISC_DONT});
  // Where it is refused all stays as it was.
  static_cast<void>(
      set_both(IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, IP_PMTUDISC_DONT, "IP_MTU_DISCOVER"));
}

std::uint32_t UdpSocket::overflows() const {
  return dropped_by(fd());
}

IoResult UdpSocket::send(const SendDatagram& datagram) const {
  return send_with_options(*this, datagram, {});
}

IoResult UdpSocket::receive(MutableBytes buffer, ReceivedDatagram& out) const {
  MutableBytes none;
  return receive_with_options(*this, buffer, out, none);
}

IoResult send_with_options(const UdpSocket& socket, const SendDatagram& datagram, Bytes header) {
  sockaddr_storage name;
  const socklen_t name_length =
      datagram.destination.to_sockaddr(socket.carries_ipv6() ? AF_INET6 : AF_INET, name);
  const bool families_differ = !datagram.source.is_zero() &&
                               datagram.source.is_ipv4_mapped() != datagram.destination.is_ipv4();
  if (name_length == 0 || families_differ) {
    return {IoStatus::kFailed, 0, std::errc::address_family_not_supported};
  }
  const auto* const to = reinterpret_cast<const sockaddr*>(&name);
  const bool plain = datagram.data.size() == 1 && datagram.source.is_zero() &&
                     datagram.source_ifindex == 0 && !datagram.tos && !datagram.ttl &&
                     datagram.segment_size == 0 && header.empty();
  ControlBuffer control;
  msghdr message{};
  message.msg_name = &name;
  message.msg_namelen = name_length;
  message.msg_iov = const_cast<iovec*>(datagram.data.data());
  message.msg_iovlen = datagram.data.size();
  if (!plain) write_send_control(datagram, header, control, message);
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  std::errc earlier{};
  for (;;) {
    // A datagram without extras is a tenth cheaper by sendto: less for the kernel to copy in.
    const long sent = plain ? syscall(SYS_sendto, socket.fd(), datagram.data[0].iov_base,
                                      datagram.data[0].iov_len, kFlags, to, name_length)
                            : syscall(SYS_sendmsg, socket.fd(), &message, kFlags);
    if (sent >= 0) return {IoStatus::kDone, static_cast<std::size_t>(sent), earlier};
    const int error = errno;
    if (error == EINTR) continue;
    if (error == EAGAIN) return {IoStatus::kWouldBlock, 0, earlier};
    if (earlier == std::errc{} && may_be_of_earlier_datagram(error)) {
      earlier = static_cast<std::errc>(error);
      continue;
    }
    const bool refused =
        datagram.segment_size != 0 && (error == EIO || error == EINVAL || error == EOPNOTSUPP);
    return {refused ? IoStatus::kSegmentationRefused : IoStatus::kFailed, 0,
            static_cast<std::errc>(error)};
  }
}

IoResult receive_with_options(const UdpSocket& socket, MutableBytes buffer, ReceivedDatagram& out,
                              MutableBytes& header) {
  sockaddr_storage name;
  ControlBuffer control;
  iovec data{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_name = &name;
  message.msg_namelen = sizeof name;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  long received = 0;
  do {
    received = syscall(SYS_recvmsg, socket.fd(), &message, MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  if (received < 0) {
    if (errno == EAGAIN) return {IoStatus::kWouldBlock, 0, {}};
    return {IoStatus::kFailed, 0, static_cast<std::errc>(errno)};
  }
  out = ReceivedDatagram{};
  out.source = SocketAddress::from_sockaddr(name);
  out.truncated = (message.msg_flags & MSG_TRUNC) != 0;
  read_receive_control(message, out);
  if (!header.empty()) {
    const Bytes came = destination_options_in(message);
    header = header.first(std::min(came.size(), header.size()));
    std::copy_n(came.begin(), header.size(), header.begin());
  }
  return {IoStatus::kDone, static_cast<std::size_t>(received), {}};
}

Expected<void> UdpSocket::change_membership(bool join, const Gid& group,
                                            std::uint32_t ifindex) const {
  const auto what = [&] {
    return fmt::format("{} multicast group {} on interface {}", join ? "join" : "leave",
                       format_address(group), ifindex);
  };
  int result = 0;
  if (group.is_ipv4_mapped()) {
    ip_mreqn request{};
    request.imr_multiaddr.s_addr = htonl(group.ipv4());
    request.imr_ifindex = static_cast<int>(ifindex);
    const int name = join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP;
    result = setsockopt(fd(), IPPROTO_IP, name, &request, sizeof request);
  } else if (carries_ipv6()) {
    ipv6_mreq request{};
    std::copy(group.bytes().begin(), group.bytes().end(), request.ipv6mr_multiaddr.s6_addr);
    request.ipv6mr_interface = ifindex;
    const int name = join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP;
    result = setsockopt(fd(), IPPROTO_IPV6, name, &request, sizeof request);
  } else {
    return fail(std::errc::address_family_not_supported, what() + ": an IPv4 socket");
  }
  if (result != 0) return fail_errno(errno, what());
  return {};
}

Expected<void> UdpSocket::join(const Gid& group, std::uint32_t ifindex) const {
  return change_membership(true, group, ifindex);
}

Expected<void> UdpSocket::leave(const Gid& group, std::uint32_t ifindex) const {
  return change_membership(false, group, ifindex);
}

Expected<void> UdpSocket::set_multicast_interface(std::uint32_t ifindex) const {
  ip_mreqn request{};
  request.imr_ifindex = static_cast<int>(ifindex);
  if (setsockopt(fd(), IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request) != 0) {
    return fail_errno(errno, fmt::format("setsockopt IP_MULTICAST_IF {}", ifindex));
  }
  if (!carries_ipv6()) return {};
  return set(IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(ifindex), "IPV6_MULTICAST_IF");
}

Expected<void> UdpSocket::set_multicast_loop(bool on) const {
  return set_both(IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, on ? 1 : 0, "IP_MULTICAST_LOOP");
}

Expected<void> UdpSocket::set_multicast_hops(std::uint8_t hops) const {
  return set_both(IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, hops, "IP_MULTICAST_TTL");
}

}  // namespace weft::io
