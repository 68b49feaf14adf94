// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "port/port.h"
#include "port/udp/capture.h"
#include "port/udp/port_numbers.h"
#include "port/udp/udp_counters.h"

namespace weft::port {

struct UdpPortConfig {
  std::string interface;
  std::uint32_t ifindex = 0;
  hca::UdFraming framing = hca::UdFraming::kBth;  // wire `udp`; kBare: wire `bare`
  std::uint16_t first_port = 49152;
  std::uint16_t last_port = 65534;
  std::uint32_t socket_buffer = 4u << 20;  // bytes asked for, each way
  std::string capture;                     // pcapng file with its headers written; empty: none
};

class UdpInlet;

// What the sockets and endpoints of a port share.
struct UdpShared {
  UdpPortConfig config;
  UdpCounters counters;
  std::unique_ptr<PortNumbers> numbers;
  std::unique_ptr<Capture> capture;  // null: no capture

  // The first address of the GID table for which `matches` holds. Reads the table anew, at most
  // once a second, when there is none: an address added to the interface is known soon.
  std::optional<Gid> find_own(const std::function<bool(const Gid&)>& matches, Time now);
  [[nodiscard]] PortAttributes read_attributes();

  // Inlets register so that what the kernel dropped at their sockets can be counted.
  void add(const UdpInlet& inlet);
  void remove(const UdpInlet& inlet);
  [[nodiscard]] std::vector<CounterValue> read_counters();

 private:
  std::mutex mutex_;
  std::vector<GidEntry> gids_;
  Time refreshed_{};
  std::set<const UdpInlet*> inlets_;
  std::uint64_t retired_overflows_ = 0;  // of inlets that are gone
};

}  // namespace weft::port
