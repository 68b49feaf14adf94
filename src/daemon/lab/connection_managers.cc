// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/connection_managers.h"

#include <utility>

#include "daemon/lab/lab_node.h"

namespace weft::daemon {

Expected<NodeConnections*> ConnectionManagers::open(std::size_t node) {
  if (!hosts_.fabric().has_node(node)) return no_such_node(hosts_.fabric(), node);
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) return found->second.get();
  auto opened = NodeConnections::open(hosts_, node, reactor_, entropy_);
  if (!opened) return tl::unexpected(opened.error());
  return (nodes_[node] = std::move(*opened)).get();
}

}  // namespace weft::daemon
