// SPDX-License-Identifier: Apache-2.0
#include "io/pass_descriptor.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weft::io {
namespace {

// Room for one descriptor; more that a peer sends are closed by the kernel.
union Control {
  cmsghdr align;
  std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes;
};

}  // namespace

Expected<void> send_message(int socket, Bytes message, int descriptor) {
  // sendmsg only reads, but its iovec has no way to say so.
  iovec piece{const_cast<std::byte*>(message.data()), message.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  Control control{};
  if (descriptor >= 0) {
    header.msg_control = &control;
    header.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return fail_errno(errno == EAGAIN ? ENOBUFS : errno, "sendmsg");
  return {};
}

Expected<std::optional<ReceivedMessage>> receive_message(int socket, MutableBytes buffer) {
  iovec piece{buffer.data(), buffer.size()};
  Control control{};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = &control;
  header.msg_controllen = CMSG_LEN(sizeof(int));  // the padding would hold a second one
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  if (got < 0) return fail_errno(errno, "recvmsg");

  ReceivedMessage out;
  out.size = static_cast<std::size_t>(got);
  for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(each), sizeof descriptor);
    out.descriptor.reset(descriptor);
  }
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    return fail(std::errc::message_size, "a message was longer than its reader expects");
  }
  return std::optional(std::move(out));
}

}  // namespace weft::io
