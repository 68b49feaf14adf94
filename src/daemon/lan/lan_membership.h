// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "base/error.h"
#include "daemon/lab/standing_request.h"
#include "daemon/lan/lan_place.h"
#include "daemon/lan/lan_subnet_counters.h"
#include "daemon/lan/lan_subnet_owner.h"
#include "io/reactor.h"
#include "mgmt/mad/mad_client.h"

namespace weft::daemon {

// What makes a port one of the LAN, with the subnet administrator: a ServiceRecord that says so,
// and subscriptions to its notices of ports that come and go, and of paths that are others.
class LanMembership final : private mgmt::MadClient {
 public:
  // All that is given outlives it.
  LanMembership(const LanPlace& place, LanSubnetCounters& counters, io::Reactor& reactor,
                LanSubnetOwner& owner);
  LanMembership(const LanMembership&) = delete;
  LanMembership& operator=(const LanMembership&) = delete;
  // The service is withdrawn, as far as the administrator can be told now.
  ~LanMembership() override;

  // Subscribes. Where a program has the reports of notices of this port, it goes on without.
  // Errors as of mgmt::MadPort::add_agent().
  Expected<void> open();
  // From now on the port offers the LAN's service.
  Expected<void> offer();
  // The administrator knows of the service.
  [[nodiscard]] bool offered() const { return record_ && record_->stands(); }
  // And tells of ports that come and go.
  [[nodiscard]] bool told() const;

 private:
  // mgmt::MadClient
  void received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                mgmt::MadResult result) override;

  const LanPlace& place_;
  LanSubnetCounters& counters_;
  io::Reactor& reactor_;
  LanSubnetOwner& owner_;
  mgmt::AgentId reports_{};  // of reports; none: a program has them
  std::unique_ptr<StandingRequest> record_;
  std::array<std::unique_ptr<StandingRequest>, 3> subscriptions_;
};

}  // namespace weft::daemon
