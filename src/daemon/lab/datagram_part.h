// SPDX-License-Identifier: Apache-2.0
// The links between this part of a lab and another one, which is on another machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "base/entropy.h"
#include "base/time.h"
#include "carrier/datagram_channel.h"
#include "carrier/datagram_peer.h"
#include "io/udp_socket.h"

namespace weft::daemon {

// Datagrams of equal length wait until flush(), or until one comes that is longer, and leave by one
// system call.
class DatagramPart final : private carrier::DatagramSink {
 public:
  // `socket` outlives it.
  DatagramPart(std::string name, const io::SocketAddress& address, const io::UdpSocket& socket)
      : name_(std::move(name)), address_(address), socket_(socket) {}
  DatagramPart(const DatagramPart&) = delete;
  DatagramPart& operator=(const DatagramPart&) = delete;

  // `link`: its number, the same in both parts. The channel stays as long as this.
  carrier::DatagramChannel& add(std::uint64_t link, Entropy& entropy);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const io::SocketAddress& address() const { return address_; }
  [[nodiscard]] carrier::DatagramPeer& peer() { return peer_; }
  [[nodiscard]] const carrier::DatagramPeer& peer() const { return peer_; }
  [[nodiscard]] std::size_t connected_links() const;
  // Datagrams that the socket refused: lost.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

  void flush();
  // The socket took no more: flush_blocked() when it does again.
  [[nodiscard]] bool is_blocked() const { return blocked_; }
  void flush_blocked(Time now);

 private:
  // carrier::DatagramSink
  [[nodiscard]] bool ready() const override { return !blocked_; }
  [[nodiscard]] MutableBytes next(std::size_t size) override;

  [[nodiscard]] bool takes(std::size_t size) const;
  io::IoStatus send(std::size_t bytes, bool cut);

  const std::string name_;
  const io::SocketAddress address_;
  const io::UdpSocket& socket_;
  carrier::DatagramPeer peer_;
  std::list<carrier::DatagramChannel> channels_;
  // What waits, from begin_ to the end: datagrams of segment_ bytes, the last may be shorter.
  std::vector<std::byte> waiting_;
  std::size_t begin_ = 0;
  std::size_t segment_ = 0;
  bool blocked_ = false;
  std::size_t longest_cut_ = io::kMaxUdpPayload;  // datagrams that the kernel cuts
  std::uint64_t refused_ = 0;
};

}  // namespace weft::daemon
