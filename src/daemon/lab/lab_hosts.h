// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "fabric/fabric.h"
#include "mgmt/mad_envelope.h"

namespace weft::daemon {

// Which port of a lab has which IP address and which GID: what hosts on other fabrics ask each
// other for, by ARP over IP over InfiniBand.
class LabHosts {
 public:
  struct Place {
    std::size_t node = 0;  // as Lab::nodes counts them
    mgmt::PortNumber port = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };

  // Keeps the reference.
  explicit LabHosts(fabric::Fabric& fabric);

  // Of an IP address, or of a GID that is the port's now: the one of its own GUID.
  [[nodiscard]] std::optional<Place> find(const Gid& address) const;
  // Of an IP address of a host that is not of the lab, which its file has.
  [[nodiscard]] std::optional<Gid> find_elsewhere(const Gid& address) const;
  // Of the same subnet prefix as the ports of this part of the lab, for a place in another one.
  [[nodiscard]] Gid gid_of(const Place& place) const;
  [[nodiscard]] Gid address_of(const Place& place) const;  // ::ffff:a.b.c.d

  [[nodiscard]] fabric::Fabric& fabric() const { return fabric_; }

 private:
  [[nodiscard]] std::uint64_t prefix_of(const Place& place) const;

  fabric::Fabric& fabric_;
  Place here_;  // any port that runs here
  std::unordered_map<Gid, Place> by_address_;
  std::unordered_map<Gid, Gid> elsewhere_;
  std::unordered_map<Guid, Place> by_guid_;
};

}  // namespace weft::daemon
