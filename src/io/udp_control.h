// SPDX-License-Identifier: Apache-2.0
// Ancillary data: what goes beside a datagram in sendmsg, and recvmsg of UdpSocket. Internal to io.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "io/destination_options.h"
#include "io/udp_socket.h"

namespace weft::io {

struct ControlBuffer {
  // The most that either direction carries: packet info, TTL, TOS, segment size, overflow count,
  // destination options.
  static constexpr std::size_t kSize = CMSG_SPACE(sizeof(in6_pktinfo)) +
                                       4 * CMSG_SPACE(sizeof(int)) +
                                       CMSG_SPACE(kMostDestinationOptions);
  static_assert(kSize % alignof(cmsghdr) == 0);
  alignas(cmsghdr) std::array<char, kSize> bytes;
};

// Puts ancillary data together, one behind the other.
class ControlWriter {
 public:
  explicit ControlWriter(ControlBuffer& buffer) : buffer_(buffer) {}

  template <class T>
  void put(int level, int type, const T& value) {
    put_bytes(level, type, std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(int level, int type, Bytes value) {
    cmsghdr header{};
    header.cmsg_level = level;
    header.cmsg_type = type;
    header.cmsg_len = CMSG_LEN(value.size());
    char* const at = buffer_.bytes.data() + used_;
    std::memcpy(at, &header, sizeof header);
    std::memcpy(at + CMSG_LEN(0), value.data(), value.size());
    used_ += CMSG_SPACE(value.size());
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  ControlBuffer& buffer_;
  std::size_t used_ = 0;
};

// Points `message` at what `datagram` asks for beside its data, and a header of options; at nothing
// when that is nothing.
void write_send_control(const SendDatagram& datagram, Bytes options, ControlBuffer& control,
                        msghdr& message);

void read_receive_control(msghdr& message, ReceivedDatagram& out);

// The header of destination options that the message was told of: of two, the one next to what they
// belong to. Empty: none.
[[nodiscard]] Bytes destination_options_in(msghdr& message);

}  // namespace weft::io
