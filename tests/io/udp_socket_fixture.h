// SPDX-License-Identifier: Apache-2.0
// Sockets on loopback, of each family: what the kernel does with our options is what is tested.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "io/udp_socket.h"

namespace weft::io::test {

inline const Gid kLoopback4 = Gid::from_ipv4(0x7F000001);
inline const Gid kLoopback6{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

inline UdpSocket open_socket(const UdpOptions& options = {}) {
  auto socket = UdpSocket::open(options);
  EXPECT_TRUE(socket.has_value()) << (socket ? "" : socket.error().message);
  return std::move(*socket);
}

inline std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

inline iovec vec(std::vector<std::byte>& bytes) {
  return {bytes.data(), bytes.size()};
}

// Waits for one datagram; a test that needs longer than the poll has failed.
inline IoResult receive_one(const UdpSocket& socket, std::vector<std::byte>& buffer,
                            ReceivedDatagram& out) {
  pollfd ready{socket.fd(), POLLIN, 0};
  if (poll(&ready, 1, 5000) != 1) return {IoStatus::kWouldBlock, 0, {}};
  buffer.resize(kUdpReceiveBuffer);
  const IoResult result = socket.receive(buffer, out);
  buffer.resize(result.bytes);
  return result;
}

// Loopback delivers within the send call, so "nothing there" needs no waiting.
inline bool nothing_to_receive(const UdpSocket& socket) {
  std::vector<std::byte> buffer(kUdpReceiveBuffer);
  ReceivedDatagram out;
  return socket.receive(buffer, out).status == IoStatus::kWouldBlock;
}

struct Path {
  const char* name;
  bool ipv4_only;
  Gid loopback;
};

class UdpSocketOn : public testing::TestWithParam<Path> {
 protected:
  UdpOptions options() const {
    UdpOptions wanted;
    wanted.ipv4_only = GetParam().ipv4_only;
    return wanted;
  }
  SocketAddress to(const UdpSocket& socket) const {
    return {GetParam().loopback, socket.port(), 0};
  }
};

// The values of UdpSocketOn.
inline auto every_path() {
  return testing::Values(Path{"Ipv6", false, kLoopback6}, Path{"MappedIpv4", false, kLoopback4},
                         Path{"Ipv4Only", true, kLoopback4});
}
inline std::string path_name(const testing::TestParamInfo<Path>& info) {
  return info.param.name;
}

}  // namespace weft::io::test
