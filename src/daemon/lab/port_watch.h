// SPDX-License-Identifier: Apache-2.0
// What the services of a node have to know of its ports, as the kernel's of an adapter do: when the
// subnet's manager has forgotten, or is about to forget, what they have told it.
#pragma once

#include <vector>

#include "base/ids.h"
#include "fabric/node.h"

namespace weft::daemon {

class PortWatch final : private fabric::Node::PortObserver {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // The port's link is not Active any more, its LID is another, or the subnet manager wants
    // subscriptions anew (IBA 14.4.11): it is in no multicast group. From inside the fabric's
    // run().
    virtual void subscriptions_lost(mgmt::PortNumber port) = 0;
  };

  // Of a channel adapter. Both outlive it.
  PortWatch(fabric::Node& node, Owner& owner);
  ~PortWatch() override;
  PortWatch(const PortWatch&) = delete;
  PortWatch& operator=(const PortWatch&) = delete;

 private:
  // The LID under which a port can be reached; 0: it cannot.
  [[nodiscard]] Lid reached_by(mgmt::PortNumber port) const;
  void port_changed(mgmt::PortNumber port, bool reregister) override;

  fabric::Node& node_;
  Owner& owner_;
  std::vector<Lid> lids_;  // of port 1 and up
};

}  // namespace weft::daemon
