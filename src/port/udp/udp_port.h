// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "base/entropy.h"
#include "port/port.h"
#include "port/udp/udp_shared.h"

namespace weft::port {

// One network interface as an HCA port: wires `udp` and `bare`.
class UdpPort final : public Port {
 public:
  static Expected<std::unique_ptr<UdpPort>> open(const UdpPortConfig& config, Entropy& entropy);

  [[nodiscard]] PortAttributes attributes() override { return shared_->read_attributes(); }
  [[nodiscard]] hca::UdFraming framing() const override { return shared_->config.framing; }
  [[nodiscard]] Gid group_address(const Gid& group) const override;
  Expected<std::unique_ptr<Endpoint>> open_endpoint(Service service) override;
  [[nodiscard]] bool weft_peers_only() const override { return true; }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    return shared_->read_counters();
  }

 private:
  explicit UdpPort(std::shared_ptr<UdpShared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<UdpShared> shared_;
};

}  // namespace weft::port
