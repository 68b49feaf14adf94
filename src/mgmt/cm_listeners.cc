// SPDX-License-Identifier: Apache-2.0
#include "mgmt/cm_listeners.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

namespace weft::mgmt {

Expected<void> CmListeners::add(CmId id, const ListenParameters& parameters) {
  if (parameters.backlog == 0) return fail(std::errc::invalid_argument, "backlog 0: at least 1");
  const std::uint64_t service = parameters.service_id.value();
  auto group = std::find_if(by_mask_.begin(), by_mask_.end(),
                            [&](const Masked& masked) { return masked.mask == parameters.mask; });
  if (group == by_mask_.end()) {
    const auto fewer = std::find_if(by_mask_.begin(), by_mask_.end(), [&](const Masked& masked) {
      return std::popcount(masked.mask) < std::popcount(parameters.mask);
    });
    group = by_mask_.insert(fewer, Masked{.mask = parameters.mask, .services = {}});
  }
  const auto key = std::pair(service & parameters.mask, parameters.address);
  if (!group->services.emplace(key, id).second) {
    return fail(std::errc::address_in_use,
                fmt::format("service ID {:#018x}: somebody listens for it already", service));
  }
  listeners_.emplace(id, Listener{.parameters = parameters});
  return {};
}

void CmListeners::remove(CmId id) {
  const auto found = listeners_.find(id);
  assert(found != listeners_.end());
  const ListenParameters& parameters = found->second.parameters;
  const auto group = std::find_if(by_mask_.begin(), by_mask_.end(), [&](const Masked& masked) {
    return masked.mask == parameters.mask;
  });
  group->services.erase({parameters.service_id.value() & parameters.mask, parameters.address});
  if (group->services.empty()) by_mask_.erase(group);
  listeners_.erase(found);
}

CmListeners::Listener* CmListeners::find(CmId id) {
  const auto found = listeners_.find(id);
  return found == listeners_.end() ? nullptr : &found->second;
}

const CmListeners::Listener* CmListeners::find(CmId id) const {
  const auto found = listeners_.find(id);
  return found == listeners_.end() ? nullptr : &found->second;
}

CmId CmListeners::match(ServiceId service, const Gid& address) const {
  for (const Gid& wanted : {address, Gid{}}) {
    for (const Masked& masked : by_mask_) {
      const auto found = masked.services.find({service.value() & masked.mask, wanted});
      if (found != masked.services.end()) return found->second;
    }
  }
  return CmId{};
}

}  // namespace weft::mgmt
