// SPDX-License-Identifier: Apache-2.0
#include "io/pass_descriptor.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace weft::io {
namespace {

union Control {
  cmsghdr align;
  std::array<std::byte, CMSG_SPACE(kMostDescriptors * sizeof(int))> bytes;
};

// Descriptors in the order in which they came, as many as there is room for.
std::size_t take_descriptors(msghdr& header, std::span<UniqueFd> out) {
  std::size_t count = 0;
  for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t here = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < here; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(each) + i * sizeof descriptor, sizeof descriptor);
      UniqueFd owned(descriptor);
      if (count < out.size()) out[count++] = std::move(owned);
    }
  }
  return count;
}

}  // namespace

Expected<void> send_message(int socket, Bytes message, int descriptor) {
  return send_message(socket, message, std::span(&descriptor, descriptor >= 0 ? 1u : 0u));
}

Expected<void> send_message(int socket, Bytes message, std::span<const int> descriptors) {
  assert(descriptors.size() <= kMostDescriptors);
  // sendmsg only reads, but its iovec has no way to say so.
  iovec piece{const_cast<std::byte*>(message.data()), message.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  Control control{};
  if (!descriptors.empty()) {
    header.msg_control = &control;
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return fail_errno(errno == EAGAIN ? ENOBUFS : errno, "sendmsg");
  return {};
}

Expected<std::optional<ReceivedMessage>> receive_message(int socket, MutableBytes buffer) {
  UniqueFd descriptor;
  auto message = receive_message(socket, buffer, {&descriptor, 1});
  if (message && *message) (*message)->descriptor = std::move(descriptor);
  return message;
}

Expected<std::optional<ReceivedMessage>> receive_message(int socket, MutableBytes buffer,
                                                         std::span<UniqueFd> descriptors) {
  assert(!descriptors.empty() && descriptors.size() <= kMostDescriptors);
  iovec piece{buffer.data(), buffer.size()};
  Control control{};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = &control;
  // Without the padding, which may hold one more; what there is no room for, the kernel closes.
  header.msg_controllen = CMSG_LEN(descriptors.size_bytes());
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  if (got < 0) return fail_errno(errno, "recvmsg");

  const std::size_t count = take_descriptors(header, descriptors);
  for (UniqueFd& rest : descriptors.subspan(count))
    rest.reset();
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    return fail(std::errc::message_size, "a message was longer than its reader expects");
  }
  ReceivedMessage out;
  out.size = static_cast<std::size_t>(got);
  return std::optional(std::move(out));
}

}  // namespace weft::io
