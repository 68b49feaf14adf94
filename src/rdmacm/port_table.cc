// SPDX-License-Identifier: Apache-2.0
#include "rdmacm/port_table.h"

#include <algorithm>

namespace weft::rdmacm {

std::errc PortTable::conflict(const std::vector<PortClaim>& holders, const PortClaim& claim,
                              bool reuse) const {
  for (const PortClaim& other : holders) {
    if (other.handle == claim.handle) continue;
    if (reuse && other.reuse && !other.listening) continue;
    if (claim.af_only && other.af_only && claim.family != other.family) continue;
    const bool any = claim.address.is_zero() || other.address.is_zero();
    if (any) return std::errc::address_not_available;
    if (claim.address == other.address) return std::errc::address_in_use;
  }
  return {};
}

tl::expected<std::uint16_t, std::errc> PortTable::draw(wire::PortSpace space) const {
  // From a random start, so that a peer cannot guess and a restarted program does not meet the
  // timewait of its predecessor.
  const std::uint32_t count = std::uint32_t{range_.last} - range_.first + 1;
  const auto start = static_cast<std::uint32_t>(entropy_.draw() % count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto port = static_cast<std::uint16_t>(range_.first + (start + i) % count);
    if (!holders_.contains({space, port})) return port;
  }
  return tl::unexpected(std::errc::address_not_available);
}

tl::expected<std::uint16_t, std::errc> PortTable::bind(wire::PortSpace space, std::uint16_t port,
                                                       const PortClaim& claim) {
  if (port == 0) {
    const auto drawn = draw(space);
    if (!drawn) return drawn;
    port = *drawn;
  }
  const auto found = holders_.find({space, port});
  if (found != holders_.end()) {
    const std::errc error = conflict(found->second, claim, claim.reuse);
    if (error != std::errc{}) return tl::unexpected(error);
  }
  holders_[{space, port}].push_back(claim);
  return port;
}

std::errc PortTable::listen(wire::PortSpace space, std::uint16_t port, std::uint32_t handle) {
  const auto found = holders_.find({space, port});
  if (found == holders_.end()) return std::errc::invalid_argument;
  for (PortClaim& claim : found->second) {
    if (claim.handle != handle) continue;
    if (claim.reuse) {
      const std::errc error = conflict(found->second, claim, false);
      if (error != std::errc{}) return error;
    }
    claim.listening = true;
    return {};
  }
  return std::errc::invalid_argument;
}

void PortTable::release(wire::PortSpace space, std::uint16_t port, std::uint32_t handle) {
  const auto found = holders_.find({space, port});
  if (found == holders_.end()) return;
  std::erase_if(found->second, [&](const PortClaim& claim) { return claim.handle == handle; });
  if (found->second.empty()) holders_.erase(found);
}

}  // namespace weft::rdmacm
