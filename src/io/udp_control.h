// SPDX-License-Identifier: Apache-2.0
// Ancillary data: what goes beside a datagram in sendmsg, and recvmsg of UdpSocket. Internal to io.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "io/udp_socket.h"

namespace weft::io {

struct ControlBuffer {
  // The most that either direction carries: packet info, TTL, TOS, segment size, overflow count.
  static constexpr std::size_t kSize =
      CMSG_SPACE(sizeof(in6_pktinfo)) + 4 * CMSG_SPACE(sizeof(int));
  alignas(cmsghdr) std::array<char, kSize> bytes;
};

// Puts ancillary data together, one behind the other.
class ControlWriter {
 public:
  explicit ControlWriter(ControlBuffer& buffer) : buffer_(buffer) {}

  template <class T>
  void put(int level, int type, const T& value) {
    cmsghdr header{};
    header.cmsg_level = level;
    header.cmsg_type = type;
    header.cmsg_len = CMSG_LEN(sizeof value);
    char* const at = buffer_.bytes.data() + used_;
    std::memcpy(at, &header, sizeof header);
    std::memcpy(at + CMSG_LEN(0), &value, sizeof value);
    used_ += CMSG_SPACE(sizeof value);
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  ControlBuffer& buffer_;
  std::size_t used_ = 0;
};

// Points `message` at what `datagram` asks for beside its data; at nothing when that is nothing.
void write_send_control(const SendDatagram& datagram, ControlBuffer& control, msghdr& message);

void read_receive_control(msghdr& message, ReceivedDatagram& out);

}  // namespace weft::io
