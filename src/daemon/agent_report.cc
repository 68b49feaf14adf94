// SPDX-License-Identifier: Apache-2.0
// What `weft status` reads.
#include "daemon/agent_report.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "daemon/agent.h"
#include "host/report_json.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

// "" when it is gone, or in another PID namespace.
std::string comm_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string comm;
  std::getline(file, comm);
  return comm;
}

// An agent's name is that of its network namespace.
Json own_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/net", &status) == 0 ? Json(status.st_ino) : Json();
}

// As rdma_cm's users write it; null: none.
Json address_json(const rdmacm::Address& address) {
  if (address.family == rdmacm::Family::kNone) return {};
  const bool ipv4 = address.family == rdmacm::Family::kIpv4;
  if (address.any()) return (ipv4 ? "0.0.0.0:" : "[::]:") + std::to_string(address.port);
  const std::string host = address.address.to_string();
  constexpr std::string_view kMapped = "::ffff:";
  if (ipv4 && host.starts_with(kMapped)) {
    return host.substr(kMapped.size()) + ":" + std::to_string(address.port);
  }
  return "[" + host + "]:" + std::to_string(address.port);
}

Json identity_json(const rdmacm::IdentityReport& identity, pid_t pid) {
  Json out{{"cm_idn", identity.handle},
           {"ps", rdmacm::to_string(identity.space)},
           {"type", host::type_name(identity.type)},
           {"state", rdmacm::to_string(identity.state)},
           {"pid", pid},
           {"comm", comm_of(pid)},
           {"src_addr", address_json(identity.source)},
           {"dst_addr", address_json(identity.destination)}};
  if (identity.exchange) out["cm_state"] = mgmt::to_string(*identity.exchange);
  if (identity.qpn != Qpn{}) out["lqpn"] = identity.qpn.value();
  if (identity.remote_qpn != Qpn{}) out["rqpn"] = identity.remote_qpn.value();
  return out;
}

}  // namespace

std::span<const std::span<const CounterInfo>> reported_counters() {
  static const std::array<std::span<const CounterInfo>, 4> all{
      rdmacm::kCounterInfo, mgmt::kCmCounters, kManagementCounterInfo, kAgentCounterInfo};
  return all;
}

std::string Agent::report() const {
  // Whose a file is: the first of the processes that share it. What each process has.
  std::map<std::pair<const WireAgent*, rdmacm::ChannelId>, pid_t> owners;
  struct Held {
    std::size_t files = 0;
    std::set<unsigned> slots;
  };
  std::map<pid_t, Held> clients;
  for (const auto& [id, session] : sessions_) {
    if (!session->holds_something()) continue;
    Held& held = clients[session->pid()];
    if (const auto slot = session->slot()) held.slots.insert(*slot);
    if (!session->file()) continue;
    ++held.files;
    const File& file = files_.at(*session->file());
    owners.try_emplace({file.wire, file.id}, session->pid());
  }
  Json programs = Json::array();
  for (const auto& [pid, held] : clients) {
    programs.push_back(
        {{"pid", pid}, {"comm", comm_of(pid)}, {"files", held.files}, {"slots", held.slots}});
  }
  Json wires = Json::array();
  for (const auto& [choice, wire] : wires_) {
    const rdmacm::CommandCore& core = wire->core();
    Json identities = Json::array();
    for (const rdmacm::IdentityReport& identity : core.report(kMostListed)) {
      const auto owner = owners.find({wire.get(), identity.channel});
      identities.push_back(identity_json(identity, owner == owners.end() ? 0 : owner->second));
    }
    wires.push_back({{"wire", choice.roce ? "roce" : "udp"},
                     {"udp_port", choice.roce ? config_.roce_port : choice.cm_port},
                     {"files", core.channels()},
                     {"cm_id_count", core.identities()},
                     {"cm_ids", std::move(identities)},
                     {"exchange_count", core.manager().ids()},
                     {"counters", host::counters_json(wire->counters())}});
  }
  Json addresses = Json::array();
  for (const Gid& address : interfaces_.addresses())
    addresses.push_back(address.to_string());
  return host::dump(
      {{"version", 1},
       {"pid", getpid()},
       {"netns", own_namespace()},
       {"since", std::chrono::duration_cast<std::chrono::seconds>(since_).count()},
       {"idle_s", std::chrono::duration_cast<std::chrono::seconds>(config_.idle).count()},
       {"addresses", std::move(addresses)},
       {"programs", std::move(programs)},
       {"wires", std::move(wires)},
       {"counters", host::counters_json(counters_.snapshot())}});
}

}  // namespace weft::daemon
