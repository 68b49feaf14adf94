// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/entropy.h"
#include "port/port.h"
#include "port/roce/slot.h"
#include "port/udp/udp_shared.h"
#include "wire/ip.h"

namespace weft::port {

struct RocePortConfig : NetworkConfig {
  std::uint16_t udp_port = wire::kRocePort;
};

// One network interface as an HCA port on the wire `roce` (docs/wire-roce.md). Its queue pairs of
// all kinds share one slot of UDP port 4791, which is taken with the first of them.
class RocePort final : public Port {
 public:
  static Expected<std::unique_ptr<RocePort>> open(const RocePortConfig& config,
                                                  std::shared_ptr<SlotSource> slots,
                                                  Entropy& entropy);

  [[nodiscard]] PortAttributes attributes(std::uint8_t) override {
    return shared_->read_attributes();
  }
  [[nodiscard]] hca::UdFraming framing() const override { return shared_->rules.framing; }
  [[nodiscard]] Gid group_address(const Gid& group) const override;
  Expected<std::unique_ptr<Endpoint>> open_endpoint(Service service) override;
  Expected<std::unique_ptr<Endpoint>> open_management() override;
  [[nodiscard]] bool weft_peers_only() const override { return false; }
  [[nodiscard]] std::shared_ptr<Agreements> agreements() override;
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    return shared_->read_counters();
  }

 private:
  class Share;

  RocePort(std::shared_ptr<UdpShared> shared, std::shared_ptr<SlotSource> slots, Entropy& entropy)
      : shared_(std::move(shared)), slots_(std::move(slots)), entropy_(entropy) {}
  [[nodiscard]] Expected<std::shared_ptr<UdpInlet>> open_inlet(Slot& slot);

  std::shared_ptr<UdpShared> shared_;
  std::shared_ptr<SlotSource> slots_;
  Entropy& entropy_;
  std::mutex mutex_;
  std::weak_ptr<Share> share_;  // lives as long as it has queue pairs
};

}  // namespace weft::port
