// SPDX-License-Identifier: Apache-2.0
#include "io/raw_ip_socket.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "io/socket_buffer.h"
#include "io/udp_control.h"

namespace weft::io {
namespace {

// Of an IP packet, as its length fields have it, with an IPv4 header.
constexpr std::size_t kLongest = 0xFFFF;

bool set(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

bool keep_whole(int fd, bool ipv4) {
  if (ipv4) return set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
  return set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) &&
         set(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
}

// What the network has said of packets that were sent, which would take the room of what comes.
bool drop_errors(int fd) {
  constexpr int kTurn = 64;
  int dropped = 0;
  for (; dropped < kTurn; ++dropped) {
    msghdr message{};
    if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
  }
  return dropped != 0;
}

// An IPv4 packet comes with its header, which the kernel has checked.
void take_header_off(RawIpSocket::Received& packet) {
  const Bytes whole = std::exchange(packet.payload, {});
  if (whole.size() < sizeof(iphdr)) return;
  const std::size_t header = (std::to_integer<std::size_t>(whole[0]) & 15) * 4;
  if (header > whole.size()) return;
  packet.tos = std::to_integer<std::uint8_t>(whole[1]);
  packet.payload = whole.subspan(header);
}

// What stands in an IPv6 packet's header comes beside it.
std::uint8_t told_tos(msghdr& message) {
  ReceivedDatagram told;
  read_receive_control(message, told);
  return told.tos;
}

}  // namespace

Expected<RawIpSocket> RawIpSocket::open(const RawIpOptions& options) {
  const int family = options.ipv4 ? AF_INET : AF_INET6;
  UniqueFd fd(::socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, options.protocol));
  if (!fd) return fail_errno(errno, "a raw socket");
  if (!keep_whole(fd.get(), options.ipv4)) return fail_errno(errno, "setsockopt on a raw socket");
  // What a router says of packets that are too long for it, the kernel passes over where a raw
  // socket of IPv6 has not asked to be told.
  if (!options.deaf && !options.ipv4 &&
      !(set(fd.get(), IPPROTO_IPV6, IPV6_RECVERR, 1) &&
        set(fd.get(), IPPROTO_IPV6, IPV6_RECVTCLASS, 1))) {
    return fail_errno(errno, "setsockopt IPV6_RECVERR or IPV6_RECVTCLASS on a raw socket");
  }
  if (options.destination_options) {
    if (auto used = use_destination_options(fd.get()); !used) return tl::unexpected(used.error());
  }
  if (options.deaf && !drop_all(fd.get())) return fail_errno(errno, "setsockopt SO_ATTACH_FILTER");
  size_buffers(fd.get(), options.buffer);
  sockaddr_storage name{};
  const SocketAddress local{.address = options.local};
  const socklen_t length = local.to_sockaddr(family, name);
  if (length == 0 || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0) {
    return fail_errno(length == 0 ? EAFNOSUPPORT : errno, "bind " + local.to_string());
  }
  RawIpSocket socket(std::move(fd), options.ipv4);
  if (!options.deaf) {
    socket.memory_.resize(kBatch * kLongest);
    socket.controls_.resize(kBatch * ControlBuffer::kSize);
  }
  return socket;
}

BatchSent RawIpSocket::send(const SocketAddress& to, Datagrams payloads, std::uint8_t tos,
                            Bytes destination_options) {
  sockaddr_storage name{};
  SocketAddress without_port = to;
  without_port.port = 0;  // raw sockets of IPv6 take no other
  const socklen_t length = without_port.to_sockaddr(ipv4_ ? AF_INET : AF_INET6, name);
  if (length == 0) return {.count = 0, .error = std::errc::address_family_not_supported};
  ControlBuffer control;
  ControlWriter writer(control);
  if (tos != 0) {
    writer.put(ipv4_ ? IPPROTO_IP : IPPROTO_IPV6, ipv4_ ? IP_TOS : IPV6_TCLASS, int{tos});
  }
  if (!destination_options.empty()) {
    writer.put_bytes(IPPROTO_IPV6, IPV6_DSTOPTS, destination_options);
  }
  return sender_.send(fd(), payloads,
                      {.name = reinterpret_cast<const sockaddr*>(&name),
                       .name_length = length,
                       .control = std::span(control.bytes).first(writer.used())});
}

std::span<const RawIpSocket::Received> RawIpSocket::receive() {
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> parts;
  std::array<sockaddr_storage, kBatch> names;
  for (std::size_t i = 0; i < kBatch; ++i) {
    parts[i] = {memory_.data() + i * kLongest, kLongest};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
    messages[i].msg_hdr.msg_name = &names[i];
    messages[i].msg_hdr.msg_namelen = sizeof names[i];
    messages[i].msg_hdr.msg_control = controls_.data() + i * ControlBuffer::kSize;
    messages[i].msg_hdr.msg_controllen = ControlBuffer::kSize;
  }
  received_.clear();
  int count = 0;
  do {
    count = recvmmsg(fd(), messages.data(), kBatch, MSG_DONTWAIT, nullptr);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) trouble_ |= drop_errors(fd());
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(count, 0)); ++i) {
    Received& packet = received_.emplace_back(
        Received{.source = SocketAddress::from_sockaddr(names[i]),
                 .payload = Bytes(memory_.data() + i * kLongest, messages[i].msg_len),
                 .destination_options = destination_options_in(messages[i].msg_hdr)});
    if (ipv4_) {
      take_header_off(packet);
    } else {
      packet.tos = told_tos(messages[i].msg_hdr);
    }
  }
  return received_;
}

std::size_t RawIpSocket::granted_receive_buffer() const {
  return io::granted_receive_buffer(fd());
}

std::uint32_t RawIpSocket::overflows() const {
  return dropped_by(fd());
}

}  // namespace weft::io
