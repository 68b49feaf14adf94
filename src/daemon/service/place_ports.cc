// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/place_ports.h"

#include <utility>

namespace weft::daemon {

PlacePorts::PlacePorts(fabric::ChannelAdapter& node, InSubnet tell)
    : node_(node), tell_(std::move(tell)) {
  node_.add_observer(*this);
}

PlacePorts::~PlacePorts() {
  node_.remove_observer(*this);
}

void PlacePorts::add(mgmt::PortNumber port) {
  ports_.push_back(port);
  changed_ = true;
}

void PlacePorts::port_changed(mgmt::PortNumber, bool) {
  changed_ = true;
}

void PlacePorts::run() {
  if (!std::exchange(changed_, false)) return;
  for (const mgmt::PortNumber port : ports_) {
    const wire::PortInfo info = node_.port_info(port);
    const bool active = info.state == wire::PortState::kActive;
    tell_(port, active ? info.gid_prefix : 0);
  }
}

}  // namespace weft::daemon
