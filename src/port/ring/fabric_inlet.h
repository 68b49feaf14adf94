// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "port/inlet_faults.h"
#include "port/port.h"
#include "port/ring/fabric_shared.h"
#include "port/ring/link_frame.h"

namespace weft::port {

// What arrives at the ports of an adapter for all queue pairs of the program.
class FabricInlet final : public Inlet {
 public:
  // `faults`: none if null.
  FabricInlet(std::shared_ptr<FabricShared> shared, std::unique_ptr<InletFaults> faults)
      : shared_(std::move(shared)), faults_(std::move(faults)) {}

  std::size_t receive(DatagramSink& sink, std::size_t budget) override;
  [[nodiscard]] std::vector<int> descriptors() const override;
  void wait() override { shared_->end->wait(); }
  [[nodiscard]] std::uint32_t capacity() const override { return ring::kBlocks * ring::kBlock; }

 private:
  static constexpr std::size_t kAhead = 4 * ring::kLine;  // bytes of a payload
  class FaultSink;
  void fetch_payload(const ring::ArrivalSlot& slot) const;
  void take_in(const ring::ArrivalSlot& slot, DatagramSink& sink);
  void take_raw(const LinkPieces& packet, bool sealed, Qpn to, DatagramSink& sink);
  // To `frame_`.
  FrameVerdict join(const LinkPieces& packet, bool sealed);
  void take_whole(const LinkPieces& packet, bool sealed, std::uint8_t port, DatagramSink& sink);
  [[nodiscard]] std::uint8_t lmc(std::uint8_t port) const {
    return shared_->lmcs[port].load(std::memory_order_relaxed);
  }
  // False: the slot makes no sense. Nothing is put into `payload`, which is empty, where there is
  // none.
  [[nodiscard]] bool find_payload(const ring::ArrivalSlot& slot, Bytes& payload) const;
  // `port`: to which it came, as the daemon says.
  void hand_on(FrameVerdict verdict, Bytes packet, std::uint8_t port, DatagramSink& sink);

  std::shared_ptr<FabricShared> shared_;
  std::unique_ptr<InletFaults> faults_;
  LinkFrame frame_;
};

}  // namespace weft::port
