// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "io/udp_socket.h"
#include "port/port.h"
#include "port/udp/coalescing.h"
#include "port/udp/framing.h"
#include "port/udp/source_choice.h"
#include "port/udp/udp_port.h"

namespace weft::port {

// A datagram queue pair's UDP port: its own socket, and from the first multicast group on a second
// one at port 65535, which all members on the host share.
class UdpEndpoint final : public Endpoint {
 public:
  UdpEndpoint(std::shared_ptr<UdpShared> shared, io::UdpSocket socket);
  ~UdpEndpoint() override;

  [[nodiscard]] Qpn qpn() const override { return Qpn{socket_.port()}; }
  [[nodiscard]] std::uint32_t receive_capacity() const override;
  hca::SendResult send(const hca::Burst& burst) override;
  std::size_t receive(DatagramSink& sink, std::size_t budget) override;
  [[nodiscard]] std::vector<int> descriptors() const override;
  Expected<void> attach(const Gid& group) override;
  Expected<void> detach(const Gid& group) override;
  // Datagrams that the kernel had to drop for want of room.
  [[nodiscard]] std::uint32_t overflows() const;

 private:
  hca::SendResult send_singly(const hca::Burst& burst, io::SendDatagram& datagram);
  hca::SendResult outcome(const io::IoResult& result, std::size_t packets);
  enum class Told : std::uint8_t { kDestination, kNothing };  // what the socket says of datagrams
  std::size_t receive_from(const io::UdpSocket& socket, Told told, DatagramSink& sink,
                           std::size_t budget);
  void note(Coalescing::Change change) const;
  bool find_destination(Bytes run, io::ReceivedDatagram& datagram, IcrcFlowCache& flows);
  [[nodiscard]] bool accepts(const io::ReceivedDatagram& datagram);

  std::shared_ptr<UdpShared> shared_;
  io::UdpSocket socket_;
  SourceChoice source_choice_;         // by the sending thread
  bool segmentation_refused_ = false;  // by the sending thread
  Coalescing coalescing_;              // of socket_, by the receiving thread
  Gid last_own_;  // the last destination found to be ours, by the receiving thread

  mutable std::mutex multicast_mutex_;
  std::unique_ptr<io::UdpSocket> multicast_;  // set once, under the mutex
  std::atomic<const io::UdpSocket*> multicast_ready_{nullptr};
};

}  // namespace weft::port
