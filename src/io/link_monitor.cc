// SPDX-License-Identifier: Apache-2.0
#include "io/link_monitor.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weft::io {
namespace {

// The interface that a message is about; 0: none that it names.
std::uint32_t subject(const nlmsghdr& message) {
  const auto* body = reinterpret_cast<const std::byte*>(&message) + NLMSG_HDRLEN;
  const std::size_t size = message.nlmsg_len - NLMSG_HDRLEN;
  if (message.nlmsg_type == RTM_NEWLINK || message.nlmsg_type == RTM_DELLINK) {
    ifinfomsg link{};
    if (size < sizeof link) return 0;
    std::memcpy(&link, body, sizeof link);
    return static_cast<std::uint32_t>(link.ifi_index);
  }
  if (message.nlmsg_type == RTM_NEWADDR || message.nlmsg_type == RTM_DELADDR) {
    ifaddrmsg address{};
    if (size < sizeof address) return 0;
    std::memcpy(&address, body, sizeof address);
    return address.ifa_index;
  }
  return 0;
}

}  // namespace

Expected<LinkMonitor> LinkMonitor::open() {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!fd) return fail_errno(errno, "netlink socket");
  sockaddr_nl name{};
  name.nl_family = AF_NETLINK;
  name.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    return fail_errno(errno, "bind of a netlink socket");
  }
  return LinkMonitor(std::move(fd));
}

bool LinkMonitor::drain(std::uint32_t ifindex) const {
  alignas(nlmsghdr) std::array<char, 8192> buffer;
  bool about_it = false;
  for (;;) {
    const ssize_t got = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == ENOBUFS) {  // some news was lost
      about_it = true;
      continue;
    }
    if (got <= 0) return about_it;
    auto left = static_cast<std::size_t>(got);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data());
         NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
      about_it = about_it || subject(*message) == ifindex;
    }
  }
}

}  // namespace weft::io
