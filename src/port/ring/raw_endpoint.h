// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "port/port.h"
#include "port/ring/fabric_shared.h"

namespace weft::port {

// A raw queue pair's number on an adapter of a fabric: sends whole packets, of whomever they are. A
// packet that the adapter would not let out is refused here, with kLocalLengthError: sent on, it
// would have the program cut off.
class RawEndpoint final : public Endpoint {
 public:
  // On port 1. `inlet`: the one of the adapter. operation_not_permitted: the node carries no data
  // service, or this user may have no such queue pair.
  static Expected<std::unique_ptr<RawEndpoint>> open(std::shared_ptr<FabricShared> shared,
                                                     std::shared_ptr<Inlet> inlet);
  ~RawEndpoint() override;

  [[nodiscard]] Qpn qpn() const override { return qpn_; }
  [[nodiscard]] const std::shared_ptr<Inlet>& inlet() const override { return inlet_; }
  hca::SendResult send(const hca::Burst& burst) override;
  // device_or_resource_busy: rules of it hold, which are those of its port.
  Expected<void> move_to(std::uint8_t port) override;
  // invalid_argument: what comes is said by rules.
  Expected<void> attach(const Gid& group) override;
  Expected<void> detach(const Gid& group) override;
  // file_exists also: it has that rule already.
  Expected<void> divert(const hca::RawRule& rule) override;
  Expected<void> restore(const hca::RawRule& rule) override;

 private:
  RawEndpoint(std::shared_ptr<FabricShared> shared, std::shared_ptr<Inlet> inlet, Qpn qpn)
      : shared_(std::move(shared)), inlet_(std::move(inlet)), qpn_(qpn) {}
  // With the lock held.
  hca::SendResult hand_over(const hca::Burst& burst, const PortFacts& facts);
  void record(std::size_t packets);

  std::shared_ptr<FabricShared> shared_;
  std::shared_ptr<Inlet> inlet_;
  Qpn qpn_;
  std::uint8_t port_ = 1;  // guarded by the lock for sending
  // Guarded by whoever calls divert(), restore() and move_to(), one at a time.
  std::vector<hca::RawRule> rules_;
};

}  // namespace weft::port
