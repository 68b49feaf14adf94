// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/port_watch.h"

#include <utility>

namespace weft::daemon {

PortWatch::PortWatch(fabric::Node& node, Owner& owner) : node_(node), owner_(owner) {
  for (unsigned port = 1; port <= node.port_count(); ++port)
    lids_.push_back(reached_by(static_cast<mgmt::PortNumber>(port)));
  node_.add_observer(*this);
}

PortWatch::~PortWatch() {
  node_.remove_observer(*this);
}

Lid PortWatch::reached_by(mgmt::PortNumber port) const {
  const wire::PortInfo info = node_.port_info(port);
  return info.state == wire::PortState::kActive ? info.lid : Lid{};
}

void PortWatch::port_changed(mgmt::PortNumber port, bool reregister) {
  const Lid before = std::exchange(lids_[port - 1u], reached_by(port));
  if (before != Lid{} && (reregister || lids_[port - 1u] != before)) {
    owner_.subscriptions_lost(port);
  }
}

}  // namespace weft::daemon
