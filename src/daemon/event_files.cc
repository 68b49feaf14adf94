// SPDX-License-Identifier: Apache-2.0
#include "daemon/event_files.h"

#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace weft::daemon {

Expected<EventFiles::File> EventFiles::make() const {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail_errno(errno, "socketpair");
  }
  return File{.ours = io::UniqueFd(ends[0]), .theirs = io::UniqueFd(ends[1]), .waiting = 0};
}

int EventFiles::add(rdmacm::ChannelId channel, File file) {
  return (files_[channel] = std::move(file)).theirs.get();
}

void EventFiles::raised(rdmacm::ChannelId channel) {
  const auto found = files_.find(channel);
  if (found == files_.end()) return;
  ++found->second.waiting;
  // One for each, so that who waits for edges (EPOLLET) hears of each, as he would of a kernel.
  // Whether it blocks is said with each call, since a program can change what it has opened. It
  // fails where a program has let hundreds wait, or has shut its own end.
  constexpr char kSome = 1;
  static_cast<void>(
      ::send(found->second.ours.get(), &kSome, sizeof kSome, MSG_DONTWAIT | MSG_NOSIGNAL));
}

void EventFiles::withdrawn(rdmacm::ChannelId channel, std::size_t count) {
  const auto found = files_.find(channel);
  if (found == files_.end() || found->second.waiting == 0) return;
  File& file = found->second;
  file.waiting -= std::min(file.waiting, count);
  if (file.waiting > 0) return;
  std::array<char, 1024> some;
  while (::recv(file.theirs.get(), some.data(), some.size(), MSG_DONTWAIT) > 0) {
  }
}

void EventFiles::answered(rdmacm::ChannelId channel, Bytes command, const rdmacm::Reply& reply) {
  const auto header = rdmacm::abi::read<rdma_ucm_cmd_hdr>(command);
  const bool took =
      reply.error == std::errc{} && header && header->cmd == RDMA_USER_CM_CMD_GET_EVENT;
  if (took) withdrawn(channel, 1);
}

}  // namespace weft::daemon
