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
  std::uint32_t port = 1;   // of the node's adapter
  std::string capture;      // pcapng file with its headers written; empty: none
  std::string device;       // the capture's name for what this program sends and takes
  Guard guard = unguarded;  // around what reads the payload of a burst
  FaultConfig faults;       // on purpose, at what arrives
};

// A port of an adapter in a lab's fabric. The program shares it with others; packets go through
// memory between the program and the lab's daemon.
class FabricPort final : public Port {
 public:
  // no_such_device: the lab has no such node or port.
  static Expected<std::unique_ptr<FabricPort>> open(const FabricPortConfig& config);

  [[nodiscard]] PortAttributes attributes() override;
  [[nodiscard]] hca::UdFraming framing() const override { return hca::UdFraming::kBth; }
  [[nodiscard]] Gid group_address(const Gid& group) const override { return group; }
  Expected<std::unique_ptr<Endpoint>> open_endpoint(Service service) override;
  // EOPNOTSUPP: management datagrams of a node go through libibumad.
  Expected<std::unique_ptr<Endpoint>> open_management() override;
  [[nodiscard]] bool carried_by_process() const override { return true; }
  [[nodiscard]] bool weft_peers_only() const override { return false; }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    return shared_->counters.snapshot();
  }
  [[nodiscard]] int news_descriptor() const override {
    return shared_->attachment->news_descriptor();
  }
  std::uint32_t take_news() override;

 private:
  FabricPort(std::shared_ptr<FabricShared> shared, std::shared_ptr<Inlet> inlet)
      : shared_(std::move(shared)), inlet_(std::move(inlet)) {}
  std::uint32_t apply(NodeAttachment::FactsNews news);
  void apply(NodeAttachment::ArenaNews news);

  std::shared_ptr<FabricShared> shared_;
  std::shared_ptr<Inlet> inlet_;
};

}  // namespace weft::port
