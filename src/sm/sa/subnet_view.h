// SPDX-License-Identifier: Apache-2.0
// The subnet as its administrator answers from it: as it was when the last sweep ended, with the
// ways that its tables make.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "sm/routing/routes.h"
#include "sm/sa/alias_map.h"
#include "sm/subnet.h"

namespace weft::sm {

// A port that has LIDs.
struct ViewEnd {
  PortRef at{};
  Guid guid{};
  Lid lid{};  // the first of 2^lmc
  std::uint8_t lmc = 0;
};

// The links from one end port to another: how many, and the least of them.
struct Way {
  static constexpr std::size_t kMost = 64;
  std::size_t links = 0;
  std::uint8_t mtu = 0;   // a code; 0: no links
  std::uint8_t rate = 0;  // a code
};

// Of a GID: prefix and GUID.
[[nodiscard]] std::uint64_t prefix_of(const Gid& gid);
[[nodiscard]] Guid guid_of(const Gid& gid);
[[nodiscard]] Gid make_gid(std::uint64_t prefix, Guid guid);

class SubnetView {
 public:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  // After each sweep. `routes` count switches in the order of subnet.nodes.
  void update(const Subnet& subnet, const Routes& routes, std::uint64_t gid_prefix);

  // The multicast tables and SwitchInfo as they are by now: they change without a sweep.
  void update_multicast(const Subnet& subnet);

  [[nodiscard]] const Subnet& subnet() const { return subnet_; }
  [[nodiscard]] const std::vector<ViewEnd>& ends() const { return ends_; }
  [[nodiscard]] std::uint64_t gid_prefix() const { return gid_prefix_; }
  // Indices in ends(), or kNobody. A GID is of this subnet by its prefix, or link-local. A GUID is
  // a port's own, or one that it has been given.
  [[nodiscard]] std::uint32_t end_of(Lid lid) const;
  [[nodiscard]] std::uint32_t end_of(const Gid& gid) const;
  [[nodiscard]] std::uint32_t end_of(Guid guid) const;
  [[nodiscard]] Gid gid_of(const ViewEnd& end) const;
  // The same with the prefix of the subnet: a port may be known by several GIDs.
  [[nodiscard]] Gid with_prefix(const Gid& gid) const {
    return make_gid(gid_prefix_, guid_of(gid));
  }
  // GUIDs that ports have beside their own. Who changes them forgets those of ports that are gone.
  [[nodiscard]] const AliasMap& aliases() const { return aliases_; }
  [[nodiscard]] AliasMap& aliases() { return aliases_; }
  // Of a port's table, the first of which is its own; 0: the entry is free.
  [[nodiscard]] Guid guid_at(Guid port, std::size_t index) const {
    return index == 0 ? port : aliases_.at(port, index);
  }
  // Whether it is of this subnet, be there such a port or not.
  [[nodiscard]] bool is_here(const Gid& gid) const;
  [[nodiscard]] const SubnetPort& port_of(const ViewEnd& end) const { return subnet_.port(end.at); }
  // The LID that a node's records are under: of a switch that of port 0, of an adapter's port its
  // own. 0: it has none.
  [[nodiscard]] Lid lid_of(const PortRef& at) const;

  // Whether a port is in a partition, as a full member or a limited one.
  [[nodiscard]] bool has_partition(const ViewEnd& end, PKey pkey) const;
  // A P_Key of `from` by which two ports may talk: of the partition `wanted`, or of that with the
  // lowest number, as a full member where it is both. IBA 10.9.3.
  [[nodiscard]] std::optional<PKey> common_pkey(const ViewEnd& from, const ViewEnd& to,
                                                std::optional<PKey> wanted = {}) const;
  // A P_Key of `from` whose partition `to` is in too, though both may be limited members: by it
  // each may talk to a full member between them. Of the partition `wanted`, or of that with the
  // lowest number.
  [[nodiscard]] std::optional<PKey> common_partition(const ViewEnd& from, const ViewEnd& to,
                                                     std::optional<PKey> wanted = {}) const;
  // Whether one may be told of the other: they may talk, or are the same.
  [[nodiscard]] bool shares_partition(const ViewEnd& a, const ViewEnd& b) const {
    return a.at == b.at || common_pkey(a, b).has_value();
  }

  // The end port that a LID leads to: that which has it, or of an additional one that where it is
  // routed to. An index in ends(), or kNobody.
  [[nodiscard]] std::uint32_t target_of(Lid lid) const;
  // From an end port to a LID. Nothing: the tables do not lead there.
  [[nodiscard]] std::optional<Way> way(const ViewEnd& from, Lid to) const;
  // On which the ways of an end port are free of deadlock.
  [[nodiscard]] Sl level(const ViewEnd& from, Lid to) const;
  // Whether paths have to keep to their levels to stay free of deadlock.
  [[nodiscard]] bool uses_levels() const { return routes_.uses_levels(); }
  // Where a switch sends what is for a LID; kNoPort.
  [[nodiscard]] std::uint8_t output(std::uint32_t node, Lid lid) const {
    return routes_.port(switch_index_[node], lid);
  }

 private:
  // Of a port what a way needs, close together: ways are looked up a hundred thousand times a
  // second.
  struct Link {
    std::uint32_t peer = kNobody;  // node; kNobody: there is no link
    std::uint8_t peer_port = 0;
    std::uint8_t mtu = 0;  // codes
    std::uint8_t rate = 0;
    bool peer_is_switch = false;
  };
  void add_links(const SubnetNode& node);

  Subnet subnet_;
  Routes routes_;
  std::uint64_t gid_prefix_ = 0;
  std::vector<SwitchIndex> switch_index_;  // by node; of switches
  std::vector<Link> links_;                // of all nodes, port by port from 0 on
  std::vector<std::uint32_t> first_link_;  // by node, and one more
  std::vector<ViewEnd> ends_;
  std::vector<std::uint32_t> by_lid_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_guid_;     // port GUIDs
  std::unordered_map<std::uint16_t, std::uint32_t> additional_;  // by LID
  AliasMap aliases_;
};

}  // namespace weft::sm
