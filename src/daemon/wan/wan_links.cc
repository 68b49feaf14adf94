// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/wan_links.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

// Of the ports between the extender and the WAN, for each lane: what comes while a frame is put
// together, blocks. The standard's largest credit.
constexpr std::uint32_t kLocalBuffer = 2048;

std::string_view text(fabric::ExtenderMode mode) {
  switch (mode) {
    case fabric::ExtenderMode::kBridge:
      return "bridge";
    case fabric::ExtenderMode::kRouter:
      return "router";
    case fabric::ExtenderMode::kRoce:
      break;
  }
  return "roce";
}

}  // namespace

struct WanLinks::Extender {
  const fabric::LabExtender& lab;
  std::unique_ptr<SubnetRouter> router;   // null: it is none
  std::unique_ptr<LearnedRoutes> routes;  // null: it has no route_table
  std::unique_ptr<RoceSide> roce;         // null: hosts have no part in it
  bool near_woken = false;                // the router, or what is between it and hosts
  std::unique_ptr<SiteTunnels> tunnels;   // joined to ports of these
};

WanLinks::WanLinks(fabric::Fabric& fabric, Entropy& entropy)
    : fabric_(fabric), entropy_(entropy), fibres_(fabric) {
}

WanLinks::~WanLinks() = default;

Expected<std::unique_ptr<WanLinks>> WanLinks::open(fabric::Fabric& fabric, io::Reactor& reactor,
                                                   Entropy& entropy) {
  std::unique_ptr<WanLinks> links(new WanLinks(fabric, entropy));
  for (const fabric::LabExtender& extender : fabric.lab().extenders) {
    if (!fabric.has_node(extender.node)) continue;
    if (extender.on_fibres()) {
      if (auto opened = links->fibres_.open(extender, reactor); !opened) {
        return tl::unexpected(opened.error());
      }
      continue;
    }
    if (auto opened = links->open_extender(extender, reactor); !opened) {
      return tl::unexpected(opened.error());
    }
  }
  return links;
}

Expected<void> WanLinks::open_extender(const fabric::LabExtender& lab, io::Reactor& reactor) {
  const std::string name = "extender " + fabric_.lab().nodes[lab.node].name;
  const auto wrong = [&](const Error& error) {
    return fail(error.code, fmt::format("{}: {}", name, error.message));
  };
  auto tunnels = SiteTunnels::open(lab, name, fabric_.pool(), entropy_, reactor);
  if (!tunnels) return wrong(tunnels.error());
  auto& extender = *extenders_.emplace_back(new Extender{
      .lab = lab, .router = {}, .routes = {}, .roce = {}, .tunnels = std::move(*tunnels)});
  if (lab.mode == fabric::ExtenderMode::kRouter) {
    if (auto made = make_router(extender, reactor); !made) return wrong(made.error());
  }
  if (lab.mode == fabric::ExtenderMode::kRoce) {
    auto side = RoceSide::open(lab.hosts, port_options(lab), fabric_.pool(), reactor,
                               [&extender] { extender.near_woken = true; });
    if (!side) return wrong(side.error());
    extender.roce = std::move(*side);
  }
  return {};
}

Expected<void> WanLinks::make_router(Extender& extender, io::Reactor& reactor) {
  extender.router =
      std::make_unique<SubnetRouter>(fabric_.router(extender.lab.node), port_options(extender.lab),
                                     fabric_.pool(), [&extender] { extender.near_woken = true; });
  if (extender.lab.route_table) {
    auto routes = LearnedRoutes::open(extender.lab, reactor, [&extender](const auto& learned) {
      extender.router->set_learned(learned);
    });
    if (!routes) return tl::unexpected(routes.error());
    extender.routes = std::move(*routes);
  }
  return extender.router->start();
}

link::PortOptions WanLinks::port_options(const fabric::LabExtender& lab) const {
  return {.data_vls = fabric_.lab().nodes[lab.node].limits.data_vls, .vl_buffer = kLocalBuffer};
}

link::Port& WanLinks::near_port(Extender& extender, std::size_t index) {
  if (extender.router != nullptr) {
    return extender.router->add_site(extender.lab.remotes[index].prefixes);
  }
  if (extender.roce != nullptr) return extender.roce->add_site();
  fabric::NodePort& port = fabric_.node(extender.lab.node).port(extender.lab.port_of(index));
  // What the port of the other site enables is the subnet manager's business, as it is here.
  port.set_far_partner(fabric_.lab().nodes[extender.lab.node].limits, std::nullopt, std::nullopt);
  return port.link();
}

