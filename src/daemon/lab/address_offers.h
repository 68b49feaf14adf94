// SPDX-License-Identifier: Apache-2.0
// Tells the subnet administrator which IP addresses the ports of a node have, as long as they are
// there, so that hosts of other labs in the subnet find them (address_records.h).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "daemon/lab/lab_hosts.h"
#include "daemon/lab/standing_request.h"
#include "io/reactor.h"

namespace weft::daemon {

class AddressOffers {
 public:
  // Of a channel adapter. All outlive it. A port that takes no more users offers nothing.
  AddressOffers(const LabHosts& hosts, std::size_t node, io::Reactor& reactor);

 private:
  std::vector<std::unique_ptr<StandingRequest>> offers_;
};

}  // namespace weft::daemon
