// SPDX-License-Identifier: Apache-2.0
// An extender of a lab that is a router: the router itself, and what it has of its own subnet,
// which are the ports of its node, and the subnet administrator that it asks for paths and for
// multicast groups.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "daemon/sa_paths.h"
#include "daemon/wan/learned_routes.h"
#include "daemon/wan/router_groups.h"
#include "fabric/channel_adapter.h"
#include "link/port.h"
#include "wan/router/router.h"

namespace weft::daemon {

class SubnetRouter final : private fabric::Forwarder,
                           private wan::RouterUser,
                           private SaPathUser,
                           private fabric::Node::PortObserver {
 public:
  // `node` stays until stop(), `pool` longer. `port`: those that lead to other sites are like it.
  // `wake`: call run() soon; comes once until run() is called.
  SubnetRouter(fabric::ChannelAdapter& node, const link::PortOptions& port, link::PacketPool& pool,
               std::function<void()> wake);
  SubnetRouter(const SubnetRouter&) = delete;
  SubnetRouter& operator=(const SubnetRouter&) = delete;
  ~SubnetRouter() override = default;

  // Takes the node's packets for other subnets. Errors: a port has no room for its questions.
  Expected<void> start();
  // Lets go of the node, and of the packets that wait.
  void stop();

  // One more site: what its tunnel is joined to. Its subnets are those of the prefixes.
  [[nodiscard]] link::Port& add_site(const std::vector<GidPrefix>& prefixes);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // Prefixes of sites that were learned, all of them, in place of those of the last time. Those
  // that add_site() had go first.
  void set_learned(const std::vector<LearnedRoute>& routes);
  [[nodiscard]] std::size_t learned(std::uint32_t site) const;

  // How many multicast groups a site wants, in the order of add_site().
  [[nodiscard]] std::size_t groups_wanted(std::size_t site) const {
    return router_.groups().wanted_size(static_cast<std::uint32_t>(site));
  }

  // As docs/cli.md has it.
  [[nodiscard]] nlohmann::json report() const;

 private:
  // fabric::Forwarder
  void from_subnet(link::PacketPtr packet, Time now) override;
  // wan::RouterUser
  bool ask(std::uint64_t number, const wan::PathQuestion& question, Time now) override;
  void into_subnet(link::PacketPtr packet, std::uint8_t port, Time now) override;
  void wake() override { wake_(); }
  // SaPathUser
  void path_answered(std::uint64_t number, const SaPathAnswer& answer) override;
  // fabric::Node::PortObserver
  void port_changed(mgmt::PortNumber port, bool reregister) override;

  // The port by which paths are asked for and taken; nothing: none is Active.
  [[nodiscard]] std::optional<mgmt::PortNumber> usable_port() const;
  // `anew`: what the subnet's manager was told by now, it has forgotten.
  void look_at_ports(bool anew);

  fabric::ChannelAdapter& node_;
  std::function<void()> wake_;
  SaPaths questions_;
  std::vector<LearnedRoute> learned_;  // those in use
  wan::Router router_;
  RouterGroups groups_;
};

}  // namespace weft::daemon
