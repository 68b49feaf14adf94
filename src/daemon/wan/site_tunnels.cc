// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/site_tunnels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "daemon/counters_json.h"
#include "daemon/wan/addressed_path.h"
#include "daemon/wan/remote_legs.h"
#include "daemon/wan/site_identity.h"
#include "fabric/lab_fec_text.h"
#include "link/direct_link.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

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

// Of the lanes that are in use, there or here: which one is held up, and by whom.
Json lanes_of(const wan::TunnelSender& sender, const wan::BulkBuffer::Share& share) {
  Json lanes = Json::array();
  for (std::uint8_t lane = 0; lane < wan::kLanes; ++lane) {
    const wan::TunnelSendCredit& credit = sender.credit(Vl{lane});
    const wan::Fifo& fifo = share.fifo(Vl{lane});
    if (credit.sent() == 0 && fifo.most_used() == 0) continue;
    lanes.push_back({{"vl", lane},
                     {"sent_bytes", sender.bytes_of(credit.sent())},
                     {"credit_bytes", sender.bytes_of(credit.limit() - credit.sent())},
                     {"buffer_bytes", fifo.used() * fifo.block().bytes()}});
  }
  return lanes;
}

}  // namespace

struct SiteTunnels::Remote {
  Remote(const fabric::LabRemote& of, const fabric::LabExtender& extender, link::Port& near_port,
         std::vector<RemotePath*> paths, wan::BulkBuffer::Share& share,
         const wan::TunnelOptions& options, link::PacketPool& pool, Entropy& entropy,
         wan::TunnelUser& user, Time now)
      : lab(of),
        near(near_port),
        legs(std::move(paths), of, extender, entropy, now),
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

SiteTunnels::SiteTunnels(const fabric::LabExtender& lab, std::unique_ptr<RemotePaths> paths,
                         link::PacketPool& pool, Entropy& entropy)
    : lab_(lab),
      pool_(pool),
      entropy_(entropy),
      paths_(std::move(paths)),
      buffer_({.lane_bytes = lab.buffer_bytes, .block = {}, .remotes = lab.remotes.size()}) {
  paths_->set_landing(buffer_.landing());
}

SiteTunnels::~SiteTunnels() = default;

Expected<std::unique_ptr<SiteTunnels>> SiteTunnels::open(const fabric::LabExtender& lab,
                                                         const std::string& name,
                                                         link::PacketPool& pool, Entropy& entropy,
                                                         io::Reactor& reactor) {
  auto paths = RemotePaths::open(lab, reactor);
  if (!paths) return tl::unexpected(paths.error());
  std::unique_ptr<SiteTunnels> tunnels(new SiteTunnels(lab, std::move(*paths), pool, entropy));
  if (lab.tcp_setup) {
    auto calls = SiteCalls::open(tunnels->paths_->locals(), reactor);
    if (!calls) return tl::unexpected(calls.error());
    tunnels->calls_ = std::move(*calls);
  }
  if (lab.insecure) return tunnels;
  if (auto opened = tunnels->open_keys(name, reactor); !opened) {
    return tl::unexpected(opened.error());
  }
  return tunnels;
}

Expected<void> SiteTunnels::open_keys(const std::string& name, io::Reactor& reactor) {
  auto site = load_site(lab_);
  if (!site) return tl::unexpected(site.error());
  auto remote_keys = read_remote_keys(lab_, (*site)->fingerprint());
  if (!remote_keys) return tl::unexpected(remote_keys.error());
  remote_keys_ = std::move(*remote_keys);
  auto keys = SiteKeys::open(name, std::move(*site), paths_->locals(), reactor, {});
  if (!keys) return tl::unexpected(keys.error());
  keys_ = std::move(*keys);
  return {};
}

void SiteTunnels::add(link::Port& near, wan::TunnelOptions options, Time now) {
  const std::size_t index = remotes_.size();
  const fabric::LabRemote& lab = lab_.remotes[index];
  options.sender.kept_packets = most_packets(lab_);
  if (lab.dscp) options.sender.classes = classes_of(*lab.dscp);
  if (lab.egress) options.sender.egress = lab.egress->of_vl;
  if (lab.fec) options.fec = {.frames = lab.fec->frames, .repairs = lab.fec->repairs};
  wan::TunnelUser& user = *this;
  auto& remote = *remotes_.emplace_back(
      std::make_unique<Remote>(lab, lab_, near, paths_->add(index, now), buffer_.share(index),
                               options, pool_, entropy_, user, now));
  if (keys_) {
    const auto seals = remote.legs.seals();
    for (wan::SealedPath* const seal : seals)
      seal->set_landing(buffer_.landing());
    keys_->add({.name = lab.name,
                .address = address_of(lab),
                .more = more_addresses_of(lab),
                .keys = remote_keys_[index],
                .path = seals.front(),
                .more_paths = {seals.begin() + 1, seals.end()},
                .changed = [&remote] { remote.tunnel.path_changed(); }});
  }
  remote.link.join(near, remote.tunnel.port(), now);
  remote.tunnel.start(now);
  if (!calls_) return;
  // It is unplugged now, until a call stands.
  remote.tunnel.stop(now);
  follow_calls(remote, index);
}

// The tunnel is there while a call stands, and a remote without an address is where that is from.
void SiteTunnels::follow_calls(Remote& remote, std::size_t index) {
  SiteCalls& calls = *calls_;
  calls.add({.name = remote.lab.name,
             .address = address_of(remote.lab),
             .own = paths_->locals()[listen_for(lab_, remote.lab, 0)],
             .layers = std::string(wan::layers_within_ip(remote.lab.encapsulation)),
             .changed = [&remote](bool there, Time now) {
               there ? remote.tunnel.start(now) : remote.tunnel.stop(now);
             }});
  remote.legs.set_admits([&calls, index](const Gid& host) { return calls.is_at(index, host); });
}

void SiteTunnels::stop(Time now) {
  for (const auto& remote : remotes_) {
    remote->tunnel.stop(now);
    remote->tunnel.run(now);
    remote->legs.stop(now);
    remote->near.connect(nullptr, now);
    remote->tunnel.port().connect(nullptr, now);
  }
  paths_->close();
}

void SiteTunnels::wake(wan::TunnelEnd& end) {
  woken_.push_back(&end);
}

bool SiteTunnels::run(Time now) {
  bool worked = keys_ && keys_->run(now);
  worked |= calls_ && calls_->run(now);
  worked |= paths_->run(now);
  for (const auto& remote : remotes_)
    remote->legs.run(now);
  std::swap(running_, woken_);
  for (wan::TunnelEnd* const end : running_)
    end->run(now);
  worked |= !running_.empty();
  running_.clear();
  for (const auto& remote : remotes_) {
    const auto due = remote->tunnel.deadline();
    if (!due || *due > now) continue;
    remote->tunnel.run(now);
    worked = true;
  }
  paths_->watch_for_room();
  return worked;
}

std::optional<Time> SiteTunnels::deadline() const {
  if (!woken_.empty()) return Time{};
  std::optional<Time> first;
  const auto earlier = [&first](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  if (keys_) earlier(keys_->deadline());
  if (calls_) earlier(calls_->deadline());
  earlier(paths_->deadline());
  for (const auto& remote : remotes_) {
    earlier(remote->tunnel.deadline());
    earlier(remote->legs.deadline());
  }
  return first;
}

Json SiteTunnels::report(std::size_t index) const {
  const Remote& remote = *remotes_[index];
  const wan::Session& session = remote.tunnel.session();
  Json row{{"remote", remote.lab.name},
           {"address", remote.legs.remote_text()},
           {"session", text(session.state())},
           {"active", remote.near.state() == link::PortState::kActive},
           {"sealed", !remote.legs.seals().empty()},
           {"buffer_bytes", remote.share.used_bytes()},
           {"buffer_most_bytes", remote.share.most_used_bytes()},
           {"lanes", lanes_of(remote.tunnel.sender(), remote.share)}};
  if (remote.lab.fec) row["fec"] = fabric::fec_words(*remote.lab.fec);
  for (const GidPrefix& prefix : remote.lab.prefixes)
    row["prefixes"].push_back(prefix.to_string());
  std::string why = session.why();
  std::vector<CounterValue> counters = remote.tunnel.counters().snapshot();
  accumulate(counters, remote.legs.counters());
  if (!remote.legs.seals().empty()) {
    const SiteKeys::Report keys = keys_->report(index);
    if (keys.cipher) row["cipher"] = name_of(*keys.cipher);
    row["control"] = keys.connected ? "connected" : "none";
    if (!session.up() && remote.legs.seals().front()->needs_keys()) why = keys.why;
  }
  if (Json states = remote.legs.neighbours(); !states.empty())
    row["neighbours"] = std::move(states);
  if (Json states = remote.legs.connections(); !states.empty())
    row["connections"] = std::move(states);
  if (Json paths = remote.legs.report(); !paths.empty()) row["paths"] = std::move(paths);
  if (calls_) {
    const SiteCalls::Report call = calls_->report(index);
    row["control"] = call.there ? "connected" : "none";
    if (!call.there) why = call.why;
  }
  row["counters"] = counters_json(counters);
  if (!why.empty()) row["why"] = why;
  return row;
}

Json SiteTunnels::report() const {
  std::vector<CounterValue> counters = paths_->counters();
  std::vector<std::string> listens;
  for (const io::SocketAddress& local : paths_->locals())
    listens.push_back(local.to_string());
  Json row{{"listen", fmt::format("{}", fmt::join(listens, ", "))}};
  if (keys_) {
    accumulate(counters, keys_->counters());
    row["fingerprint"] = keys_->fingerprint().to_string();
    if (!keys_->refused().empty()) row["refused"] = keys_->refused();
  }
  if (calls_) {
    accumulate(counters, calls_->counters());
    if (!calls_->refused().empty()) row["refused"] = calls_->refused();
  }
  row["counters"] = counters_json(counters);
  return row;
}

}  // namespace weft::daemon
