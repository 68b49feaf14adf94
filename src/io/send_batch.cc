// SPDX-License-Identifier: Apache-2.0
#include "io/send_batch.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace weft::io {
namespace {

// What is gathered for one call, beyond the first datagram: is still in the cache when the kernel
// takes it.
constexpr std::size_t kGathered = std::size_t{256} << 10;

std::size_t size_of(std::span<const Bytes> datagram) {
  std::size_t size = 0;
  for (const Bytes part : datagram)
    size += part.size();
  return size;
}

}  // namespace

// Of the first ones, as many as are taken; less than 0: errno says why the first one is not. The
// kernel copies one stretch in half the time that it takes for pieces which begin anywhere: that is
// far more than it costs to put them together.
int BatchSender::send_some(int fd, Datagrams datagrams, const BatchOptions& options) {
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> wholes;
  std::size_t count = 0;
  std::size_t used = 0;
  for (; count < std::min(kBatch, datagrams.size()); ++count) {
    const std::span<const Bytes> parts = datagrams[count];
    Bytes whole = parts.size() == 1 ? parts.front() : Bytes();
    if (parts.size() > 1) {
      const std::size_t size = size_of(parts);
      if (used + size > room_.size()) {
        if (count > 0) break;
        room_.resize(std::max(size, kGathered));
      }
      const MutableBytes gathered = MutableBytes(room_).subspan(used, size);
      std::byte* at = gathered.data();
      for (const Bytes part : parts)
        at = std::copy(part.begin(), part.end(), at);
      whole = gathered;
      used += size;
    }
    // sendmmsg only reads, but its iovec has no way to say so.
    wholes[count] = {const_cast<std::byte*>(whole.data()), whole.size()};
    msghdr& message = messages[count].msg_hdr;
    message.msg_name = const_cast<sockaddr*>(options.name);
    message.msg_namelen = options.name_length;
    message.msg_control = const_cast<char*>(options.control.data());
    message.msg_controllen = options.control.size();
    message.msg_iov = &wholes[count];
    message.msg_iovlen = 1;
  }
  return sendmmsg(fd, messages.data(), static_cast<unsigned>(count), MSG_DONTWAIT | MSG_NOSIGNAL);
}

BatchSent BatchSender::send(int fd, Datagrams datagrams, const BatchOptions& options) {
  BatchSent sent;
  while (sent.count < datagrams.size()) {
    const int taken = send_some(fd, datagrams.subspan(sent.count), options);
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
