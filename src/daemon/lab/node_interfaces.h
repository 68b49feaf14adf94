// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "daemon/lab/lab_hosts.h"
#include "rdmacm/interfaces.h"

namespace weft::daemon {

// What a channel adapter of a lab knows of addresses: its own, by IP address and by GID, and those
// of its neighbours. Loopback addresses are those of its first port that is Active. GIDs of other
// subnets may be somebody's, and where other labs are in the subnet, addresses and GIDs of which
// this one knows nothing may be too.
class NodeInterfaces final : public rdmacm::Interfaces {
 public:
  // A neighbour's address was looked up: somebody is about to write to it.
  using Wanted = std::function<void(std::size_t node)>;

  NodeInterfaces(const LabHosts& hosts, std::size_t node, Wanted wanted)
      : hosts_(hosts), node_(node), wanted_(std::move(wanted)) {}

  [[nodiscard]] std::optional<mgmt::LocalEnd> find(const Gid& address) const override;
  [[nodiscard]] std::optional<std::uint16_t> pkey_index(const mgmt::LocalEnd& end,
                                                        PKey pkey) const override;
  [[nodiscard]] std::optional<rdmacm::LocalAddress> describe(const Gid& address,
                                                             std::uint32_t scope_id) const override;
  [[nodiscard]] tl::expected<Gid, std::errc> source_for(const Gid& destination,
                                                        std::uint32_t scope_id) const override;
  [[nodiscard]] tl::expected<Gid, std::errc> peer(const Gid& address) const override;

 private:
  // Of an address, loopback included: where it is, seen from here.
  [[nodiscard]] std::optional<LabHosts::Place> place_of(const Gid& address) const;
  // A GID of another subnet, as far as this one has a prefix by which others may know it.
  [[nodiscard]] bool is_beyond(const Gid& address) const;
  // A GID of this subnet, in which there are other labs.
  [[nodiscard]] bool is_of_another_lab(const Gid& address) const;
  // An IP address whose owner the subnet administrator may know.
  [[nodiscard]] bool is_to_be_asked_for(const Gid& address) const;
  [[nodiscard]] LabHosts::Place first_active() const;
  [[nodiscard]] fabric::Node& node() const { return hosts_.fabric().node(node_); }

  const LabHosts& hosts_;
  std::size_t node_;
  Wanted wanted_;
};

}  // namespace weft::daemon
