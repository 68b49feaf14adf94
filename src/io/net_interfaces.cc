// SPDX-License-Identifier: Apache-2.0
#include "io/net_interfaces.h"

#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

#include "io/unique_fd.h"

namespace weft::io {
namespace {

constexpr std::size_t kReplyBuffer = 64 * 1024;

// Attribute `type` of a netlink message that has `header` bytes before its attributes.
class Attributes {
 public:
  Attributes(const nlmsghdr& message, std::size_t header)
      : first_(reinterpret_cast<const std::byte*>(&message) + NLMSG_HDRLEN + NLMSG_ALIGN(header)),
        bytes_(message.nlmsg_len -
               std::min<std::size_t>(message.nlmsg_len, NLMSG_HDRLEN + NLMSG_ALIGN(header))) {}

  [[nodiscard]] std::optional<std::vector<std::uint8_t>> get(unsigned short type) const {
    std::size_t at = 0;
    while (at + sizeof(rtattr) <= bytes_) {
      rtattr attribute{};
      std::memcpy(&attribute, first_ + at, sizeof attribute);
      if (attribute.rta_len < sizeof(rtattr) || at + attribute.rta_len > bytes_) break;
      if (attribute.rta_type == type) {
        const auto* data = reinterpret_cast<const std::uint8_t*>(first_ + at + RTA_LENGTH(0));
        return std::vector<std::uint8_t>(data, data + attribute.rta_len - RTA_LENGTH(0));
      }
      at += RTA_ALIGN(attribute.rta_len);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint32_t> number(unsigned short type) const {
    const auto bytes = get(type);
    if (!bytes || bytes->size() != sizeof(std::uint32_t)) return std::nullopt;
    std::uint32_t value = 0;
    std::memcpy(&value, bytes->data(), sizeof value);
    return value;
  }

 private:
  const std::byte* first_;
  std::size_t bytes_;
};

template <class Header>
Header header_of(const nlmsghdr& message) {
  Header header{};
  std::memcpy(&header, reinterpret_cast<const std::byte*>(&message) + NLMSG_HDRLEN, sizeof header);
  return header;
}

// Asks the kernel for all of `type` (RTM_GETLINK, …) and hands each answer to `each`.
template <class Header, class Each>
Expected<void> dump(std::uint16_t type, unsigned char family, Each each) {
  const UniqueFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!netlink) return fail_errno(errno, "netlink socket");
  struct {
    nlmsghdr message;
    Header header;
  } request{};
  request.message.nlmsg_len = NLMSG_LENGTH(sizeof(Header));
  request.message.nlmsg_type = type;
  request.message.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  std::memcpy(&request.header, &family, sizeof family);  // the first byte of each of these headers
  if (send(netlink.get(), &request, request.message.nlmsg_len, 0) < 0) {
    return fail_errno(errno, "netlink request");
  }
  std::vector<char> buffer(kReplyBuffer);
  for (;;) {
    const ssize_t got = recv(netlink.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail_errno(errno, "netlink answer");
    auto left = static_cast<std::size_t>(got);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data());
         NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE) return {};
      if (message->nlmsg_type == NLMSG_ERROR) {
        return fail(std::errc::io_error, "netlink refused a request");
      }
      each(*message);
    }
  }
}

std::optional<std::uint64_t> speed_of(const std::string& name) {
  std::ifstream file("/sys/class/net/" + name + "/speed");
  std::int64_t speed = 0;
  if (file >> speed && speed > 0) return static_cast<std::uint64_t>(speed);
  return std::nullopt;
}

void add_link(std::map<std::uint32_t, NetInterface>& interfaces, const nlmsghdr& message) {
  const auto link = header_of<ifinfomsg>(message);
  const Attributes attributes(message, sizeof link);
  NetInterface each;
  each.index = static_cast<std::uint32_t>(link.ifi_index);
  if (const auto name = attributes.get(IFLA_IFNAME)) {
    each.name.assign(name->begin(), std::find(name->begin(), name->end(), 0));
  }
  each.mtu = attributes.number(IFLA_MTU).value_or(0);
  each.up = (link.ifi_flags & IFF_UP) != 0;
  each.running = (link.ifi_flags & IFF_RUNNING) != 0;
  each.loopback = (link.ifi_flags & IFF_LOOPBACK) != 0;
  each.multicast = (link.ifi_flags & IFF_MULTICAST) != 0;
  const auto mac = attributes.get(IFLA_ADDRESS);
  if (link.ifi_type == ARPHRD_ETHER && mac && mac->size() == 6) {
    each.mac.emplace();
    std::copy(mac->begin(), mac->end(), each.mac->begin());
  }
  each.speed_mbps = speed_of(each.name);
  interfaces.emplace(each.index, std::move(each));
}

void add_address(std::map<std::uint32_t, NetInterface>& interfaces, const nlmsghdr& message) {
  const auto header = header_of<ifaddrmsg>(message);
  const auto found = interfaces.find(header.ifa_index);
  if (found == interfaces.end()) return;
  const Attributes attributes(message, sizeof header);
  // On point-to-point links IFA_ADDRESS is the peer's; IFA_LOCAL is ours where it is given.
  auto bytes = attributes.get(IFA_LOCAL);
  if (!bytes) bytes = attributes.get(IFA_ADDRESS);
  if (!bytes) return;
  InterfaceAddress address;
  if (header.ifa_family == AF_INET && bytes->size() == 4) {
    address.address =
        Gid::from_ipv4(std::uint32_t{(*bytes)[0]} << 24 | std::uint32_t{(*bytes)[1]} << 16 |
                       std::uint32_t{(*bytes)[2]} << 8 | (*bytes)[3]);
  } else if (header.ifa_family == AF_INET6 && bytes->size() == 16) {
    std::array<std::uint8_t, 16> raw{};
    std::copy(bytes->begin(), bytes->end(), raw.begin());
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
  const auto dumped = dump<rtmsg>(RTM_GETROUTE, family, [&](const nlmsghdr& message) {
    const auto route = header_of<rtmsg>(message);
    if (message.nlmsg_type != RTM_NEWROUTE || route.rtm_dst_len != 0 ||
        route.rtm_type != RTN_UNICAST || route.rtm_table != RT_TABLE_MAIN) {
      return;
    }
    const Attributes attributes(message, sizeof route);
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
  auto links = dump<ifinfomsg>(RTM_GETLINK, AF_UNSPEC, [&](const nlmsghdr& message) {
    if (message.nlmsg_type == RTM_NEWLINK) add_link(interfaces, message);
  });
  if (!links) return tl::unexpected(links.error());
  auto addresses = dump<ifaddrmsg>(RTM_GETADDR, AF_UNSPEC, [&](const nlmsghdr& message) {
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
