// SPDX-License-Identifier: Apache-2.0
// What the link between two ports of a lab trains by, where they negotiate: what PortInfo enables
// at both goes in, the speed that came of it goes back, and those who watch the link see the
// messages.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/time.h"
#include "fabric/lab_negotiation.h"
#include "fabric/node_port.h"
#include "link/link.h"
#include "link/link_trainer.h"
#include "link/packet_pool.h"
#include "phy/ddr_link/ddr_link.h"

namespace weft::fabric {

class NegotiatedLink final : public link::LinkTrainer, private phy::DdrLinkTap {
 public:
  // The ports, the pool and what `link` came from outlive it.
  NegotiatedLink(std::unique_ptr<phy::DdrLink> link, std::array<NodePort*, 2> ports,
                 link::PacketPool& pool);

  void start(Time now) override;
  void stop(Time now) override;
  void run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override { return link_->deadline(); }
  [[nodiscard]] bool up() const override { return link_->up().has_value(); }
  void retrain(std::size_t from, Time now) override {
    link_->retrain(static_cast<unsigned>(from), now);
  }
  [[nodiscard]] bool recovering() const override { return link_->recovering(); }
  [[nodiscard]] bool has_errors(std::size_t to) const override {
    return link_->has_errors(static_cast<unsigned>(to));
  }
  std::uint64_t wrong_symbols(std::size_t to, std::size_t symbols, Time now) override {
    return link_->wrong_symbols(static_cast<unsigned>(to), symbols, now);
  }
  [[nodiscard]] std::uint64_t symbol_errors(std::size_t to, Time now) const override {
    return link_->symbol_errors(static_cast<unsigned>(to), now);
  }
  void set_tap(link::LinkTap* tap) override { tap_ = tap; }

  // To be looked at.
  [[nodiscard]] phy::DdrLink& ddr() { return *link_; }

 private:
  void sent(unsigned from, wire::MadBytes mad, Time now) override;
  void tell_ports();

  std::unique_ptr<phy::DdrLink> link_;
  const std::array<NodePort*, 2> ports_;
  link::PacketPool& pool_;
  link::LinkTap* tap_ = nullptr;
  Psn psn_{};  // of the packets that are shown
};

}  // namespace weft::fabric
