// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/wan_links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "daemon/counters_json.h"
#include "daemon/wan/addressed_path.h"
#include "daemon/wan/remote_legs.h"
#include "daemon/wan/site_calls.h"
#include "daemon/wan/site_identity.h"
#include "daemon/wan/site_keys.h"
#include "fabric/lab_fec_text.h"

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

std::string_view text(wan::Session::State state) {
  switch (state) {
    case wan::Session::State::kClosed:
      return "closed";
    case wan::Session::State::kGreeting:
      return "looking";
    case wan::Session::State::kRefused:
      return "refused";
    case wan::Session::State::kUp:
      return "up";
  }
  return "";
}

wan::TrafficClasses classes_of(const fabric::LabDscp& dscp) {
  // Its upper six bits (RFC 2474, 3).
  const auto as_byte = [](std::uint8_t value) { return static_cast<std::uint8_t>(value << 2); };
  wan::TrafficClasses out{.of_sl = {}, .control = as_byte(dscp.control)};
  std::ranges::transform(dscp.of_sl, out.of_sl.begin(), as_byte);
  return out;
}

}  // namespace

struct WanLinks::Remote {
  Remote(const fabric::LabRemote& of, const fabric::LabExtender& extender, link::Port& near_port,
         std::vector<RemotePath*> paths, wan::BulkBuffer::Share& share,
         const wan::TunnelOptions& options, link::PacketPool& pool, Entropy& entropy,
         wan::TunnelUser& user, Time now)
      : lab(of),
        near(near_port),
        legs(std::move(paths), of, extender, now),
        share(share),
        link(pool),
        tunnel(options, share, pool, entropy, legs.path(), user) {
    legs.set_tunnel(tunnel);
  }

  const fabric::LabRemote& lab;
  link::Port& near;
  RemoteLegs legs;
  wan::BulkBuffer::Share& share;
  link::DirectLink link;
  wan::TunnelEnd tunnel;
};

