// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "daemon/wan/emulated_direction.h"
#include "daemon/wan/wan_proxy.h"
#include "io/reactor.h"
#include "io/udp_socket.h"

namespace weft::daemon {

// An emulated WAN for UDP. Whoever sends to its address, a client, has a socket of its own towards
// the target, so that what comes back there goes to that client. Traffic class and ECN bits pass
// with each datagram; runs of datagrams are read and sent in one call (GRO, GSO).
class UdpProxy : public WanProxy {
 public:
  // More clients take the place of those that were silent longest.
  static constexpr std::size_t kMostClients = 256;

  // `memory`: of each direction, in bytes. Errors name the address.
  static Expected<std::unique_ptr<UdpProxy>> open(io::Reactor& reactor,
                                                  const io::SocketAddress& listen,
                                                  const io::SocketAddress& target,
                                                  std::size_t memory);

  std::optional<Time> run(Time now) override;
  void change(const wan::PathEmulation& forward, const wan::PathEmulation& backward,
              Time now) override;
  [[nodiscard]] std::string listens() const override { return listen_.local().to_string(); }
  [[nodiscard]] nlohmann::json report(Time now) override;

 private:
  using ClientKey = std::tuple<Gid, std::uint16_t, std::uint32_t>;
  struct Flow {
    io::UdpSocket socket;  // towards the target
    io::SocketAddress client;
    Gid addressed;  // the address of ours that the client knows
    Time heard_at{};
    io::Reactor::Registration watch;
  };
  // What one call has read.
  struct Arrival {
    io::ReceivedDatagram datagram;
    MutableBytes bytes;  // in the line's room
    bool kept = true;    // there was room
  };
  // Datagrams of one flow that leave in one call.
  struct Batch {
    std::vector<wan::DelayLine::Held> packets;
    std::size_t bytes = 0;
    [[nodiscard]] bool takes(const wan::DelayLine::Held& next) const;
  };
  struct Way {
    explicit Way(std::size_t memory) : direction({}, memory, Time{}) {}
    EmulatedDirection direction;
    Batch batch;  // what is being sent, or waits for room in a send buffer
    bool stuck = false;
  };

  UdpProxy(io::Reactor& reactor, io::UdpSocket listen, const io::SocketAddress& target,
           std::size_t memory);
  void read_clients();
  void read_target(std::uint32_t number);
  [[nodiscard]] bool read(const io::UdpSocket& socket, Way& way, Arrival& out);
  [[nodiscard]] std::uint32_t flow_of(const io::ReceivedDatagram& datagram, Time now);
  [[nodiscard]] std::uint32_t add_flow(const io::ReceivedDatagram& datagram);
  void forget_longest_silent();
  void send_due(Way& way, bool forward, Time now);
  [[nodiscard]] bool send(Way& way, bool forward);
  [[nodiscard]] io::IoResult send_packets(const Flow& flow, bool forward,
                                          std::span<const wan::DelayLine::Held> packets) const;
  static void finish(Way& way, EmulatorCounter counter, std::size_t packets);

  io::Reactor& reactor_;
  io::UdpSocket listen_;
  io::SocketAddress target_;
  Way forward_;
  Way backward_;
  std::unordered_map<std::uint32_t, Flow> flows_;
  std::map<ClientKey, std::uint32_t> by_client_;
  std::uint32_t last_flow_ = 0;
  std::uint64_t clients_ = 0;  // that there have been
  std::vector<std::byte> nowhere_;
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
