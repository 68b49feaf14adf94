// SPDX-License-Identifier: Apache-2.0
// A raw socket (raw(7)): payloads of IP packets, whose headers the kernel makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/send_batch.h"
#include "io/socket_address.h"
#include "io/unique_fd.h"

namespace weft::io {

struct RawIpOptions {
  Gid local;               // zero: any address of this machine
  bool ipv4 = false;       // or IPv6
  std::uint8_t protocol;   // of IPv4, or the next header of IPv6
  bool deaf = false;       // takes nothing, but keeps the kernel from refusing such packets
  std::size_t buffer = 0;  // wanted of each direction, bytes; 0: as the system has it
  // Of IPv6: receive() tells headers of destination options.
  bool destination_options = false;
};

class RawIpSocket {
 public:
  struct Received {
    SocketAddress source;  // port 0
    Bytes payload;
    std::uint8_t tos = 0;       // IPv4 TOS or IPv6 traffic class
    Bytes destination_options;  // their header, or what of it was told; empty: there is none
  };

  // Nothing that it sends is fragmented. Errors: operation_not_permitted: CAP_NET_RAW is missing.
  static Expected<RawIpSocket> open(const RawIpOptions& options);

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Never blocks. `tos`: IPv4 TOS or IPv6 traffic class. An error is message_size where a payload
  // is too long for the path. With a header of destination options, at most
  // kMostDestinationOptions, each of them has that; only of IPv6. The kernel writes its first byte.
  BatchSent send(const SocketAddress& to, Datagrams payloads, std::uint8_t tos = 0,
                 Bytes destination_options = {});
  // What has come, some at a time; nothing: that is all. Good until the next call.
  std::span<const Received> receive();
  // Whether the network has complained, before the last receive() that brought nothing, of what was
  // sent. Once: what the kernel has learnt of it, its routes tell.
  [[nodiscard]] bool take_trouble() { return std::exchange(trouble_, false); }
  // As of a UdpSocket.
  [[nodiscard]] std::size_t granted_receive_buffer() const;
  // Packets lost because they were fetched too late.
  [[nodiscard]] std::uint32_t overflows() const;

 private:
  RawIpSocket(UniqueFd fd, bool ipv4) : fd_(std::move(fd)), ipv4_(ipv4) {}

  UniqueFd fd_;
  BatchSender sender_;
  bool ipv4_;
  std::vector<std::byte> memory_;
  std::vector<Received> received_;
  std::vector<char> controls_;  // of a batch
  bool trouble_ = false;
};

}  // namespace weft::io