struct WanLinks::Extender {
  const fabric::LabExtender& lab;
  std::unique_ptr<RemotePaths> paths;
  wan::BulkBuffer buffer;
  std::unique_ptr<SubnetRouter> router;   // null: it is none
  std::unique_ptr<LearnedRoutes> routes;  // null: it has no route_table
  std::unique_ptr<RoceSide> roce;         // null: hosts have no part in it
  bool near_woken = false;                // the router, or what is between it and hosts
  std::vector<std::unique_ptr<Remote>> remotes;
  std::vector<std::vector<io::TlsFingerprint>> remote_keys;
  std::unique_ptr<SiteKeys> keys;    // null: it is insecure
  std::unique_ptr<SiteCalls> calls;  // null: it has no setup by TCP
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
  auto paths = RemotePaths::open(lab, reactor);
  if (!paths) return wrong(paths.error());
  const wan::BulkBuffer::Options options{
      .lane_bytes = lab.buffer_bytes, .block = {}, .remotes = lab.remotes.size()};
  auto& extender = *extenders_.emplace_back(new Extender{.lab = lab,
                                                         .paths = std::move(*paths),
                                                         .buffer = wan::BulkBuffer(options),
                                                         .router = {},
                                                         .routes = {},
                                                         .roce = {},
                                                         .remotes = {},
                                                         .remote_keys = {},
                                                         .keys = nullptr,
                                                         .calls = nullptr});
  extender.paths->set_landing(extender.buffer.landing());
  if (lab.mode == fabric::ExtenderMode::kRouter) {
    if (auto made = make_router(extender, reactor); !made) return wrong(made.error());
  }
  if (lab.mode == fabric::ExtenderMode::kRoce) {
    auto side = RoceSide::open(lab.hosts, port_options(lab), fabric_.pool(), reactor,
                               [&extender] { extender.near_woken = true; });
    if (!side) return wrong(side.error());
    extender.roce = std::move(*side);
  }
  if (lab.tcp_setup) {
    auto calls = SiteCalls::open(extender.paths->locals(), reactor);
    if (!calls) return wrong(calls.error());
    extender.calls = std::move(*calls);
  }
  if (lab.insecure) return {};
  auto site = load_site(lab);
  if (!site) return wrong(site.error());
  auto remote_keys = read_remote_keys(lab, (*site)->fingerprint());
  if (!remote_keys) return wrong(remote_keys.error());
  extender.remote_keys = std::move(*remote_keys);
  auto keys = SiteKeys::open(name, std::move(*site), extender.paths->locals(), reactor, {});
  if (!keys) return wrong(keys.error());
  extender.keys = std::move(*keys);
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
  const fabric::LabRemote& lab = extender.lab.remotes[index];
  wan::TunnelOptions options;
  options.port = port_options(extender.lab);
  if (extender.router != nullptr) options.mode = wan::TunnelMode::kRouter;
  if (extender.roce != nullptr) options.mode = wan::TunnelMode::kRoce;
  options.sender.kept_packets = most_packets(extender.lab);
  if (lab.dscp) options.sender.classes = classes_of(*lab.dscp);
  if (lab.fec) options.fec = {.frames = lab.fec->frames, .repairs = lab.fec->repairs};
  wan::TunnelUser& user = *this;
  link::Port& near = near_port(extender, index);
  auto& remote = *extender.remotes.emplace_back(std::make_unique<Remote>(
      lab, extender.lab, near, extender.paths->add(index, now), extender.buffer.share(index),
      options, fabric_.pool(), entropy_, user, now));
  if (extender.keys) {
    const auto seals = remote.legs.seals();
    extender.keys->add({.name = lab.name,
                        .address = address_of(lab),
                        .more = more_addresses_of(lab),
                        .keys = extender.remote_keys[index],
                        .path = seals.front(),
                        .more_paths = {seals.begin() + 1, seals.end()},
                        .changed = [&remote] { remote.tunnel.path_changed(); }});
  }
  remote.link.join(near, remote.tunnel.port(), now);
  remote.tunnel.start(now);
  if (!extender.calls) return;
  // It is unplugged now, until a call stands.
  remote.tunnel.stop(now);
  follow_calls(remote, extender, index);
}

// The tunnel is there while a call stands, and a remote without an address is where that is from.
void WanLinks::follow_calls(Remote& remote, Extender& extender, std::size_t index) {
  SiteCalls& calls = *extender.calls;
  calls.add({.name = remote.lab.name,
             .address = address_of(remote.lab),
             .own = extender.paths->locals()[listen_for(extender.lab, remote.lab, 0)],
             .layers = std::string(wan::layers_within_ip(remote.lab.encapsulation)),
             .changed = [&remote](bool there, Time now) {
               there ? remote.tunnel.start(now) : remote.tunnel.stop(now);
             }});
  remote.legs.set_admits([&calls, index](const Gid& host) { return calls.is_at(index, host); });
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
    for (const auto& remote : extender->remotes) {
      remote->tunnel.stop(now);
      remote->tunnel.run(now);
      remote->near.connect(nullptr, now);
      remote->tunnel.port().connect(nullptr, now);
    }
    if (extender->router != nullptr) extender->router->stop();
    if (extender->roce != nullptr) extender->roce->stop();
  }
}

void WanLinks::wake(wan::TunnelEnd& end) {
  woken_.push_back(&end);
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
    worked |= extender->keys && extender->keys->run(now);
    worked |= extender->calls && extender->calls->run(now);
    worked |= extender->paths->run(now);
    for (const auto& remote : extender->remotes)
      remote->legs.run(now);
  }
  std::swap(running_, woken_);
  for (wan::TunnelEnd* const end : running_)
    end->run(now);
  worked |= !running_.empty();
  running_.clear();
  for (const auto& extender : extenders_) {
    for (const auto& remote : extender->remotes) {
      const auto due = remote->tunnel.deadline();
      if (!due || *due > now) continue;
      remote->tunnel.run(now);
      worked = true;
    }
    worked |= run_near(*extender, now);
    extender->paths->watch_for_room();
  }
  return worked;
}

