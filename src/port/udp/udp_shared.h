// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/udp_socket.h"
#include "port/faults.h"
#include "port/guard.h"
#include "port/port.h"
#include "port/udp/capture.h"
#include "port/udp/lease.h"
#include "port/udp/packet_taps.h"
#include "port/udp/routed_sources.h"
#include "port/udp/udp_counters.h"
#include "port/udp/wire_rules.h"

namespace weft::port {

// What ports on UDP sockets have in common, whatever the wire.
struct NetworkConfig {
  std::string interface;
  std::uint32_t ifindex = 0;               // 0: all interfaces
  std::uint32_t socket_buffer = 4u << 20;  // bytes asked for, each way
  std::string capture;                     // pcapng file with its headers written; empty: none
  Guard guard = unguarded;                 // around what reads the payload of a burst
  FaultConfig faults;                      // on purpose, at what arrives
  PacketTaps* taps = nullptr;              // instead of `capture` and `faults`, packet by packet
};

class UdpInlet;

// What the sockets and endpoints of a port share.
struct UdpShared {
  // Opens the capture.
  static Expected<std::shared_ptr<UdpShared>> create(const NetworkConfig& config,
                                                     const WireRules& rules);
  UdpShared(const NetworkConfig& config_in, const WireRules& rules_in)
      : config(config_in), rules(rules_in) {}

  const NetworkConfig config;
  const WireRules rules;
  UdpCounters counters;
  RoutedSources sources;
  std::unique_ptr<Capture> capture;  // null: no capture

  // What a socket is for.
  struct SocketUse {
    std::uint8_t traffic_class = 0;  // what most of its packets leave with
    bool shows_headers = true;       // some of what arrives is shown to programs with its IP header
  };
  // A socket for the packets of this wire, at a UDP port of ours.
  [[nodiscard]] Expected<io::UdpSocket> open_socket(std::uint16_t port, const SocketUse& use) const;
  [[nodiscard]] Expected<io::UdpSocket> open_socket(std::uint16_t port) const {
    return open_socket(port, SocketUse());
  }
  // One that packets leave through and none arrives at, at a UDP port that the kernel chooses.
  [[nodiscard]] Expected<io::UdpSocket> open_sender() const;
  // Its inlet. `lease`: on the number of the socket's port; ends once the socket is closed.
  // `sender`: what its packets leave through, if not the same.
  static Expected<std::shared_ptr<UdpInlet>> open_inlet(
      const std::shared_ptr<UdpShared>& shared, io::UdpSocket socket, Lease lease,
      std::optional<io::UdpSocket> sender = std::nullopt);

  // The first address of the GID table for which `matches` holds. Reads the table anew, at most
  // once a second, when there is none: an address added to the interface is known soon.
  std::optional<Gid> find_own(const std::function<bool(const Gid&)>& matches, Time now);
  [[nodiscard]] PortAttributes read_attributes();

  // Inlets register so that what the kernel dropped at their sockets can be counted.
  void add(const UdpInlet& inlet);
  void remove(const UdpInlet& inlet);
  [[nodiscard]] std::vector<CounterValue> read_counters();

 private:
  std::atomic<std::uint64_t> inlets_opened_{0};
  std::mutex mutex_;
  std::vector<GidEntry> gids_;
  Time refreshed_{};
  std::set<const UdpInlet*> inlets_;
  std::uint64_t retired_overflows_ = 0;  // of inlets that are gone
};

}  // namespace weft::port
