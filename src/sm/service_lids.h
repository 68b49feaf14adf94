// SPDX-License-Identifier: Apache-2.0
// LIDs that no port has as its own: each leads to some port, and to another one when whoever has
// given it out says so. What comes by it is for the service behind that port.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "sm/routing/routes.h"
#include "sm/subnet.h"

namespace weft::sm {

struct ServiceLid {
  Lid lid{};    // 1 to 0xBFFF
  Guid port{};  // an end port, which need not be there yet
};

class ServiceLids {
 public:
  // All that there are. `taken`: those that ports have. Errors: invalid_argument for one that is no
  // unicast LID, or that is named twice; address_in_use for one that a port has. Then nothing has
  // changed.
  Expected<void> set(std::span<const ServiceLid> lids, const std::set<Lid>& taken);
  // Something was set since the last route().
  [[nodiscard]] bool changed() const { return changed_; }
  // No port is to get these.
  [[nodiscard]] const std::set<Lid>& reserved() const { return reserved_; }

  // Leads each to its port, by one of the port's own LIDs, or nowhere while the port has none.
  // `lids` are those of `ends`, the first of 2^lmc each of adapters'. Returns those, in words, that
  // some switch has no entry for: they lead nowhere.
  std::vector<std::string> route(const Subnet& subnet, std::span<const PortRef> ends,
                                 std::span<const Lid> lids, std::uint8_t lmc, Routes& routes);

 private:
  std::map<Lid, Guid> ports_;
  std::set<Lid> reserved_;
  bool changed_ = false;
};

}  // namespace weft::sm