std::optional<Time> WanLinks::deadline() const {
  if (!woken_.empty()) return Time{};
  std::optional<Time> first;
  const auto earlier = [&first](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  earlier(fibres_.deadline());
  for (const auto& extender : extenders_) {
    earlier(near_deadline(*extender));
    if (extender->keys) earlier(extender->keys->deadline());
    if (extender->calls) earlier(extender->calls->deadline());
    earlier(extender->paths->deadline());
    for (const auto& remote : extender->remotes) {
      earlier(remote->tunnel.deadline());
      earlier(remote->legs.deadline());
    }
  }
  return first;
}

Json WanLinks::report(const Extender& extender, std::size_t index) {
  const Remote& remote = *extender.remotes[index];
  const wan::Session& session = remote.tunnel.session();
  Json row{{"remote", remote.lab.name},
           {"address", remote.legs.remote_text()},
           {"session", text(session.state())},
           {"active", remote.near.state() == link::PortState::kActive},
           {"sealed", !remote.legs.seals().empty()},
           {"buffer_bytes", remote.share.used_bytes()},
           {"buffer_most_bytes", remote.share.most_used_bytes()}};
  if (extender.lab.mode == fabric::ExtenderMode::kBridge) {
    row["port"] = extender.lab.port_of(index);
  }
  if (extender.router != nullptr) row["groups"] = extender.router->groups_wanted(index);
  if (extender.routes != nullptr) {
    row["learned"] = extender.router->learned(static_cast<std::uint32_t>(index));
  }
  if (remote.lab.fec) row["fec"] = fabric::fec_words(*remote.lab.fec);
  for (const GidPrefix& prefix : remote.lab.prefixes)
    row["prefixes"].push_back(prefix.to_string());
  std::string why = session.why();
  std::vector<CounterValue> counters = remote.tunnel.counters().snapshot();
  accumulate(counters, remote.legs.counters());
  if (!remote.legs.seals().empty()) {
    const SiteKeys::Report keys = extender.keys->report(index);
    if (keys.cipher) row["cipher"] = name_of(*keys.cipher);
    row["control"] = keys.connected ? "connected" : "none";
    if (!session.up() && remote.legs.seals().front()->needs_keys()) why = keys.why;
  }
  if (Json states = remote.legs.neighbours(); !states.empty())
    row["neighbours"] = std::move(states);
  if (Json paths = remote.legs.report(); !paths.empty()) row["paths"] = std::move(paths);
  if (extender.calls) {
    const SiteCalls::Report call = extender.calls->report(index);
    row["control"] = call.there ? "connected" : "none";
    if (!call.there) why = call.why;
  }
  row["counters"] = counters_json(counters);
  if (!why.empty()) row["why"] = why;
  return row;
}

Json WanLinks::report() const {
  Json out = fibres_.report();
  for (const auto& extender : extenders_) {
    Json remotes = Json::array();
    for (std::size_t i = 0; i < extender->remotes.size(); ++i)
      remotes.push_back(report(*extender, i));
    std::vector<CounterValue> counters = extender->paths->counters();
    std::vector<std::string> listens;
    for (const io::SocketAddress& local : extender->paths->locals())
      listens.push_back(local.to_string());
    Json row{{"extender", fabric_.lab().nodes[extender->lab.node].name},
             {"mode", text(extender->lab.mode)},
             {"listen", fmt::format("{}", fmt::join(listens, ", "))},
             {"remotes", std::move(remotes)}};
    if (extender->keys) {
      accumulate(counters, extender->keys->counters());
      row["fingerprint"] = extender->keys->fingerprint().to_string();
      if (!extender->keys->refused().empty()) row["refused"] = extender->keys->refused();
    }
    if (extender->calls) {
      accumulate(counters, extender->calls->counters());
      if (!extender->calls->refused().empty()) row["refused"] = extender->calls->refused();
    }
    row["counters"] = counters_json(counters);
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
