// SPDX-License-Identifier: Apache-2.0
#include "io/link_facts.h"

#include <linux/if_bonding.h>
#include <linux/if_link.h>

#include <string_view>
#include <utility>

#include "io/netlink.h"

namespace weft::io {
namespace {

// Of what it is a port or a member of, as `ip link` calls the type; empty: of nothing.
std::string_view master_kind(const NetlinkAttributes& info) {
  const auto kind = info.get(IFLA_INFO_SLAVE_KIND);
  if (!kind) return {};
  const std::string_view text(reinterpret_cast<const char*>(kind->data()), kind->size());
  return text.substr(0, text.find('\0'));
}

bool is_backup(const NetlinkAttributes& info) {
  const auto data = info.get(IFLA_INFO_SLAVE_DATA);
  if (!data || master_kind(info) != "bond") return false;
  const auto state = NetlinkAttributes(*data).get(IFLA_BOND_SLAVE_STATE);
  return state && state->size() == 1 && state->front() == std::byte{BOND_STATE_BACKUP};
}

}  // namespace

std::optional<LinkFacts> LinkFacts::parse(Bytes message) {
  nlmsghdr header{};
  if (message.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, message.data(), sizeof header);
  if (header.nlmsg_type != RTM_NEWLINK) return std::nullopt;
  const NetlinkAttributes link(NetlinkAttributes::after_header(message, sizeof(ifinfomsg)));
  const auto mtu = link.number(IFLA_MTU);
  const auto mac = link.get(IFLA_ADDRESS);
  LinkFacts out;
  if (!mtu || !mac || mac->size() != out.mac.size()) return std::nullopt;
  out.mtu = *mtu;
  std::memcpy(out.mac.data(), mac->data(), out.mac.size());
  const NetlinkAttributes info(link.get(IFLA_LINKINFO).value_or(Bytes{}));
  out.backup = is_backup(info);
  out.in_bridge = master_kind(info) == "bridge" || master_kind(info) == "openvswitch";
  return out;
}

Expected<LinkQuestions> LinkQuestions::open() {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!fd) return fail_errno(errno, "netlink socket");
  return LinkQuestions(std::move(fd));
}

// The kernel answers before send() returns.
std::optional<LinkFacts> LinkQuestions::ask(std::uint32_t ifindex) const {
  struct {
    nlmsghdr message;
    ifinfomsg link;
  } request{};
  request.message.nlmsg_len = NLMSG_LENGTH(sizeof request.link);
  request.message.nlmsg_type = RTM_GETLINK;
  request.message.nlmsg_flags = NLM_F_REQUEST;
  request.link.ifi_index = static_cast<int>(ifindex);
  if (send(fd_.get(), &request, request.message.nlmsg_len, 0) < 0) return std::nullopt;
  alignas(nlmsghdr) std::array<std::byte, std::size_t{16} * 1024> answer;
  ssize_t got = 0;
  do {
    got = recv(fd_.get(), answer.data(), answer.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return std::nullopt;
  return LinkFacts::parse(Bytes(answer).first(static_cast<std::size_t>(got)));
}

}  // namespace weft::io
