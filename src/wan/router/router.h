// SPDX-License-Identifier: Apache-2.0
// A router between its own subnet and those of other sites (IBA 19): what comes from the subnet
// goes to the site that has the longest prefix of its DGID, and what comes from a site goes into
// the subnet by the path that its administrator knows to the DGID. The routers at both ends of a
// tunnel are one hop.
//
//   fabric -> from_subnet() -> prefixes -> port of a site  <-- link --> tunnel
//   fabric <- into_subnet() <- paths    <- port of a site  <-- link --> tunnel
//
// Packets to multicast groups go to all sites that want them, and what comes from a site goes to
// the group in the subnet, from the port of the router that is in it.
//
// A core: it is run when it was woken or its deadline has come, as a link::Port is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/gid_prefix_table.h"
#include "base/time.h"
#include "link/packet.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "wan/router/global_packet.h"
#include "wan/router/local_paths.h"
#include "wan/router/multicast_routes.h"
#include "wan/router/router_counters.h"

namespace weft::wan {

// The subnet that a router is in.
class RouterUser {
 public:
  virtual ~RouterUser() = default;
  // As LocalPathsUser::ask() has it; the answers are for Router::paths().
  virtual bool ask(std::uint64_t number, const PathQuestion& question, Time now) = 0;
  // Sends it by a port of the router; its LRH is right but for the VL.
  virtual void into_subnet(link::PacketPtr packet, std::uint8_t port, Time now) = 0;
  // Call run() soon. Comes once until run() is called.
  virtual void wake() = 0;
};

struct RouterOptions {
  link::PortOptions port{.data_vls = 15};  // of the ports that lead to other sites
  LocalPaths::Options paths{};
  MulticastRoutes::Options groups{};
};

class Router final : private link::PortOwner, private LocalPathsUser {
 public:
  // Both outlive it; copies of packets come from `pool`.
  Router(const RouterOptions& options, link::PacketPool& pool, RouterUser& user);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  ~Router() override = default;

  // One more site: what its tunnel is joined to, and what prefixes() have as its value. The port
  // becomes Active by itself, and is disconnected before this goes.
  std::uint32_t add_site();
  [[nodiscard]] link::Port& site(std::uint32_t index) { return *sites_[index]; }
  [[nodiscard]] const link::Port& site(std::uint32_t index) const { return *sites_[index]; }
  // Where other subnets are; each value is a site's.
  [[nodiscard]] PrefixTable& prefixes() { return prefixes_; }
  [[nodiscard]] const PrefixTable& prefixes() const { return prefixes_; }
  // The prefix of the own subnet, which is never looked for elsewhere.
  void set_subnet(std::uint64_t prefix) { subnet_ = GidPrefix(prefix); }
  [[nodiscard]] LocalPaths& paths() { return paths_; }
  [[nodiscard]] const LocalPaths& paths() const { return paths_; }

  // The groups that the own subnet has; wakes.
  void set_groups(const std::vector<LocalGroup>& groups, Time now);
  [[nodiscard]] const MulticastRoutes& groups() const { return groups_; }

  // A packet that came in from the subnet and is not for the router itself.
  void from_subnet(link::PacketPtr packet, Time now);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const RouterCounters& counters() const { return counters_; }

 private:
  // link::PortOwner, of the ports to sites
  void received(link::Port& port, link::PacketPtr packet, Time now) override;
  void state_changed(link::Port& port, link::PortState before, Time now) override;
  void wake(link::Port& port) override;
  // LocalPathsUser
  bool ask(std::uint64_t number, const PathQuestion& question, Time now) override;
  void ready(link::PacketPtr packet, const LocalPath& path, Time now) override;
  void lost(NoPath why, std::size_t packets) override;

  // IBA 4.1.1: of a subnet that has no other yet; nothing is routed to it or from it.
  static constexpr std::uint64_t kLinkLocal = 0xFE80'0000'0000'0000;

  void to_sites(link::PacketPtr packet, const GlobalPacket& read, Time now);
  void to_site(std::uint32_t index, link::PacketPtr packet, Time now);
  void to_group(link::PacketPtr packet, const wire::Grh& grh, Time now);
  void take_interest(std::uint32_t site, const link::Packet& packet, Time now);
  void tell_sites(Time now);
  void look_at_sites(Time now);

  void drop(RouterCounter why) { counters_.add_in_turn(why); }
  void wake();

  const RouterOptions options_;
  link::PacketPool& pool_;
  RouterUser& user_;
  RouterCounters counters_;
  GidPrefix subnet_{kLinkLocal};
  PrefixTable prefixes_;
  LocalPaths paths_;
  MulticastRoutes groups_;
  std::vector<std::unique_ptr<link::Port>> sites_;
  std::vector<bool> up_;  // of sites_, as groups_ knows it
  bool woken_ = false;
};

}  // namespace weft::wan
