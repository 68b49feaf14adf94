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

// Of a router each address is that of another port; others are reached by whichever they like.
std::vector<fabric::LabExtender> ways_of(const ServiceServerConfig& config) {
  if (config.service.type != "router") return {config.at.ways()};
  std::vector<fabric::LabExtender> ways;
  for (const fabric::PartAddress& listen : config.at.listens) {
    fabric::LabExternalServer at = config.at;
    at.listens = {listen};
    ways.push_back(at.ways());
  }
  return ways;
}

// Of all tunnels, each direction of them.
std::size_t most_packets(const std::vector<fabric::LabExtender>& ways) {
  std::size_t most = 0;
  for (const fabric::LabExtender& way : ways)
    most += SiteTunnels::most_packets(way) * way.remotes.size();
  return most;
}

}  // namespace

ServiceServer::ServiceServer(ServiceServerConfig config, Tell tell,
                             std::unique_ptr<io::Reactor> reactor)
    : config_(std::move(config)),
      ways_(ways_of(config_)),
      tell_(std::move(tell)),
      reactor_(std::move(reactor)),
      payloads_(link::PacketPool::kPayloadBlock, most_packets(ways_)),
      blocks_(ServedPlace::kBlock, kBlocks * places()),
      packets_(kCopies * most_packets(ways_), payloads_) {
}

ServiceServer::~ServiceServer() {
  for (const auto& tunnels : tunnels_)
    tunnels->stop(io::now());
}

Expected<std::unique_ptr<ServiceServer>> ServiceServer::open(ServiceServerConfig config,
                                                             Tell tell) {
  if (config.service.type == "router" && config.at.listens.size() < 2) {
    return fail(std::errc::invalid_argument,
                "a router is at several ports of a node, and is reached at an address of its own "
                "by each of them");
  }
  auto reactor = io::Reactor::create(0us);  // run() has the patience
  if (!reactor) return tl::unexpected(reactor.error());
  std::unique_ptr<ServiceServer> server(
      new ServiceServer(std::move(config), std::move(tell), std::move(*reactor)));
  if (auto started = server->start(); !started) return tl::unexpected(started.error());
  return server;
}

Expected<void> ServiceServer::start() {
  for (std::size_t i = 0; i < places(); ++i) {
    const fabric::LabPort at{.node = ways_.front().remotes[i].name};
    auto made = make_service_outside(config_.service, at, entropy_, log_);
    if (!made) return tl::unexpected(made.error());
    auto served = std::make_unique<Served>();
    served->made = std::move(*made);
    ServedPlace::Services services;
    if (served->made.before) services.push_back(std::move(served->made.before));
    services.push_back(std::move(served->made.service));
    served->place =
        std::make_unique<ServedPlace>(std::move(services),
                                      ServedPlace::Manner{.chain = chain_of(config_.service),
                                                          .ports = ways_.size(),
                                                          .in_subnet = served->made.in_subnet},
                                      ServedPlace::Memory{.packets = packets_, .blocks = blocks_},
                                      entropy_, [raw = served.get()] { raw->woken = true; });
    served->told_up.resize(ways_.size());
    places_.push_back(std::move(served));
  }
  const Time now = io::now();
  const wan::TunnelOptions options{.port = wan::ExternalEnd::kPort,
                                   .mode = wan::TunnelMode::kService};
  for (const fabric::LabExtender& way : ways_) {
    auto tunnels =
        SiteTunnels::open(way, "service " + config_.service.type, packets_, entropy_, *reactor_);
    if (!tunnels) return tl::unexpected(tunnels.error());
    tunnels_.push_back(std::move(*tunnels));
    for (const auto& served : places_)
      tunnels_.back()->add(served->place->port(tunnels_.size()), options, now);
  }
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
  bool worked = false;
  for (const auto& tunnels : tunnels_)
    worked |= tunnels->run(now);
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
  std::optional<Time> first;
  const auto earlier = [&first](std::optional<Time> due) {
    if (due && (!first || *due < *first)) first = due;
  };
  for (const auto& tunnels : tunnels_)
    earlier(tunnels->deadline());
  for (const auto& served : places_)
    earlier(served->woken ? std::optional(Time{}) : served->place->deadline());
  if (!first) return -1ns;  // for ever
  return *first <= now ? Duration::zero() : *first - now;
}

void ServiceServer::tell_changes() {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Served& served = *places_[i];
    for (std::size_t port = 0; port < ways_.size(); ++port) {
      const bool up = served.place->is_up(port + 1);
      if (served.told_up[port] == up) continue;
      served.told_up[port] = up;
      tell_change(i, port, up);
    }
  }
}

void ServiceServer::tell_change(std::size_t place, std::size_t port, bool up) const {
  const Json way = tunnels_[port]->report(place);
  const std::string by =
      ways_.size() == 1 ? "" : " at " + tunnels_[port]->report().value("listen", "");
  tell_(fmt::format("{}{} {}, {}", way.value("remote", ""), by, up ? "is there" : "is gone",
                    way.value("address", "")));
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

Json ServiceServer::report(std::size_t i) const {
  const ServedPlace& place = *places_[i]->place;
  Json row = tunnels_.front()->report(i);
  row["tunnel"] = row["counters"];
  // Of a router, the ways by the other ports.
  for (std::size_t port = 1; port < tunnels_.size(); ++port)
    row["more"].push_back(tunnels_[port]->report(i));
  row["well"] = place.is_up();
  row["held"] = place.runtime().held();
  row["known_paths"] = place.runtime().paths().size();
  row["counters"] = counters_json(place.runtime().counters().snapshot());
  row["drops"] = counters_json(place.drops());
  row["service"] = counters_json(place.service_counters());
  if (config_.service.dry_run) row["dry_run"] = true;
  row["port_counters"] = counters_json(place.counters());
  if (places_[i]->made.describe) row["details"] = places_[i]->made.describe();
  return row;
}

Json ServiceServer::report() const {
  Json server = tunnels_.front()->report();
  for (std::size_t port = 1; port < tunnels_.size(); ++port)
    server["more"].push_back(tunnels_[port]->report());
  Json rows = Json::array();
  for (std::size_t i = 0; i < places_.size(); ++i)
    rows.push_back(report(i));
  return {{"type", config_.service.type}, {"server", server}, {"places", rows}};
}

}  // namespace weft::daemon
