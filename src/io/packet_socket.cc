// SPDX-License-Identifier: Apache-2.0
#include "io/packet_socket.h"

#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "io/socket_buffer.h"

namespace weft::io {
namespace {

constexpr std::size_t kWantedBuffer = std::size_t{64}
                                      << 20;  // what a WAN brings while nobody takes it

ifreq request_for(const char* name) {
  ifreq request{};
  std::strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
  return request;
}

Expected<void> bind_to(int fd, int index, const std::string& name) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = index;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return {};
  return fail_errno(errno, "bind a packet socket to " + name);
}

Expected<void> set_filter(int fd, std::span<const sock_filter> filter) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0) return {};
  return fail_errno(errno, "setsockopt SO_ATTACH_FILTER on a packet socket");
}

void join(int fd, int index, const EthernetDevice::Mac& group) {
  packet_mreq membership{};
  membership.mr_ifindex = index;
  membership.mr_type = PACKET_MR_MULTICAST;
  membership.mr_alen = static_cast<unsigned short>(group.size());
  std::copy(group.begin(), group.end(), membership.mr_address);
  static_cast<void>(
      setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership, sizeof membership));
}

}  // namespace

EthernetDevice::EthernetDevice(const Mac& mac) : mac_(mac), memory_(kBatch * kLongestFrame) {
}

std::size_t interface_mtu(const char* name) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = request_for(name);
  if (!socket || ioctl(socket.get(), SIOCGIFMTU, &request) != 0) return 0;
  return static_cast<std::size_t>(std::max(request.ifr_mtu, 0));
}

Expected<std::unique_ptr<PacketSocket>> PacketSocket::open(const std::string& interface,
                                                           std::span<const sock_filter> filter,
                                                           std::span<const Mac> groups) {
  if (interface.size() >= IFNAMSIZ) {
    return fail(std::errc::no_such_device, interface + ": there is no such interface");
  }
  UniqueFd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno(errno, "a packet socket");
  if (auto set = set_filter(fd.get(), filter); !set) return tl::unexpected(set.error());
  const int yes = 1;
  // Linux 4.20; without it the filter has more to do.
  static_cast<void>(setsockopt(fd.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes));
  size_buffers(fd.get(), kWantedBuffer);
  std::unique_ptr<PacketSocket> socket(new PacketSocket(std::move(fd), interface, groups));
  if (auto attached = socket->attach(); !attached) return tl::unexpected(attached.error());
  return socket;
}

// To the interface that has the name now.
Expected<void> PacketSocket::attach() {
  ifreq request = request_for(interface_.c_str());
  if (ioctl(fd_.get(), SIOCGIFINDEX, &request) != 0) {
    return fail(std::errc::no_such_device, interface_ + ": there is no such interface");
  }
  const int index = request.ifr_ifindex;
  if (ioctl(fd_.get(), SIOCGIFHWADDR, &request) != 0) return fail_errno(errno, interface_);
  if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
    return fail(std::errc::not_supported, interface_ + ": it is no Ethernet");
  }
  Mac mac;
  std::memcpy(mac.data(), request.ifr_hwaddr.sa_data, mac.size());
  for (const Mac& group : groups_)
    join(fd_.get(), index, group);
  if (auto bound = bind_to(fd_.get(), index, interface_); !bound) return bound;
  set_mac(mac);
  return {};
}

// One that was only down is bound as before. While it is down it may still be taken away, of which
// the kernel says nothing more.
bool PacketSocket::come_back() {
  ifreq request = request_for(interface_.c_str());
  if (ioctl(fd_.get(), SIOCGIFFLAGS, &request) != 0) return false;
  if ((request.ifr_flags & IFF_UP) == 0) return false;
  if (ioctl(fd_.get(), SIOCGIFINDEX, &request) != 0) return false;
  sockaddr_ll bound{};
  socklen_t length = sizeof bound;
  const bool known = getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound), &length) == 0;
  if (!known || bound.sll_ifindex != request.ifr_ifindex) {
    if (auto attached = attach(); !attached) return false;
  }
  away_ = false;
  return true;
}

std::span<const Bytes> PacketSocket::receive() {
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> parts;
  for (std::size_t i = 0; i < kBatch; ++i) {
    parts[i] = {room(i).data(), room(i).size()};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  received_.clear();
  int count = 0;
  do {
    count = recvmmsg(fd_.get(), messages.data(), kBatch, MSG_DONTWAIT, nullptr);
  } while (count < 0 && errno == EINTR);
  // Said once, of an interface that goes down or is taken away.
  if (count < 0 && errno == ENETDOWN) away_ = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::max(count, 0)); ++i) {
    const auto& message = messages[i];
    // One that was too long is received as nothing.
    const bool whole = (message.msg_hdr.msg_flags & MSG_TRUNC) == 0;
    received_.push_back(room(i).first(whole ? message.msg_len : 0));
  }
  return received_;
}

std::uint64_t PacketSocket::overflows() {
  tpacket_stats statistics{};
  socklen_t length = sizeof statistics;
  // The kernel begins to count anew whenever it is asked.
  if (getsockopt(fd_.get(), SOL_PACKET, PACKET_STATISTICS, &statistics, &length) == 0) {
    overflows_ += statistics.tp_drops;
  }
  return overflows_;
}

}  // namespace weft::io
