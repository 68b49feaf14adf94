// SPDX-License-Identifier: Apache-2.0
// The parts of a lab that are on other machines: one UDP socket, and what comes from each of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/datagram_part.h"
#include "fabric/lab_parts.h"
#include "io/reactor.h"
#include "io/udp_socket.h"

namespace weft::daemon {

enum class DatagramPartsCounter : std::uint8_t { kStranger, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(DatagramPartsCounter::kCount)>
    kDatagramPartsCounters{{
        {"udp_stranger", "datagrams dropped: from an address that no part of the lab has"},
    }};

class DatagramParts {
 public:
  // Listens at `own`, which must be an address of this machine. Everything happens in the reactor's
  // thread; the reactor outlives it.
  static Expected<std::unique_ptr<DatagramParts>> open(const fabric::PartAddress& own,
                                                       io::Reactor& reactor);
  DatagramParts(const DatagramParts&) = delete;
  DatagramParts& operator=(const DatagramParts&) = delete;

  // It stays as long as this.
  DatagramPart& add(const std::string& name, const fabric::PartAddress& address);

  // Does what is due.
  void run(Time now);
  // Sends what waits.
  void flush();
  // When to run().
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const std::vector<std::unique_ptr<DatagramPart>>& parts() const { return parts_; }
  [[nodiscard]] std::vector<CounterValue> counters() const;

 private:
  explicit DatagramParts(io::UdpSocket socket);
  void on_ready(std::uint32_t events);
  void receive_all(Time now);
  void receive(const io::SocketAddress& source, Bytes datagram, Time now);
  void watch_for_room();

  io::UdpSocket socket_;
  std::vector<std::byte> buffer_;
  CounterSet<DatagramPartsCounter, kDatagramPartsCounters> counters_;
  std::vector<std::unique_ptr<DatagramPart>> parts_;
  bool watching_for_room_ = false;
  io::Reactor* reactor_ = nullptr;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
