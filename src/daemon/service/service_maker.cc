// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service_maker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

#include "daemon/service/capture_files.h"
#include "daemon/service/firewall_rules.h"
#include "daemon/service/service_details.h"
#include "fabric/lab_service_text.h"
#include "service/balancer/balancer.h"
#include "service/firewall/firewall.h"
#include "service/limiter/limiter.h"
#include "service/monitor/monitor.h"
#include "service/router/router.h"
#include "sm/sa/subnet_view.h"

namespace weft::daemon {
namespace {

using fabric::Lab;
using fabric::LabPort;
using fabric::LabService;
using nlohmann::json;
namespace fw = service::firewall;

Expected<MadeService> make_firewall(const LabService& service, const LabPort& at,
                                    FirewallLog& log) {
  auto programs = read_programs(service.rules, 1);
  if (!programs) return tl::unexpected(programs.error());
  auto lines = std::make_unique<FirewallLines>(
      log, fmt::format("{} at {}", service.name, fabric::to_string(at)));
  auto made = std::make_unique<fw::Firewall>(
      std::move(programs->front()),
      fw::FirewallOptions{.dry_run = service.dry_run, .mirrors = !service.mirror_to.empty()},
      lines.get());
  fw::Firewall& core = *made;
  const FirewallLines& written = *lines;
  return MadeService{.log = std::move(lines),
                     .service = std::move(made),
                     .firewall = &core,
                     .describe = [&core, &written] {
                       json details = details_of(core);
                       if (json last = written.last(); !last.empty()) details["log"] = last;
                       return details;
                     }};
}

Expected<MadeService> make_monitor(const Lab& lab, const LabService& service, const LabPort&) {
  auto made = std::make_unique<service::Monitor>(service::Monitor::Options{
      .flows = service.monitor.flows, .talkers = service.monitor.senders});
  const service::Monitor& core = *made;
  return MadeService{.service = std::move(made),
                     .describe = [&core, &lab] { return details_of(core, lab); }};
}

// Where a service is at several ports, each has files of its own.
std::string capture_path(const LabService& service, const LabPort& at) {
  std::filesystem::path path =
      service.capture.file.empty() ? service.name + ".pcapng" : service.capture.file;
  if (path.extension().empty()) path += ".pcapng";
  if (service.instances.size() == 1 && service.instances.front().size() == 1) return path;
  const std::string port = at.port == 1 ? "" : fmt::format("-{}", at.port);
  return path.parent_path() /
         fmt::format("{}-{}{}{}", path.stem().string(), at.node, port, path.extension().string());
}

Expected<MadeService> make_capture(const Lab& lab, const LabService& service, const LabPort& at) {
  auto files = CaptureFiles::open(capture_path(service, at), fmt::format("{}:{}", at.node, at.port),
                                  fmt::format("Weft lab {}, service {}", lab.name, service.name));
  if (!files) return tl::unexpected(files.error());
  const fabric::LabCapture& wanted = service.capture;
  json details{{"file", CaptureFiles::name_of((*files)->path(), 0)}, {"files", wanted.files}};
  auto made = std::make_unique<service::Capture>(
      service::Capture::Options{
          .files = wanted.files, .bytes_each = wanted.size, .time_each = wanted.time},
      **files);
  return MadeService{.files = std::move(*files), .service = std::move(made), .describe = [details] {
                       return details;
                     }};
}

// All GIDs that packets of an end have, of a node those of its ports: in the subnet, and link-local
// ones. None: there is no such node.
std::vector<Gid> limited_gids(const Lab& lab, const fabric::LabLimiter::End& end) {
  if (const auto* gid = std::get_if<Gid>(&end)) return {*gid};
  std::set<std::uint64_t> prefixes{lab.management.subnet_prefix, fabric::kDefaultSubnetPrefix};
  std::vector<Gid> gids;
  const fabric::LabNode* const node = lab.find_node(std::get<std::string>(end));
  if (node == nullptr) return gids;
  for (const Guid guid : node->port_guids) {
    for (const std::uint64_t prefix : prefixes)
      gids.push_back(sm::make_gid(prefix, guid));
  }
  return gids;
}

void set_limit(service::Limiter& limiter, const Lab& lab, const fabric::LabLimiter::Tenant& tenant,
               const service::Limiter::Rate& rate) {
  if (const auto* pkey = std::get_if<PKey>(&tenant.who)) limiter.limit(*pkey, rate);
  if (const auto* end = std::get_if<fabric::LabLimiter::End>(&tenant.who)) {
    for (const Gid& gid : limited_gids(lab, *end))
      limiter.limit(gid, rate);
  }
  if (const auto* pair = std::get_if<fabric::LabLimiter::Pair>(&tenant.who)) {
    const std::vector<Gid> destinations = limited_gids(lab, pair->to);
    for (const Gid& from : limited_gids(lab, pair->from)) {
      for (const Gid& to : destinations)
        limiter.limit(from, to, rate);
    }
  }
}

service::Limiter::By limited_by(fabric::LabLimiter::By by) {
  using fabric::LabLimiter;
  using service::Limiter;
  return by == LabLimiter::By::kPair     ? Limiter::By::kPair
         : by == LabLimiter::By::kSource ? Limiter::By::kSource
                                         : Limiter::By::kPartition;
}

Expected<MadeService> make_limiter(const Lab& lab, const LabService& service, const LabPort&) {
  using service::Limiter;
  const fabric::LabLimiter& wanted = service.limiter;
  auto made = std::make_unique<Limiter>(
      Limiter::Options{.by = limited_by(wanted.by),
                       .usual = {.bytes_per_s = wanted.rate.value_or(0), .burst = wanted.burst},
                       .usual_limited = wanted.rate.has_value(),
                       .mirrors = !service.mirror_to.empty()});
  for (const fabric::LabLimiter::Tenant& tenant : wanted.rates)
    set_limit(*made, lab, tenant, {.bytes_per_s = tenant.bytes_per_s, .burst = wanted.burst});
  const Limiter& core = *made;
  return MadeService{.service = std::move(made),
                     .describe = [&core, &lab] { return details_of(core, lab); }};
}

Expected<MadeService> make_router(const LabService& service, const LabPort& at, FirewallLog& log) {
  auto router = std::make_unique<service::Router>();
  const auto tell = [&core = *router](mgmt::PortNumber port, std::uint64_t prefix) {
    core.set_subnet(port, prefix);
  };
  MadeService made{.service = std::move(router), .in_subnet = tell};
  if (service.rules.empty()) return made;
  auto firewall = make_firewall(service, at, log);
  if (!firewall) return firewall;
  made.log = std::move(firewall->log);
  made.before = std::move(firewall->service);
  made.firewall = firewall->firewall;
  made.describe = std::move(firewall->describe);
  return made;
}

// Those of a port of the lab; its GID is known when its subnet is.
service::Balancer::Server server_at(const Lab& lab, const LabPort& at) {
  const fabric::LabNode& node = *lab.find_node(at.node);
  const std::size_t index = at.port - 1u;
  service::Balancer::Server server{.name = fabric::to_string(at)};
  if (index < node.addresses.size()) server.address = Gid::from_ipv4(node.addresses[index].value());
  return server;
}

Guid guid_at(const Lab& lab, const LabPort& at) {
  return lab.find_node(at.node)->port_guids[at.port - 1u];
}

// Who stands in for another one has that one's GID and address.
const LabPort& first_of_pair(const LabService& service, const LabPort& at) {
  for (const fabric::LabServiceInstance& instance : service.instances) {
    if (std::ranges::find(instance, at, &fabric::LabServiceMember::at) != instance.end()) {
      return instance.front().at;
    }
  }
  return at;
}

std::unique_ptr<service::Balancer> balancer_of(const fabric::LabBalancer& wanted,
                                               std::optional<Gid> address, Entropy& entropy) {
  using service::Balancer;
  return std::make_unique<Balancer>(
      Balancer::Options{.spread = wanted.least ? Balancer::Spread::kLeast : Balancer::Spread::kHash,
                        .address = address},
      entropy);
}

Expected<MadeService> make_balancer(const Lab& lab, const LabService& service, const LabPort& at,
                                    Entropy& entropy) {
  using service::Balancer;
  const fabric::LabBalancer& wanted = service.balancer;
  const LabPort& called = first_of_pair(service, at);
  auto made = balancer_of(wanted, server_at(lab, called).address, entropy);
  std::vector<std::pair<Guid, Balancer::Server>> servers;
  for (const LabPort& server : wanted.servers)
    servers.emplace_back(guid_at(lab, server), server_at(lab, server));
  const auto tell = [&core = *made, own = guid_at(lab, called), servers](mgmt::PortNumber,
                                                                         std::uint64_t prefix) {
    if (prefix == 0) return;
    core.set_service(sm::make_gid(prefix, own));
    std::vector<Balancer::Server> in_subnet;
    for (const auto& [guid, server] : servers)
      in_subnet.emplace_back(server).gid = sm::make_gid(prefix, guid);
    core.set_servers(in_subnet);
  };
  return MadeService{.service = std::move(made), .in_subnet = tell};
}

// Where no lab says what the service and its servers are.
MadeService make_balancer_outside(const fabric::LabBalancer& wanted, Entropy& entropy) {
  auto made = balancer_of(wanted, wanted.service.address, entropy);
  made->set_service(wanted.service.gid);
  std::vector<service::Balancer::Server> servers;
  for (const fabric::LabBalancer::End& end : wanted.ends) {
    // As counters are called that a server tells its place.
    servers.push_back({.name = fmt::format("server_{}", servers.size() + 1),
                       .gid = end.gid,
                       .address = end.address});
  }
  made->set_servers(servers);
  return {.service = std::move(made)};
}

struct KindMaker {
  std::string_view type;
  Expected<MadeService> (*make)(const Lab&, const LabService&, const LabPort&);
};
constexpr std::array kKinds{KindMaker{"monitor", make_monitor}, KindMaker{"capture", make_capture},
                            KindMaker{"limiter", make_limiter}};

// Of the ends that a limiter's tenants name, the first node.
const std::string* named_node(const fabric::LabLimiter& limiter) {
  const auto node_in = [](const fabric::LabLimiter::End& end) {
    return std::get_if<std::string>(&end);
  };
  for (const fabric::LabLimiter::Tenant& tenant : limiter.rates) {
    const std::string* node = nullptr;
    if (const auto* end = std::get_if<fabric::LabLimiter::End>(&tenant.who)) node = node_in(*end);
    if (const auto* pair = std::get_if<fabric::LabLimiter::Pair>(&tenant.who)) {
      node = node_in(pair->from) != nullptr ? node_in(pair->from) : node_in(pair->to);
    }
    if (node != nullptr) return node;
  }
  return nullptr;
}

constexpr std::array<std::string_view, 6> kOutside{"firewall", "monitor",  "capture",
                                                   "limiter",  "balancer", "router"};

}  // namespace

std::span<const std::string_view> types_outside() {
  return kOutside;
}

Expected<MadeService> make_service_outside(const LabService& service, const LabPort& at,
                                           Entropy& entropy, FirewallLog& log) {
  if (std::ranges::find(kOutside, service.type) == kOutside.end()) {
    return fail(std::errc::not_supported, fmt::format("there is no {} here; there are {}",
                                                      service.type, fmt::join(kOutside, ", ")));
  }
  if (service.type == "balancer") return make_balancer_outside(service.balancer, entropy);
  if (const std::string* const node = named_node(service.limiter)) {
    return fail(std::errc::invalid_argument,
                fmt::format("rates: {} is a node, and nodes are known to a lab's daemon only: name "
                            "the GIDs of its ports, as in fe80::1",
                            *node));
  }
  static const Lab kNone{};  // what services tell of themselves refers to it
  return make_service(kNone, service, at, entropy, log);
}

service::Chain chain_of(const LabService& service) {
  service::Chain chain{.map_queue_pairs = service.hide_queue_pairs};
  for (const auto& [from, to] : service.pkeys)
    chain.pkeys.push_back({.from = from, .to = to});
  return chain;
}

bool works_in_daemon(const LabService& service) {
  return service.type != "process" && !service.is_external() && !service.has_threads();
}

Expected<MadeService> make_service(const Lab& lab, const LabService& service, const LabPort& at,
                                   Entropy& entropy, FirewallLog& log) {
  if (service.type == "firewall") return make_firewall(service, at, log);
  if (service.type == "router") return make_router(service, at, log);
  if (service.type == "balancer") return make_balancer(lab, service, at, entropy);
  for (const KindMaker& kind : kKinds) {
    if (kind.type == service.type) return kind.make(lab, service, at);
  }
  return fail(std::errc::not_supported,
              fmt::format("there is no {} yet; firewall, monitor, capture, limiter, router and "
                          "balancer work here, and type = \"process\" is a process of its own",
                          service.type));
}

}  // namespace weft::daemon