void WanLinks::add_remote(Extender& extender, std::size_t index, Time now) {
  wan::TunnelOptions options;
  options.port = port_options(extender.lab);
  if (extender.router != nullptr) options.mode = wan::TunnelMode::kRouter;
  if (extender.roce != nullptr) options.mode = wan::TunnelMode::kRoce;
  extender.tunnels->add(near_port(extender, index), options, now);
}

Expected<SiteTunnels*> WanLinks::open_tunnels(const fabric::LabExtender& lab,
                                              const std::string& name, io::Reactor& reactor) {
  auto tunnels = SiteTunnels::open(lab, name, fabric_.pool(), entropy_, reactor);
  if (!tunnels) return fail(tunnels.error().code, name + ": " + tunnels.error().message);
  return others_.emplace_back(std::move(*tunnels)).get();
}

void WanLinks::start(Time now) {
  fibres_.start(now);
  for (const auto& extender : extenders_) {
    for (std::size_t i = 0; i < extender->lab.remotes.size(); ++i)
      add_remote(*extender, i, now);
    if (extender->routes != nullptr) extender->routes->start();
  }
}

void WanLinks::stop(Time now) {
  fibres_.stop(now);
  for (const auto& extender : extenders_) {
    extender->tunnels->stop(now);
    if (extender->router != nullptr) extender->router->stop();
    if (extender->roce != nullptr) extender->roce->stop();
  }
  for (const auto& tunnels : others_)
    tunnels->stop(now);
}

std::optional<Time> WanLinks::near_deadline(const Extender& extender) {
  if (extender.near_woken) return Time{};
  if (extender.router != nullptr) return extender.router->deadline();
  return extender.roce != nullptr ? extender.roce->deadline() : std::nullopt;
}

bool WanLinks::run_near(Extender& extender, Time now) {
  const auto due = near_deadline(extender);
  if (!due || *due > now) return false;
  extender.near_woken = false;
  if (extender.router != nullptr) extender.router->run(now);
  if (extender.roce != nullptr) extender.roce->run(now);
  return true;
}

bool WanLinks::run(Time now) {
  bool worked = fibres_.run(now);
  for (const auto& extender : extenders_) {
    worked |= extender->tunnels->run(now);
    worked |= run_near(*extender, now);
  }
  for (const auto& tunnels : others_)
    worked |= tunnels->run(now);
  return worked;
}

std::optional<Time> WanLinks::deadline() const {
  std::optional<Time> first;
  const auto earlier = [&first](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  earlier(fibres_.deadline());
  for (const auto& extender : extenders_) {
    earlier(near_deadline(*extender));
    earlier(extender->tunnels->deadline());
  }
  for (const auto& tunnels : others_)
    earlier(tunnels->deadline());
  return first;
}

Json WanLinks::report(const Extender& extender, std::size_t index) {
  Json row = extender.tunnels->report(index);
  if (extender.lab.mode == fabric::ExtenderMode::kBridge) {
    row["port"] = extender.lab.port_of(index);
  }
  if (extender.router != nullptr) row["groups"] = extender.router->groups_wanted(index);
  if (extender.routes != nullptr) {
    row["learned"] = extender.router->learned(static_cast<std::uint32_t>(index));
  }
  return row;
}

Json WanLinks::report() const {
  Json out = fibres_.report();
  for (const auto& extender : extenders_) {
    Json remotes = Json::array();
    for (std::size_t i = 0; i < extender->tunnels->size(); ++i)
      remotes.push_back(report(*extender, i));
    Json row = extender->tunnels->report();
    row["extender"] = fabric_.lab().nodes[extender->lab.node].name;
    row["mode"] = text(extender->lab.mode);
    row["remotes"] = std::move(remotes);
    if (extender->router != nullptr) row["router"] = extender->router->report();
    if (extender->routes != nullptr) {
      if (!extender->routes->trouble().empty()) row["routes_unread"] = extender->routes->trouble();
      row["routes_left_out"] = extender->routes->left_out();
    }
    if (extender->roce != nullptr) row["roce"] = extender->roce->report();
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace weft::daemon
