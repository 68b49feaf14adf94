// SPDX-License-Identifier: Apache-2.0
// Messages of the kernel's rtnetlink(7): what is in them, and questions that have many answers.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::io {

[[nodiscard]] inline Bytes netlink_bytes(const nlmsghdr& message) {
  return {reinterpret_cast<const std::byte*>(&message), message.nlmsg_len};
}

// The attributes (rtnetlink(3)) of a message, or of whatever else has some: those that are whole.
class NetlinkAttributes {
 public:
  explicit NetlinkAttributes(Bytes attributes) : attributes_(attributes) {}
  // Of a message that has `header` bytes before them.
  NetlinkAttributes(const nlmsghdr& message, std::size_t header)
      : attributes_(after_header(netlink_bytes(message), header)) {}

  // What follows the two headers of a message; nothing where it is too short.
  [[nodiscard]] static Bytes after_header(Bytes message, std::size_t header) {
    const std::size_t before = NLMSG_HDRLEN + NLMSG_ALIGN(header);
    return message.subspan(std::min(message.size(), before));
  }

  // The first of a type.
  [[nodiscard]] std::optional<Bytes> get(unsigned short type) const {
    Bytes left = attributes_;
    while (left.size() >= sizeof(rtattr)) {
      rtattr attribute{};
      std::memcpy(&attribute, left.data(), sizeof attribute);
      if (attribute.rta_len < sizeof(rtattr) || attribute.rta_len > left.size()) break;
      if (attribute.rta_type == type) {
        return left.subspan(RTA_LENGTH(0), attribute.rta_len - RTA_LENGTH(0));
      }
      left = left.subspan(std::min<std::size_t>(left.size(), RTA_ALIGN(attribute.rta_len)));
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
  Bytes attributes_;
};

// What follows the first header of a message; zeros where it is too short.
template <class Header>
[[nodiscard]] Header netlink_header(Bytes message) {
  Header header{};
  if (message.size() >= NLMSG_HDRLEN + sizeof header) {
    std::memcpy(&header, message.data() + NLMSG_HDRLEN, sizeof header);
  }
  return header;
}

// Asks the kernel for all of `type` (RTM_GETLINK, …) and hands each answer to `each`.
template <class Header, class Each>
Expected<void> netlink_dump(std::uint16_t type, unsigned char family, Each each) {
  constexpr std::size_t kReplyBuffer = std::size_t{64} * 1024;
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

}  // namespace weft::io
