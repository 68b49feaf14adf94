// SPDX-License-Identifier: Apache-2.0
// A tunnel's path to one remote through UDP, over IPv4 or IPv6.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "daemon/wan/addressed_path.h"
#include "io/udp_socket.h"

namespace weft::daemon {

// Frames of equal length leave by one system call.
class UdpPath final : public AddressedPath {
 public:
  // `sockets`, which may be shared with other paths, outlive it; it leaves by the one of this place
  // as long as its remote does not come by another. Without a remote as AddressedPath.
  UdpPath(const std::optional<io::SocketAddress>& remote, const std::vector<io::UdpSocket>& sockets,
          std::size_t place);

  // wan::Path
  [[nodiscard]] std::size_t longest_frame() const override { return longest_frame_; }

 private:
  std::size_t transmit(Frames frames, Time now) override;
  void moved() override;
  // How many of the first ones leave together.
  [[nodiscard]] std::size_t group(Frames frames) const;
  // How many of them are done with; fewer than all when the socket takes no more.
  std::size_t send_group(Frames frames, Time now);
  // Of all parts of these frames one stretch of memory.
  [[nodiscard]] iovec gather(Frames frames);
  io::IoResult send_bytes(const iovec& bytes, std::size_t segment,
                          const wan::OutFrame& first) const;
  void look_at_mtu(Time now);

  const std::vector<io::UdpSocket>& sockets_;
  std::size_t longest_frame_;
  std::size_t longest_cut_ = io::kMaxUdpPayload;  // datagrams that the kernel cuts
  std::vector<std::byte> room_;                   // for those of one system call
};

}  // namespace weft::daemon
