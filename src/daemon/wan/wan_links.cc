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

// Of the port between the extender's switch and the WAN, for each lane: what comes while a frame is
// put together, blocks. The standard's largest credit.
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
  UdpPath& path;
  wan::BulkBuffer::Share& share;
  link::DirectLink link;
  wan::TunnelEnd tunnel;
};

struct WanLinks::Extender {
  const fabric::LabExtender& lab;
  std::unique_ptr<WanSocket> socket;
  wan::BulkBuffer buffer;
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
  extenders_.emplace_back(new Extender{
      .lab = lab, .socket = std::move(*socket), .buffer = wan::BulkBuffer(options), .remotes = {}});
  return {};
}

void WanLinks::add_remote(Extender& extender, std::size_t index, Time now) {
  const fabric::LabRemote& lab = extender.lab.remotes[index];
  fabric::Node& node = fabric_.node(extender.lab.node);
  fabric::NodePort& port = node.port(extender.lab.port_of(index));
  const fabric::PortLimits& limits = fabric_.lab().nodes[extender.lab.node].limits;
  wan::TunnelOptions options;
  options.port.data_vls = limits.data_vls;
  options.port.vl_buffer = kLocalBuffer;
  options.sender.kept_packets = most_packets(extender.lab);
  std::optional<io::SocketAddress> address;
  if (lab.address) address = {.address = lab.address->host, .port = lab.address->port};
  UdpPath& path = extender.socket->add(address);
  wan::BulkBuffer::Share& share = extender.buffer.share(index);
  wan::TunnelUser& user = *this;
  auto& remote = *extender.remotes.emplace_back(
      new Remote{.lab = lab,
                 .path = path,
                 .share = share,
                 .link = link::DirectLink(fabric_.pool()),
                 .tunnel = wan::TunnelEnd(options, share, fabric_.pool(), entropy_, path, user)});
  path.set_user({.received = [&remote](Bytes frame, Time at) { remote.tunnel.receive(frame, at); },
                 .changed = [&remote](Time) { remote.tunnel.path_changed(); },
                 .lost = [&remote] { return !remote.tunnel.session().up(); }});
  // What the port of the other site enables is the subnet manager's business, as it is here.
  port.set_far_partner(limits, std::nullopt, std::nullopt);
  remote.link.join(port.link(), remote.tunnel.port(), now);
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
      const std::uint8_t port = extender->lab.port_of(
          static_cast<std::size_t>(&remote->lab - extender->lab.remotes.data()));
      fabric_.node(extender->lab.node).port(port).link().connect(nullptr, now);
      remote->tunnel.port().connect(nullptr, now);
    }
  }
}

void WanLinks::wake(wan::TunnelEnd& end) {
  woken_.push_back(&end);
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
    extender->socket->watch_for_room();
  }
  return worked;
}

std::optional<Time> WanLinks::deadline() const {
  if (!woken_.empty()) return Time{};
  std::optional<Time> first;
  for (const auto& extender : extenders_) {
    for (const auto& remote : extender->remotes) {
      const auto due = remote->tunnel.deadline();
      if (due && (!first || *due < *first)) first = due;
    }
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
               {"port", extender->lab.port_of(i)},
               {"address", remote.path.remote() ? remote.path.remote()->to_string() : "unknown"},
               {"session", text(session.state())},
               {"buffer_bytes", remote.share.used_bytes()},
               {"buffer_most_bytes", remote.share.most_used_bytes()},
               {"counters", counters_json(remote.tunnel.counters().snapshot())}};
      if (!session.why().empty()) row["why"] = session.why();
      remotes.push_back(std::move(row));
    }
    out.push_back({{"extender", fabric_.lab().nodes[extender->lab.node].name},
                   {"listen", extender->socket->local().to_string()},
                   {"counters", counters_json(extender->socket->counters())},
                   {"remotes", std::move(remotes)}});
  }
  return out;
}

}  // namespace weft::daemon
