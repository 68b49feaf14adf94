// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/remote_legs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace weft::daemon {

using Json = nlohmann::json;

namespace {

std::optional<wan::PacingSettings> pacing_if(bool adapts) {
  if (!adapts) return std::nullopt;
  return wan::PacingSettings{.adapt = true};
}

}  // namespace

RemoteLegs::RemoteLegs(std::vector<RemotePath*> paths, const fabric::LabRemote& remote,
                       const fabric::LabExtender& extender, Entropy& entropy, Time now)
    : paths_(std::move(paths)),
      connections_(connect_ways(paths_, remote, extender, entropy)),
      seals_(seal(extender)),
      adapts_(remote.adapts_rate || (paths_.size() > 1 && remote.rate_bytes_per_s == 0)),
      bundle_(carriers(), {.watched = adapts_, .pacing = pacing_if(adapts_)}, now) {
  for (RemotePath* const path : paths_) {
    path->set_rate(remote.rate_bytes_per_s, now);
    path->set_ecn_capable(adapts_);
  }
}

std::vector<wan::SealedPath*> RemoteLegs::seals() const {
  std::vector<wan::SealedPath*> out;
  for (const auto& sealed : seals_)
    out.push_back(sealed.get());
  return out;
}

// Both ends may see one way as coming from the same address as another: keys tell which it is.
wan::SealedPath& RemoteLegs::seal_of(Bytes datagram, std::size_t leg) const {
  for (const auto& sealed : seals_) {
    if (sealed->knows(datagram)) return *sealed;
  }
  return *seals_[leg];
}

wan::Path& RemoteLegs::way(std::size_t leg) const {
  if (connections_.empty()) return *paths_[leg];
  return *connections_[leg];
}

std::vector<std::unique_ptr<wan::SealedPath>> RemoteLegs::seal(
    const fabric::LabExtender& extender) const {
  std::vector<std::unique_ptr<wan::SealedPath>> out;
  if (extender.insecure) return out;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    out.push_back(std::make_unique<wan::SealedPath>(
        way(i), wan::SealedPath::Options{.epoch_time = extender.key_time}));
  }
  return out;
}

std::vector<wan::Path*> RemoteLegs::carriers() const {
  std::vector<wan::Path*> out;
  for (std::size_t i = 0; i < paths_.size(); ++i)
    out.push_back(seals_.empty() ? &way(i) : seals_[i].get());
  return out;
}

void RemoteLegs::set_tunnel(wan::TunnelEnd& tunnel) {
  tunnel_ = &tunnel;
  for (std::size_t i = 0; i < paths_.size(); ++i)
    paths_[i]->set_user(user_of(i, tunnel));
}

void RemoteLegs::set_admits(const RemotePath::Admits& admits) {
  for (RemotePath* const path : paths_)
    path->set_admits(admits);
}

// Where the network has a connection, what is in its packets goes on.
RemotePath::User RemoteLegs::user_of(std::size_t leg, wan::TunnelEnd& tunnel) {
  using Beside = RemotePath::Beside;
  RemotePath::User user = sealed_user_of(leg, tunnel);
  if (connections_.empty()) return user;
  wan::ConnectedPath& connection = *connections_[leg];
  const auto take = user.received;
  return {.received =
              [take, &connection, &tunnel](Bytes packet, const Beside& beside, Time now) {
                const Bytes datagram = connection.receive(packet, beside.marked, now);
                const bool newest = !datagram.empty() && take(datagram, beside, now);
                if (connection.take_changed()) tunnel.path_changed();
                return newest;
              },
          .changed = user.changed,
          .lost = {},
          .claims = {}};
}

RemotePath::User RemoteLegs::sealed_user_of(std::size_t leg, wan::TunnelEnd& tunnel) {
  using Beside = RemotePath::Beside;
  const auto take = [this, &tunnel](Bytes datagram, const Beside& beside, Time now) {
    const Bytes frame = bundle_.receive(datagram, beside.marked, now);
    if (!frame.empty()) tunnel.receive(frame, now, beside.options);
  };
  const auto changed = [&tunnel](Time) { tunnel.path_changed(); };
  if (seals_.empty()) {
    return {.received =
                [take](Bytes datagram, const Beside& beside, Time now) {
                  take(datagram, beside, now);
                  return false;
                },
            .changed = changed,
            .lost = [&tunnel] { return !tunnel.session().up(); },
            .claims = {}};
  }
  wan::SealedPath& own = *seals_[leg];
  return {.received =
              [this, take, leg, &own](Bytes datagram, const Beside& beside, Time now) {
                wan::SealedPath& sealed = seal_of(datagram, leg);
                const auto came = sealed.receive(datagram, now, beside.options);
                if (!came) return false;
                take(came->frame, beside, now);
                return came->newest && &sealed == &own;
              },
          .changed = changed,
          .lost = {},
          .claims = [&own](Bytes datagram) { return own.knows(datagram); }};
}

void RemoteLegs::run(Time now) {
  for (RemotePath* const path : paths_)
    path->go_on(now);
  bool changed = false;
  for (const auto& connection : connections_) {
    connection->run(now);
    changed |= connection->take_changed();
  }
  changed |= bundle_.run(now);
  if (changed && tunnel_ != nullptr) tunnel_->path_changed();
}

void RemoteLegs::stop(Time now) {
  for (const auto& connection : connections_)
    connection->stop(now);
}

std::optional<Time> RemoteLegs::deadline() const {
  std::optional<Time> first = bundle_.deadline();
  const auto earlier = [&first](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  for (const RemotePath* const path : paths_)
    earlier(path->pause());
  for (const auto& connection : connections_)
    earlier(connection->deadline());
  return first;
}

std::string RemoteLegs::remote_text() const {
  std::vector<std::string> out;
  for (const RemotePath* const path : paths_) {
    std::string where = path->remote_text();
    out.push_back(where.empty() ? "unknown" : std::move(where));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

Json RemoteLegs::neighbours() const {
  Json out = Json::array();
  for (const RemotePath* const path : paths_) {
    const std::string_view state = path->neighbour_text();
    if (!state.empty()) out.push_back(state);
  }
  return out;
}

Json RemoteLegs::connections() const {
  Json out = Json::array();
  for (const auto& connection : connections_)
    out.push_back(connection->state_text());
  return out;
}

Json RemoteLegs::report() const {
  Json out = Json::array();
  if (!adapts_ && paths_.size() == 1) return out;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const wan::Leg& leg = *bundle_.legs()[i];
    const std::string where = paths_[i]->remote_text();
    Json row{{"address", where.empty() ? "unknown" : where}, {"works", leg.works()}};
    if (leg.round_trip().known()) row["round_trip_us"] = leg.round_trip().smoothed() / 1us;
    if (leg.pacer() != nullptr && leg.pacer()->rate()) {
      row["rate_bytes_per_s"] = *leg.pacer()->rate();
      row["queue_us"] = leg.pacer()->queue() / 1us;
    }
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<CounterValue> RemoteLegs::counters() const {
  std::vector<CounterValue> out;
  for (const auto& leg : bundle_.legs())
    accumulate(out, leg->counters());
  accumulate(out, std::vector<CounterValue>{{"leg_malformed",
                                             "datagrams dropped: no way to the remote has "
                                             "sent them",
                                             bundle_.malformed()}});
  for (const auto& sealed : seals_)
    accumulate(out, sealed->counters());
  for (const auto& connection : connections_)
    accumulate(out, connection->counters());
  return out;
}

}  // namespace weft::daemon
