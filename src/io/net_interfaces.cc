// SPDX-License-Identifier: Apache-2.0
#include "io/net_interfaces.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstring>
#include <fstream>
#include <map>

#include "io/netlink.h"

namespace weft::io {
namespace {

std::optional<std::uint64_t> speed_of(const std::string& name) {
  std::ifstream file("/sys/class/net/" + name + "/speed");
  std::int64_t speed = 0;
  if (file >> speed && speed > 0) return static_cast<std::uint64_t>(speed);
  return std::nullopt;
}

void add_link(std::map<std::uint32_t, NetInterface>& interfaces, const nlmsghdr& message) {
  const auto link = netlink_header<ifinfomsg>(netlink_bytes(message));
  const NetlinkAttributes attributes(message, sizeof link);
  NetInterface each;
  each.index = static_cast<std::uint32_t>(link.ifi_index);
  if (const auto name = attributes.get(IFLA_IFNAME)) {
    const auto* const text = reinterpret_cast<const char*>(name->data());
    each.name.assign(text, strnlen(text, name->size()));
  }
  each.mtu = attributes.number(IFLA_MTU).value_or(0);
  each.up = (link.ifi_flags & IFF_UP) != 0;
  each.running = (link.ifi_flags & IFF_RUNNING) != 0;
  each.loopback = (link.ifi_flags & IFF_LOOPBACK) != 0;
  each.multicast = (link.ifi_flags & IFF_MULTICAST) != 0;
  const auto mac = attributes.get(IFLA_ADDRESS);
  if (link.ifi_type == ARPHRD_ETHER && mac && mac->size() == 6) {
    each.mac.emplace();
    std::memcpy(each.mac->data(), mac->data(), mac->size());
  }
  each.speed_mbps = speed_of(each.name);
  interfaces.emplace(each.index, std::move(each));
}

void add_address(std::map<std::uint32_t, NetInterface>& interfaces, const nlmsghdr& message) {
  const auto header = netlink_header<ifaddrmsg>(netlink_bytes(message));
  const auto found = interfaces.find(header.ifa_index);
  if (found == interfaces.end()) return;
  const NetlinkAttributes attributes(message, sizeof header);
  // On point-to-point links IFA_ADDRESS is the peer's; IFA_LOCAL is ours where it is given.
  auto bytes = attributes.get(IFA_LOCAL);
  if (!bytes) bytes = attributes.get(IFA_ADDRESS);
  if (!bytes) return;
  InterfaceAddress address;
  if (header.ifa_family == AF_INET && bytes->size() == 4) {
    std::uint32_t raw = 0;
    std::memcpy(&raw, bytes->data(), sizeof raw);
    address.address = Gid::from_ipv4(ntohl(raw));
  } else if (header.ifa_family == AF_INET6 && bytes->size() == 16) {
    std::array<std::uint8_t, 16> raw{};
    std::memcpy(raw.data(), bytes->data(), raw.size());
    address.address = Gid{raw};
  } else {
    return;
  }
  const std::uint32_t flags = attributes.number(IFA_FLAGS).value_or(header.ifa_flags);
  address.prefix_bits = header.ifa_prefixlen;
  address.tentative = (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) != 0;
  address.temporary = (flags & IFA_F_TEMPORARY) != 0 && header.ifa_family == AF_INET6;
  found->second.addresses.push_back(address);
}

// The interface of the default route with the lowest metric; 0: there is none.
std::uint32_t default_interface(unsigned char family) {
  std::uint32_t best = 0;
  std::uint32_t best_metric = ~std::uint32_t{0};
  const auto dumped = netlink_dump<rtmsg>(RTM_GETROUTE, family, [&](const nlmsghdr& message) {
    const auto route = netlink_header<rtmsg>(netlink_bytes(message));
    if (message.nlmsg_type != RTM_NEWROUTE || route.rtm_dst_len != 0 ||
        route.rtm_type != RTN_UNICAST || route.rtm_table != RT_TABLE_MAIN) {
      return;
    }
    const NetlinkAttributes attributes(message, sizeof route);
    const auto out = attributes.number(RTA_OIF);
    const std::uint32_t metric = attributes.number(RTA_PRIORITY).value_or(0);
    if (out && metric < best_metric) {
      best = *out;
      best_metric = metric;
    }
  });
  return dumped ? best : 0;
}

}  // namespace

Expected<std::vector<NetInterface>> list_interfaces() {
  std::map<std::uint32_t, NetInterface> interfaces;
  auto links = netlink_dump<ifinfomsg>(RTM_GETLINK, AF_UNSPEC, [&](const nlmsghdr& message) {
    if (message.nlmsg_type == RTM_NEWLINK) add_link(interfaces, message);
  });
  if (!links) return tl::unexpected(links.error());
  auto addresses = netlink_dump<ifaddrmsg>(RTM_GETADDR, AF_UNSPEC, [&](const nlmsghdr& message) {
    if (message.nlmsg_type == RTM_NEWADDR) add_address(interfaces, message);
  });
  if (!addresses) return tl::unexpected(addresses.error());
  std::uint32_t preferred = default_interface(AF_INET);
  if (preferred == 0) preferred = default_interface(AF_INET6);
  std::vector<NetInterface> out;
  for (auto& [index, each] : interfaces) {
    each.default_route = index == preferred;
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace weft::io
