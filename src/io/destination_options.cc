// SPDX-License-Identifier: Apache-2.0
#include "io/destination_options.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "io/udp_control.h"

namespace weft::io {

Expected<void> use_destination_options(int fd) {
  const int on = 1;
  if (setsockopt(fd, IPPROTO_IPV6, IPV6_RECVDSTOPTS, &on, sizeof on) == 0 &&
      setsockopt(fd, IPPROTO_IPV6, IPV6_DSTOPTS, nullptr, 0) == 0) {
    return {};
  }
  return fail_errno(errno == ENOPROTOOPT ? EAFNOSUPPORT : errno, "setsockopt IPV6_DSTOPTS");
}

Bytes destination_options_in(msghdr& message) {
  Bytes out;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != IPPROTO_IPV6 || header->cmsg_type != IPV6_DSTOPTS) continue;
    out = {reinterpret_cast<const std::byte*>(CMSG_DATA(header)), header->cmsg_len - CMSG_LEN(0)};
  }
  return out;
}

}  // namespace weft::io
