// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/entropy.h"
#include "port/udp/port_numbers.h"
#include "port/udp/udp_endpoint.h"
#include "port/udp/udp_inlet.h"
#include "port/udp/udp_shared.h"

namespace weft::port {

// The sockets of the wires `udp` and `bare`, where a queue pair is known by its UDP port. A
// datagram queue pair has a socket of its own. So has a connected one while there are few: its
// buffer is its own then. Many share: bits 16-23 of their numbers tell them apart.
class SocketPool : public std::enable_shared_from_this<SocketPool> {
 public:
  static constexpr std::size_t kSoleConnected = 32;  // connected queue pairs with a socket each
  static constexpr std::size_t kPerSocket = 256;     // the most that bits 16-23 can tell apart
  // A socket that has so many gets no more while there are fewer than kSharedSockets: each brings
  // a receive buffer along.
  static constexpr std::size_t kComfortable = 32;
  static constexpr std::size_t kSharedSockets = 64;

  SocketPool(std::shared_ptr<UdpShared> shared, std::uint16_t first_port, std::uint16_t last_port,
             Entropy& entropy);

  // ENOMEM when no port of the range is free.
  Expected<std::unique_ptr<Endpoint>> open_sole();
  // `service`: of connections.
  Expected<std::unique_ptr<Endpoint>> open_connected(Service service);

 private:
  struct SharedSocket {
    std::weak_ptr<UdpInlet> inlet;  // lives as long as one index is in use
    std::bitset<kPerSocket> used;
    std::size_t next = 0;  // given back, an index comes around again only after all others
  };

  Expected<std::shared_ptr<UdpInlet>> open_inlet(Service service);
  std::unique_ptr<Endpoint> share(const std::shared_ptr<SharedSocket>& socket);
  void leave(const std::shared_ptr<SharedSocket>& socket, std::size_t index);

  std::shared_ptr<UdpShared> shared_;
  PortNumbers numbers_;

  std::mutex mutex_;
  std::size_t sole_connected_ = 0;
  std::vector<std::shared_ptr<SharedSocket>> sockets_;
};

}  // namespace weft::port
