// SPDX-License-Identifier: Apache-2.0
// Tells a service which subnets its ports are in, as their subnet managers say it: a router, or one
// that has GIDs of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fabric/channel_adapter.h"

namespace weft::daemon {

// `prefix` is 0 while the port is not Active.
using InSubnet = std::function<void(mgmt::PortNumber port, std::uint64_t prefix)>;

class PlacePorts final : private fabric::Node::PortObserver {
 public:
  // `node` outlives it. `tell` hears of each port, at first and whenever something of one is
  // otherwise: what paths there are may have changed as well.
  PlacePorts(fabric::ChannelAdapter& node, InSubnet tell);
  PlacePorts(const PlacePorts&) = delete;
  PlacePorts& operator=(const PlacePorts&) = delete;
  ~PlacePorts() override;

  // One that the service is at.
  void add(mgmt::PortNumber port);
  // After Fabric::run().
  void run();

 private:
  // fabric::Node::PortObserver
  void port_changed(mgmt::PortNumber port, bool reregister) override;

  fabric::ChannelAdapter& node_;
  const InSubnet tell_;
  std::vector<mgmt::PortNumber> ports_;
  bool changed_ = false;
};

}  // namespace weft::daemon
