// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "base/entropy.h"
#include "base/error.h"
#include "daemon/lab/lab_hosts.h"
#include "daemon/lab/node_connections.h"
#include "io/reactor.h"

namespace weft::daemon {

// The communication managers of the nodes of a lab that run here, each from when it is first
// wanted.
class ConnectionManagers {
 public:
  // All that is given outlives it.
  ConnectionManagers(fabric::Fabric& fabric, io::Reactor& reactor, Entropy& entropy)
      : hosts_(fabric), reactor_(reactor), entropy_(entropy) {}
  ConnectionManagers(const ConnectionManagers&) = delete;
  ConnectionManagers& operator=(const ConnectionManagers&) = delete;

  [[nodiscard]] const LabHosts& hosts() const { return hosts_; }
  // Of a channel adapter; it stays as long as this does. As no_such_node() has it: it is not here.
  // address_in_use: a program manages connections there by itself.
  Expected<NodeConnections*> open(std::size_t node);

 private:
  LabHosts hosts_;
  io::Reactor& reactor_;
  Entropy& entropy_;
  std::map<std::size_t, std::unique_ptr<NodeConnections>> nodes_;
};

}  // namespace weft::daemon
