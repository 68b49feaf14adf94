// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/wan_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "daemon/counters_json.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

// Of the ports between the extender and the WAN, for each lane: what comes while a frame is put
// together, blocks. The standard's largest credit.
constexpr std::uint32_t kLocalBuffer = 2048;

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

}  // namespace

struct WanLinks::Remote {
  const fabric::LabRemote& lab;
  link::Port& near;
  UdpPath& path;
  wan::BulkBuffer::Share& share;
  link::DirectLink link;
  wan::TunnelEnd tunnel;
};

struct WanLinks::Extender {
  const fabric::LabExtender& lab;
  std::unique_ptr<WanSocket> socket;
  wan::BulkBuffer buffer;
  std::unique_ptr<SubnetRouter> router;  // null: it is a bridge
  bool router_woken = false;
  std::vector<std::unique_ptr<Remote>> remotes;
};

WanLinks::WanLinks(fabric::Fabric& fabric, Entropy& entropy) : fabric_(fabric), entropy_(entropy) {
}

WanLinks::~WanLinks() = default;

Expected<std::unique_ptr<WanLinks>> WanLinks::open(fabric::Fabric& fabric, io::Reactor& reactor,
                                                   Entropy& entropy) {
  std::unique_ptr<WanLinks> links(new WanLinks(fabric, entropy));
  for (const fabric::LabExtender& extender : fabric.lab().extenders) {
    if (!fabric.has_node(extender.node)) continue;
    if (auto opened = links->open_extender(extender, reactor); !opened) {
      return tl::unexpected(opened.error());
    }
  }
  return links;
}

Expected<void> WanLinks::open_extender(const fabric::LabExtender& lab, io::Reactor& reactor) {
  auto socket = WanSocket::open({.address = lab.listen.host, .port = lab.listen.port}, reactor);
  if (!socket) {
    return fail(
        socket.error().code,
        fmt::format("extender {}: {}", fabric_.lab().nodes[lab.node].name, socket.error().message));
  }
  const wan::BulkBuffer::Options options{
      .lane_bytes = lab.buffer_bytes, .block = {}, .remotes = lab.remotes.size()};
  extenders_.emplace_back(new Extender{.lab = lab,
                                       .socket = std::move(*socket),
                                       .buffer = wan::BulkBuffer(options),
                                       .router = {},
                                       .remotes = {}});
  return lab.mode == fabric::ExtenderMode::kRouter ? make_router(*extenders_.back())
                                                   : Expected<void>{};
}

Expected<void> WanLinks::make_router(Extender& extender) {
  extender.router =
      std::make_unique<SubnetRouter>(fabric_.router(extender.lab.node), port_options(extender.lab),
                                     [&extender] { extender.router_woken = true; });
  return extender.router->start();
}

link::PortOptions WanLinks::port_options(const fabric::LabExtender& lab) const {
  return {.data_vls = fabric_.lab().nodes[lab.node].limits.data_vls, .vl_buffer = kLocalBuffer};
}

link::Port& WanLinks::near_port(Extender& extender, std::size_t index) {
  if (extender.router != nullptr) {
    return extender.router->add_site(extender.lab.remotes[index].prefixes);
  }
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
  options.sender.kept_packets = most_packets(extender.lab);
  std::optional<io::SocketAddress> address;
  if (lab.address) address = {.address = lab.address->host, .port = lab.address->port};
  UdpPath& path = extender.socket->add(address);
  wan::BulkBuffer::Share& share = extender.buffer.share(index);
  wan::TunnelUser& user = *this;
  link::Port& near = near_port(extender, index);
  auto& remote = *extender.remotes.emplace_back(
      new Remote{.lab = lab,
                 .near = near,
                 .path = path,
                 .share = share,
                 .link = link::DirectLink(fabric_.pool()),
                 .tunnel = wan::TunnelEnd(options, share, fabric_.pool(), entropy_, path, user)});
  path.set_user({.received = [&remote](Bytes frame, Time at) { remote.tunnel.receive(frame, at); },
                 .changed = [&remote](Time) { remote.tunnel.path_changed(); },
                 .lost = [&remote] { return !remote.tunnel.session().up(); }});
  remote.link.join(near, remote.tunnel.port(), now);
  remote.tunnel.start(now);
}

void WanLinks::start(Time now) {
  for (const auto& extender : extenders_) {
    for (std::size_t i = 0; i < extender->lab.remotes.size(); ++i)
      add_remote(*extender, i, now);
  }
}

void WanLinks::stop(Time now) {
  for (const auto& extender : extenders_) {
    for (const auto& remote : extender->remotes) {
      remote->tunnel.stop(now);
      remote->tunnel.run(now);
      remote->near.connect(nullptr, now);
      remote->tunnel.port().connect(nullptr, now);
    }
    if (extender->router != nullptr) extender->router->stop();
  }
}

void WanLinks::wake(wan::TunnelEnd& end) {
  woken_.push_back(&end);
}

bool WanLinks::run_router(Extender& extender, Time now) {
  if (extender.router == nullptr) return false;
  const auto due = extender.router->deadline();
  if (!std::exchange(extender.router_woken, false) && (!due || *due > now)) return false;
  extender.router->run(now);
  return true;
}

bool WanLinks::run(Time now) {
  std::swap(running_, woken_);
  for (wan::TunnelEnd* const end : running_)
    end->run(now);
  bool worked = !running_.empty();
  running_.clear();
  for (const auto& extender : extenders_) {
    for (const auto& remote : extender->remotes) {
      const auto due = remote->tunnel.deadline();
      if (!due || *due > now) continue;
      remote->tunnel.run(now);
      worked = true;
    }
    worked |= run_router(*extender, now);
    extender->socket->watch_for_room();
  }
  return worked;
}

std::optional<Time> WanLinks::deadline() const {
  if (!woken_.empty()) return Time{};
  std::optional<Time> first;
  const auto earlier = [&first](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  for (const auto& extender : extenders_) {
    if (extender->router_woken) return Time{};
    if (extender->router != nullptr) earlier(extender->router->deadline());
    for (const auto& remote : extender->remotes)
      earlier(remote->tunnel.deadline());
  }
  return first;
}

Json WanLinks::report() const {
  Json out = Json::array();
  for (const auto& extender : extenders_) {
    Json remotes = Json::array();
    for (std::size_t i = 0; i < extender->remotes.size(); ++i) {
      const Remote& remote = *extender->remotes[i];
      const wan::Session& session = remote.tunnel.session();
      Json row{{"remote", remote.lab.name},
               {"address", remote.path.remote() ? remote.path.remote()->to_string() : "unknown"},
               {"session", text(session.state())},
               {"active", remote.near.state() == link::PortState::kActive},
               {"buffer_bytes", remote.share.used_bytes()},
               {"buffer_most_bytes", remote.share.most_used_bytes()},
               {"counters", counters_json(remote.tunnel.counters().snapshot())}};
      if (!session.why().empty()) row["why"] = session.why();
      if (extender->router == nullptr) row["port"] = extender->lab.port_of(i);
      for (const GidPrefix& prefix : remote.lab.prefixes)
        row["prefixes"].push_back(prefix.to_string());
      remotes.push_back(std::move(row));
    }
    Json row{{"extender", fabric_.lab().nodes[extender->lab.node].name},
             {"mode", extender->router == nullptr ? "bridge" : "router"},
             {"listen", extender->socket->local().to_string()},
             {"counters", counters_json(extender->socket->counters())},
             {"remotes", std::move(remotes)}};
    if (extender->router != nullptr) row["router"] = extender->router->report();
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace weft::daemon
