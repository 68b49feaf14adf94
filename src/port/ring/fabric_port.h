// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "port/faults.h"
#include "port/guard.h"
#include "port/port.h"
#include "port/ring/fabric_inlet.h"
#include "port/ring/fabric_shared.h"
#include "port/ring/node_attachment.h"

namespace weft::port {

struct FabricPortConfig {
  NodePlace place;
  std::string capture;      // pcapng file with its headers written; empty: none
  std::string device;       // the capture's name for what this program sends and takes
  Guard guard = unguarded;  // around what reads the payload of a burst
  FaultConfig faults;       // on purpose, at what arrives
};

// The ports of an adapter in a lab's fabric. The program shares it with others; packets go through
// memory between the program and the lab's daemon.
class FabricPort final : public Port {
 public:
  // no_such_device: the lab has no such node.
  static Expected<std::unique_ptr<FabricPort>> open(const FabricPortConfig& config);

  [[nodiscard]] std::uint8_t ports() const override { return shared_->ports; }
  [[nodiscard]] PortAttributes attributes(std::uint8_t port) override;
  [[nodiscard]] hca::UdFraming framing() const override { return hca::UdFraming::kBth; }
  [[nodiscard]] Gid group_address(const Gid& group) const override { return group; }
  Expected<std::unique_ptr<Endpoint>> open_endpoint(Service service) override;
  [[nodiscard]] bool carries_raw() const override { return true; }
  Expected<std::unique_ptr<Endpoint>> open_raw_endpoint() override;
  // EOPNOTSUPP: management datagrams of a node go through libibumad.
  Expected<std::unique_ptr<Endpoint>> open_management() override;
  [[nodiscard]] bool carried_by_process() const override { return true; }
  [[nodiscard]] bool lossless() const override { return true; }
  [[nodiscard]] bool weft_peers_only() const override { return false; }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    return shared_->counters.snapshot();
  }
  [[nodiscard]] int news_descriptor() const override {
    return shared_->attachment->news_descriptor();
  }
  void hear_news() override;
  std::uint32_t take_news(std::uint8_t port) override;

 private:
  FabricPort(std::shared_ptr<FabricShared> shared, std::shared_ptr<Inlet> inlet)
      : shared_(std::move(shared)), inlet_(std::move(inlet)) {}
  void apply(NodeAttachment::FactsNews news);
  void apply(NodeAttachment::ArenaNews news);

  std::shared_ptr<FabricShared> shared_;
  std::shared_ptr<Inlet> inlet_;
  std::vector<std::uint32_t> news_ = std::vector<std::uint32_t>(ports() + 1u);  // not taken yet
};

}  // namespace weft::port
