// SPDX-License-Identifier: Apache-2.0
#include "mgmt/sm/mkey_guard.h"

#include <algorithm>
#include <limits>

namespace weft::mgmt {

MkeyGuard::Verdict MkeyGuard::check(PortNumber port, wire::MadMethod method, std::uint64_t key,
                                    Time now) {
  run(now);
  wire::PortInfo info = node_.port_info(port);
  if (info.mkey == 0) return Verdict::kPass;
  if (info.mkey == key) {
    leases_.erase(port);  // its manager is alive
    return Verdict::kPass;
  }
  if (method == wire::MadMethod::kGet && info.mkey_protect < 2) {
    return info.mkey_protect == 0 ? Verdict::kPass : Verdict::kVeiled;
  }
  if (info.mkey_violations < std::numeric_limits<std::uint16_t>::max()) {
    ++info.mkey_violations;
    node_.set_port_info(port, info, now);
  }
  if (info.mkey_lease_period > 0) {
    leases_.try_emplace(port, now + std::chrono::seconds{info.mkey_lease_period});
  }
  return Verdict::kRefuse;
}

void MkeyGuard::run(Time now) {
  for (auto lease = leases_.begin(); lease != leases_.end();) {
    if (lease->second > now) {
      ++lease;
      continue;
    }
    wire::PortInfo info = node_.port_info(lease->first);
    info.mkey_protect = 0;
    node_.set_port_info(lease->first, info, now);
    lease = leases_.erase(lease);
  }
}

std::optional<Time> MkeyGuard::deadline() const {
  std::optional<Time> first;
  for (const auto& [port, when] : leases_)
    first = std::min(first.value_or(when), when);
  return first;
}

}  // namespace weft::mgmt
