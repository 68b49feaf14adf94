// SPDX-License-Identifier: Apache-2.0
#include "io/kernel_routes.h"

#include <array>

#include "io/netlink.h"

namespace weft::io {
namespace {

std::optional<Gid> read_address(Bytes bytes) {
  std::array<std::uint8_t, 16> raw{};
  if (bytes.size() > raw.size()) return std::nullopt;
  if (!bytes.empty()) std::memcpy(raw.data(), bytes.data(), bytes.size());
  return Gid{raw};
}

// Of several ways, the first.
std::optional<Bytes> first_gateway(Bytes ways) {
  rtnexthop way{};
  if (ways.size() < sizeof way) return std::nullopt;
  std::memcpy(&way, ways.data(), sizeof way);
  if (way.rtnh_len < sizeof way || way.rtnh_len > ways.size()) return std::nullopt;
  return NetlinkAttributes(ways.subspan(sizeof way, way.rtnh_len - sizeof way)).get(RTA_GATEWAY);
}

std::uint32_t table_of(const rtmsg& route, const NetlinkAttributes& attributes) {
  return attributes.number(RTA_TABLE).value_or(route.rtm_table);
}

}  // namespace

std::optional<KernelRoute> parse_kernel_route(Bytes message, std::uint32_t table) {
  nlmsghdr header{};
  if (message.size() < NLMSG_HDRLEN + sizeof(rtmsg)) return std::nullopt;
  std::memcpy(&header, message.data(), sizeof header);
  const auto route = netlink_header<rtmsg>(message);
  const NetlinkAttributes attributes(NetlinkAttributes::after_header(message, sizeof route));
  if (header.nlmsg_type != RTM_NEWROUTE || route.rtm_family != AF_INET6 ||
      route.rtm_type != RTN_UNICAST || route.rtm_src_len != 0 ||
      route.rtm_dst_len > GidPrefix::kMostBits || (route.rtm_flags & RTNH_F_DEAD) != 0 ||
      (route.rtm_flags & RTM_F_CLONED) != 0 || table_of(route, attributes) != table) {
    return std::nullopt;
  }
  auto gateway = attributes.get(RTA_GATEWAY);
  if (const auto ways = attributes.get(RTA_MULTIPATH); !gateway && ways) {
    gateway = first_gateway(*ways);
  }
  const auto address = gateway && gateway->size() == 16 ? read_address(*gateway) : std::nullopt;
  // A default route has no destination.
  const auto destination = read_address(attributes.get(RTA_DST).value_or(Bytes()));
  if (!address || !destination) return std::nullopt;
  return KernelRoute{.prefix = GidPrefix(*destination, route.rtm_dst_len),
                     .gateway = *address,
                     .metric = attributes.number(RTA_PRIORITY).value_or(0)};
}

Expected<KernelRoutes> list_kernel_routes(std::uint32_t table, std::size_t most) {
  KernelRoutes out;
  const auto dumped = netlink_dump<rtmsg>(RTM_GETROUTE, AF_INET6, [&](const nlmsghdr& message) {
    const auto route = parse_kernel_route(netlink_bytes(message), table);
    if (!route) return;
    if (out.routes.size() < most) {
      out.routes.push_back(*route);
    } else {
      ++out.left_out;
    }
  });
  if (!dumped) return tl::unexpected(dumped.error());
  return out;
}

Expected<RouteMonitor> RouteMonitor::open() {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!fd) return fail_errno(errno, "netlink socket");
  sockaddr_nl name{};
  name.nl_family = AF_NETLINK;
  name.nl_groups = RTMGRP_IPV6_ROUTE;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    return fail_errno(errno, "bind of a netlink socket");
  }
  return RouteMonitor(std::move(fd));
}

// News that was lost (ENOBUFS) is news too, and all is read anew after any.
void RouteMonitor::drain() const {
  std::array<char, 8192> buffer;
  for (;;) {
    const ssize_t got = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno != EINTR && errno != ENOBUFS) return;
    if (got == 0) return;
  }
}

}  // namespace weft::io
