// SPDX-License-Identifier: Apache-2.0
// Joins subnets that ports of one node are in (IBA 19): a packet leaves by the port whose subnet,
// or whose next router, has the longest prefix of its DGID, with one hop less and by the path that
// the subnet administrator there knows. The runtime does the latter two (Packet::cross()).
//
// What it does not do: multicast, and subnets beyond a WAN, which are wan::Router's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/gid_prefix_table.h"
#include "service/service.h"

namespace weft::service {

enum class RouterDrop : std::uint8_t {
  kNoGrh,
  kManagement,
  kMulticast,
  kLinkLocal,
  kNoRoute,
  kNotAway,
  kForeign,
  kCount
};

class Router final : public Service {
 public:
  // The subnet that a port of the node is in, by its prefix; 0: none by now, or one without a
  // prefix of its own (link-local), to which nothing is routed. Routes by add_route() go first.
  void set_subnet(std::uint8_t port, std::uint64_t prefix);
  // Other subnets beyond one of these.
  void add_route(const GidPrefix& prefix, std::uint8_t port);
  [[nodiscard]] const PrefixTable& routes() const { return routes_; }

  [[nodiscard]] std::string_view name() const override { return "router"; }
  [[nodiscard]] std::span<const CounterInfo> drop_reasons() const override { return kReasons; }
  [[nodiscard]] Verdict handle(Packet& packet, Time now) override;
  // Packets sent to each port.
  [[nodiscard]] std::vector<CounterValue> counters() const override;

 private:
  static constexpr std::array<CounterInfo, static_cast<std::size_t>(RouterDrop::kCount)> kReasons{{
      {"no_grh", "packets without a global route header, or raw"},
      {"subnet_management", "subnet management, which does not leave its subnet"},
      {"multicast", "packets from or to a multicast GID"},
      {"link_local", "packets with a GID of the link-local prefix"},
      {"no_route", "packets to GIDs whose subnet is not known"},
      {"not_away", "packets to the subnet that they came from"},
      {"foreign_source", "packets whose SGID is not of the subnet that they came from"},
  }};
  static constexpr FlowTag kRoutes = 1;  // of all verdicts

  void rebuild();

  std::map<std::uint8_t, std::uint64_t> subnets_;  // by port
  std::vector<std::pair<GidPrefix, std::uint8_t>> given_;
  PrefixTable routes_;  // each value is a port
  Tally out_;
};

}  // namespace weft::service
