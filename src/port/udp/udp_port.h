// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/entropy.h"
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

// What the endpoints of a port share.
struct UdpShared {
  UdpPortConfig config;
  UdpCounters counters;
  std::unique_ptr<PortNumbers> numbers;
  std::unique_ptr<Capture> capture;  // null: no capture

  // True when `address` is in the GID table. Refreshes the table at most once a second when it is
  // not, so that an address added to the interface is known soon.
  bool is_own(const Gid& address, Time now);
  [[nodiscard]] PortAttributes read_attributes();

 private:
  std::mutex mutex_;
  std::vector<GidEntry> gids_;
  Time refreshed_{};
};

// One network interface as an HCA port: wires `udp` and `bare`.
class UdpPort final : public Port {
 public:
  static Expected<std::unique_ptr<UdpPort>> open(const UdpPortConfig& config, Entropy& entropy);

  [[nodiscard]] PortAttributes attributes() override { return shared_->read_attributes(); }
  [[nodiscard]] hca::UdFraming framing() const override { return shared_->config.framing; }
  [[nodiscard]] Gid group_address(const Gid& group) const override;
  Expected<std::unique_ptr<Endpoint>> open_endpoint() override;
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    return shared_->counters.snapshot();
  }

 private:
  explicit UdpPort(std::shared_ptr<UdpShared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<UdpShared> shared_;
};

}  // namespace weft::port
