// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/counters.h"
#include "base/entropy.h"
#include "base/error.h"
#include "daemon/lab/cm_mads.h"
#include "daemon/lab/lab_hosts.h"
#include "daemon/lab/node_interfaces.h"
#include "io/reactor.h"
#include "mgmt/connection_manager.h"

namespace weft::daemon {

// The communication manager of one node of a lab, as a host has one for all who make connections
// there: its rdma_cm and its drivers. Whose a listener or a connection is says the sink that is
// named for it. A request finds its listener by its service ID and the address that it is for.
class NodeConnections final : private CmMads::Receiver {
 public:
  // `node`: a channel adapter. All that is given outlives it. address_in_use: a program manages
  // connections there by itself.
  static Expected<std::unique_ptr<NodeConnections>> open(const LabHosts& hosts, std::size_t node,
                                                         io::Reactor& reactor, Entropy& entropy);

  // Whoever calls it calls manager_used() afterwards, but from inside of an event. What names a
  // sink is destroyed before the sink goes.
  [[nodiscard]] mgmt::ConnectionManager& manager() { return manager_; }
  [[nodiscard]] const mgmt::ConnectionManager& manager() const { return manager_; }
  void manager_used() { set_timer(); }

  [[nodiscard]] const LabHosts& hosts() const { return hosts_; }
  [[nodiscard]] std::size_t index() const { return index_; }  // as Lab::nodes counts them
  [[nodiscard]] fabric::Node& node() const { return hosts_.fabric().node(index_); }

  // Of the manager, and of what it sends and receives.
  [[nodiscard]] std::vector<CounterValue> counters() const;

 private:
  NodeConnections(const LabHosts& hosts, std::size_t node, io::Reactor& reactor, Entropy& entropy);
  // CmMads::Receiver
  void received(Bytes mad, const hca::Path& from, PKey pkey) override;
  void set_timer();

  const LabHosts& hosts_;
  const std::size_t index_;
  NodeInterfaces ends_;
  CmMads mads_;
  mgmt::ConnectionManager manager_;
  io::Timer timer_;
};

}  // namespace weft::daemon
