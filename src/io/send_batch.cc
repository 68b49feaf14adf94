// SPDX-License-Identifier: Apache-2.0
#include "io/send_batch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace weft::io {
namespace {

// Of the first ones, as many as are taken; less than 0: errno says why the first one is not.
int send_some(int fd, Datagrams datagrams, const BatchOptions& options) {
  std::size_t count = 0;
  for (const auto& datagram : datagrams)
    count += datagram.size();
  std::vector<iovec> parts;
  parts.reserve(count);
  std::array<mmsghdr, kBatch> messages{};
  for (std::size_t i = 0; i < datagrams.size(); ++i) {
    msghdr& message = messages[i].msg_hdr;
    message.msg_name = const_cast<sockaddr*>(options.name);
    message.msg_namelen = options.name_length;
    message.msg_control = const_cast<char*>(options.control.data());
    message.msg_controllen = options.control.size();
    message.msg_iov = parts.data() + parts.size();
    message.msg_iovlen = datagrams[i].size();
    for (const Bytes part : datagrams[i])
      parts.push_back({const_cast<std::byte*>(part.data()), part.size()});
  }
  return sendmmsg(fd, messages.data(), static_cast<unsigned>(datagrams.size()),
                  MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

BatchSent send_batch(int fd, Datagrams datagrams, const BatchOptions& options) {
  BatchSent sent;
  while (sent.count < datagrams.size()) {
    const Datagrams rest = datagrams.subspan(sent.count);
    const int taken = send_some(fd, rest.first(std::min(kBatch, rest.size())), options);
    if (taken < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) sent.error = static_cast<std::errc>(errno);
      return sent;
    }
    sent.count += static_cast<std::size_t>(taken);
  }
  return sent;
}

}  // namespace weft::io
