// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/entropy.h"
#include "port/port.h"
#include "port/udp/socket_pool.h"
#include "port/udp/udp_shared.h"

namespace weft::port {

struct UdpPortConfig : NetworkConfig {
  hca::UdFraming framing = hca::UdFraming::kBth;  // wire `udp`; kBare: wire `bare`
  std::uint16_t first_port = 49152;
  std::uint16_t last_port = 65534;
  std::uint16_t management_port = kManagementPort;
};

// One network interface as an HCA port: wires `udp` and `bare`.
class UdpPort final : public Port {
 public:
  static Expected<std::unique_ptr<UdpPort>> open(const UdpPortConfig& config, Entropy& entropy);

  [[nodiscard]] PortAttributes attributes(std::uint8_t) override {
    return shared_->read_attributes();
  }
  [[nodiscard]] hca::UdFraming framing() const override { return shared_->rules.framing; }
  [[nodiscard]] Gid group_address(const Gid& group) const override;
  Expected<std::unique_ptr<Endpoint>> open_endpoint(Service service) override;
  Expected<std::unique_ptr<Endpoint>> open_management() override;
  [[nodiscard]] bool weft_peers_only() const override { return true; }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    return shared_->read_counters();
  }

 private:
  UdpPort(std::shared_ptr<UdpShared> shared, std::shared_ptr<SocketPool> sockets)
      : shared_(std::move(shared)), sockets_(std::move(sockets)) {}

  std::shared_ptr<UdpShared> shared_;
  std::shared_ptr<SocketPool> sockets_;
};

}  // namespace weft::port
