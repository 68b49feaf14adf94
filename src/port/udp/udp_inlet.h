// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "io/udp_socket.h"
#include "port/inlet_faults.h"
#include "port/port.h"
#include "port/udp/coalescing.h"
#include "port/udp/framing.h"
#include "port/udp/lease.h"
#include "port/udp/udp_shared.h"

namespace weft::port {

// A UDP socket of queue pairs. On a wire where a number is a UDP port, multicast has one too: from
// the first group on there is a second socket at port 65535, which all members on the host share.
class UdpInlet final : public Inlet {
 public:
  // As UdpShared::open_inlet() makes it. `faults`: none if null.
  UdpInlet(std::shared_ptr<UdpShared> shared, io::UdpSocket socket,
           std::optional<io::UdpSocket> sender, Lease lease, std::unique_ptr<InletFaults> faults);
  ~UdpInlet() override;

  std::size_t receive(DatagramSink& sink, std::size_t budget) override;
  [[nodiscard]] std::vector<int> descriptors() const override;
  [[nodiscard]] std::uint32_t capacity() const override;
  void expect_errors() override { errors_expected_.store(true, std::memory_order_relaxed); }

  // The path takes no datagrams as long as ours: from now on they may leave in fragments. False if
  // that was so before, or cannot be on this wire. Any thread.
  bool allow_fragments();

  // To send from; any thread. What the network says of what was sent comes to it, too.
  [[nodiscard]] const io::UdpSocket& socket() const { return sender_ ? *sender_ : socket_; }
  // Membership of a group, on behalf of a queue pair. EINVAL for what is not attached.
  Expected<void> attach(const Gid& group, Qpn member);
  Expected<void> detach(const Gid& group, Qpn member);
  void detach_all(Qpn member);
  // Datagrams that the kernel had to drop for want of room.
  [[nodiscard]] std::uint32_t overflows() const;

 private:
  enum class Told : std::uint8_t { kDestination, kNothing };  // what the socket says of datagrams
  class FaultSink;
  std::size_t receive_from(const io::UdpSocket& socket, Told told, DatagramSink& sink,
                           std::size_t budget);
  void release_held(DatagramSink& sink);
  void deliver_tapped(MutableBytes run, const io::ReceivedDatagram& received, DatagramSink& sink);
  void release_tapped(DatagramSink& sink);
  void receive_errors(DatagramSink& sink);
  void note(Coalescing::Change change);
  bool find_destination(Bytes run, io::ReceivedDatagram& datagram, IcrcFlowCache& flows);
  [[nodiscard]] bool accepts(const io::ReceivedDatagram& datagram);

  std::shared_ptr<UdpShared> shared_;
  Lease lease_;
  io::UdpSocket socket_;
  std::optional<io::UdpSocket> sender_;
  std::unique_ptr<InletFaults> faults_;
  std::atomic<bool> errors_expected_{false};
  std::atomic<bool> fragments_{false};
  Coalescing coalescing_;  // of socket_, by the receiving thread
  Gid last_own_;           // the last destination found to be ours, by the receiving thread

  // The socket that joins groups; opened where it is one of its own.
  Expected<const io::UdpSocket*> multicast_socket();

  mutable std::mutex multicast_mutex_;
  std::map<Gid, std::set<Qpn>> groups_;       // joined, and who wants them
  std::unique_ptr<io::UdpSocket> multicast_;  // set once, under the mutex
  std::atomic<const io::UdpSocket*> multicast_ready_{nullptr};
};

}  // namespace weft::port
