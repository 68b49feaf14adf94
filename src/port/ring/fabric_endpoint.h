// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "port/port.h"
#include "port/ring/fabric_shared.h"
#include "port/ring/link_frame.h"

namespace weft::port {

// A queue pair's number on an adapter of a fabric. Packets that contradict the port as it is now
// are dropped here, and counted: the adapter would take them for lies, and who sends them for a
// liar. Whatever is dropped so counts as sent, as on hardware.
class FabricEndpoint final : public Endpoint {
 public:
  // `inlet`: the one of the adapter. It is on port 1.
  FabricEndpoint(std::shared_ptr<FabricShared> shared, std::shared_ptr<Inlet> inlet, Qpn qpn)
      : shared_(std::move(shared)), inlet_(std::move(inlet)), qpn_(qpn) {}
  ~FabricEndpoint() override;

  [[nodiscard]] Qpn qpn() const override { return qpn_; }
  [[nodiscard]] const std::shared_ptr<Inlet>& inlet() const override { return inlet_; }
  hca::SendResult send(const hca::Burst& burst) override;
  Expected<void> move_to(std::uint8_t port) override;
  Expected<void> attach(const Gid& group) override;
  Expected<void> detach(const Gid& group) override;

 private:
  // Why a burst must not be handed over now.
  static std::optional<RingCounter> objection(const hca::Burst& burst, const PortFacts& facts);
  // With the lock held.
  hca::SendResult hand_over(const hca::Burst& burst, const PortFacts& facts);
  void record(std::size_t packets);

  std::shared_ptr<FabricShared> shared_;
  std::shared_ptr<Inlet> inlet_;
  Qpn qpn_;
  std::uint8_t port_ = 1;  // guarded by the lock for sending
};

}  // namespace weft::port
