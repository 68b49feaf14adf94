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
                       const fabric::LabExtender& extender, Time now)
    : paths_(std::move(paths)),
      seals_(seal(paths_, extender)),
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

std::vector<std::unique_ptr<wan::SealedPath>> RemoteLegs::seal(
    const std::vector<RemotePath*>& paths, const fabric::LabExtender& extender) {
  std::vector<std::unique_ptr<wan::SealedPath>> out;
  if (extender.insecure) return out;
  for (RemotePath* const path : paths) {
    out.push_back(std::make_unique<wan::SealedPath>(
        *path, wan::SealedPath::Options{.epoch_time = extender.key_time}));
  }
  return out;
}

std::vector<wan::Path*> RemoteLegs::carriers() const {
  std::vector<wan::Path*> out;
  for (std::size_t i = 0; i < paths_.size(); ++i)
    out.push_back(seals_.empty() ? static_cast<wan::Path*>(paths_[i]) : seals_[i].get());
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

RemotePath::User RemoteLegs::user_of(std::size_t leg, wan::TunnelEnd& tunnel) {
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
  if (bundle_.run(now) && tunnel_ != nullptr) tunnel_->path_changed();
}

std::optional<Time> RemoteLegs::deadline() const {
  std::optional<Time> first = bundle_.deadline();
  for (const RemotePath* const path : paths_) {
    const auto when = path->pause();
    if (when && (!first || *when < *first)) first = when;
  }
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
  return out;
}

}  // namespace weft::daemon
