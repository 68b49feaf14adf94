// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service_server.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/counters_json.h"
#include "io/clock.h"
#include "io/spin_wait.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

// Who is worked with answers sooner when he does not sleep at once.
constexpr Duration kServiceServerPatience = 50us;
// Packets that the service looks at, or that wait for the way back after it, of each place.
constexpr std::size_t kBlocks = 16'384;
// Of what lies in a tunnel, how many packets there are in this process at a time.
constexpr std::size_t kCopies = 4;

}  // namespace

ServiceServer::ServiceServer(ServiceServerConfig config, Tell tell,
                             std::unique_ptr<io::Reactor> reactor)
    : config_(std::move(config)),
      ways_(config_.at.ways()),
      tell_(std::move(tell)),
      reactor_(std::move(reactor)),
      payloads_(link::PacketPool::kPayloadBlock,
                SiteTunnels::most_packets(ways_) * ways_.remotes.size()),
      blocks_(ServedPlace::kBlock, kBlocks * ways_.remotes.size()),
      packets_(kCopies * SiteTunnels::most_packets(ways_) * ways_.remotes.size(), payloads_) {
}

ServiceServer::~ServiceServer() {
  if (tunnels_) tunnels_->stop(io::now());
}

Expected<std::unique_ptr<ServiceServer>> ServiceServer::open(ServiceServerConfig config,
                                                             Tell tell) {
  auto reactor = io::Reactor::create(0us);  // run() has the patience
  if (!reactor) return tl::unexpected(reactor.error());
  std::unique_ptr<ServiceServer> server(
      new ServiceServer(std::move(config), std::move(tell), std::move(*reactor)));
  if (auto started = server->start(); !started) return tl::unexpected(started.error());
  return server;
}

Expected<void> ServiceServer::start() {
  for (std::size_t i = 0; i < ways_.remotes.size(); ++i) {
    const fabric::LabPort at{.node = ways_.remotes[i].name};
    auto made = make_service_outside(config_.service, at, entropy_, log_);
    if (!made) return tl::unexpected(made.error());
    auto served = std::make_unique<Served>();
    served->made = std::move(*made);
    served->place = std::make_unique<ServedPlace>(
        std::move(served->made.service),
        ServedPlace::Memory{.packets = packets_, .blocks = blocks_}, entropy_,
        [raw = served.get()] { raw->woken = true; }, chain_of(config_.service));
    places_.push_back(std::move(served));
  }
  auto tunnels =
      SiteTunnels::open(ways_, "service " + config_.service.type, packets_, entropy_, *reactor_);
  if (!tunnels) return tl::unexpected(tunnels.error());
  tunnels_ = std::move(*tunnels);
  const Time now = io::now();
  const wan::TunnelOptions options{.port = wan::ExternalEnd::kPort,
                                   .mode = wan::TunnelMode::kService};
  for (const auto& served : places_)
    tunnels_->add(served->place->port(), options, now);
  return {};
}

Expected<void> ServiceServer::run(const std::function<void()>& woken) {
  io::SpinWait patience(kServiceServerPatience);
  while (!stopping_.load()) {
    if (woken_.exchange(false)) woken();
    const Time now = io::now();
    const bool worked = work(now);
    if (worked) patience.reset();
    const bool awake = worked || patience.look_again(now);
    const auto ready = reactor_->run_once(awake ? Duration::zero() : time_to_deadline(now));
    if (!ready) return tl::unexpected(ready.error());
    if (!awake || *ready > 0) patience.reset();
  }
  return {};
}

bool ServiceServer::work(Time now) {
  bool worked = tunnels_->run(now);
  for (const auto& served : places_) {
    const auto due = served->place->deadline();
    if (!served->woken && (!due || *due > now)) continue;
    served->woken = false;
    served->place->run(now);
    worked = true;
  }
  if (worked) tell_changes();
  return worked;
}

Duration ServiceServer::time_to_deadline(Time now) const {
  std::optional<Time> first = tunnels_->deadline();
  for (const auto& served : places_) {
    const auto due = served->woken ? std::optional(Time{}) : served->place->deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  if (!first) return -1ns;  // for ever
  return *first <= now ? Duration::zero() : *first - now;
}

void ServiceServer::tell_changes() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Served& served = *places_[i];
    const bool up = served.place->is_up();
    if (std::exchange(served.told_up, up) == up) continue;
    const Json report = tunnels_->report(i);
    tell_(fmt::format("{} {}, {}", report.value("remote", ""), up ? "is there" : "is gone",
                      report.value("address", "")));
  }
}

void ServiceServer::stop() {
  stopping_.store(true);
  reactor_->wake();
}

void ServiceServer::wake() {
  woken_.store(true);
  reactor_->wake();
}

Expected<FirewallReload> ServiceServer::reload() {
  auto programs = read_programs_anew(config_.service, places_.size());
  if (!programs) return tl::unexpected(programs.error());
  const Time now = io::now();
  FirewallReload all;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const FirewallReload done =
        exchange(*places_[i]->made.firewall, std::move((*programs)[i]), now);
    all = {.rules = done.rules,
           .connections = all.connections + done.connections,
           .forgotten = all.forgotten + done.forgotten};
  }
  return all;
}

Json ServiceServer::report() const {
  Json places = Json::array();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const ServedPlace& place = *places_[i]->place;
    Json row = tunnels_->report(i);
    row["tunnel"] = row["counters"];
    row["well"] = place.is_up();
    row["held"] = place.runtime().held();
    row["known_paths"] = place.runtime().paths().size();
    row["counters"] = counters_json(place.runtime().counters().snapshot());
    row["drops"] = counters_json(place.runtime().drops(place.service()));
    row["service"] = counters_json(place.service().counters());
    if (config_.service.dry_run) row["dry_run"] = true;
    row["port_counters"] = counters_json(place.counters());
    if (places_[i]->made.describe) row["details"] = places_[i]->made.describe();
    places.push_back(std::move(row));
  }
  return {{"type", config_.service.type}, {"server", tunnels_->report()}, {"places", places}};
}

}  // namespace weft::daemon
