// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/entropy.h"
#include "base/error.h"
#include "daemon/event_files.h"
#include "daemon/lab/address_offers.h"
#include "daemon/lab/cm_questions.h"
#include "daemon/lab/node_connections.h"
#include "daemon/lab/node_interfaces.h"
#include "daemon/lab/port_watch.h"
#include "io/reactor.h"
#include "rdmacm/command_core.h"

namespace weft::daemon {

// The rdma_cm of one node of a lab: what a host agent is for a wire.
class NodeCm final : private rdmacm::EventSignal,
                     private CmQuestions::Receiver,
                     private PortWatch::Owner {
 public:
  // What it is given outlives it. Errors as of mgmt::MadPort::add_agent().
  static Expected<std::unique_ptr<NodeCm>> open(NodeConnections& connections,
                                                NodeInterfaces::Wanted wanted, io::Reactor& reactor,
                                                Entropy& entropy);
  // Its files are closed.
  ~NodeCm() override;

  // An rdma_cm file: its name, and the descriptor that a program polls. The node keeps that too.
  struct File {
    std::uint64_t id = 0;
    int events = -1;
  };
  Expected<File> open_file();
  void close_file(std::uint64_t file);
  rdmacm::Reply execute(std::uint64_t file, Bytes command, Bytes extra, std::uint64_t other);

  // Of rdma_cm, of the connection manager, and of what it sends and receives.
  [[nodiscard]] std::vector<CounterValue> counters() const;
  [[nodiscard]] const rdmacm::CommandCore& core() const { return *core_; }

 private:
  NodeCm(NodeConnections& connections, NodeInterfaces::Wanted wanted, Entropy& entropy);
  // CmQuestions::Receiver
  void route_found(std::uint32_t identifier, const rdmacm::PathRecord& path) override;
  void route_failed(std::uint32_t identifier, std::errc why) override;
  void host_found(std::uint32_t identifier, const Gid& gid) override {
    core_->host_found(identifier, gid);
  }
  void host_failed(std::uint32_t identifier, std::errc why) override {
    core_->host_failed(identifier, why);
  }
  void group_joined(std::uint32_t membership, const rdmacm::GroupRecord& group) override;
  void group_failed(std::uint32_t membership, std::errc why) override;
  // PortWatch::Owner
  void subscriptions_lost(mgmt::PortNumber port) override { core_->groups_lost(port); }
  // rdmacm::EventSignal
  void raised(rdmacm::ChannelId channel) override { events_.raised(channel); }
  void withdrawn(rdmacm::ChannelId channel, std::size_t count) override {
    events_.withdrawn(channel, count);
  }
  void agreed(const hca::Agreement&) override {}  // there is nothing beyond the standard

  NodeConnections& connections_;
  NodeInterfaces interfaces_;
  CmQuestions questions_;
  EventFiles events_;
  std::unique_ptr<rdmacm::CommandCore> core_;
  PortWatch watch_;
  std::optional<AddressOffers> offers_;  // where there are other labs in the subnet
};

}  // namespace weft::daemon
