// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/subnet_router.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "daemon/counters_json.h"
#include "io/clock.h"
#include "wire/sa/path_record.h"

namespace weft::daemon {
namespace {

using wire::PathRecord;

}  // namespace

SubnetRouter::SubnetRouter(fabric::ChannelAdapter& node, const link::PortOptions& port,
                           link::PacketPool& pool, std::function<void()> wake)
    : node_(node),
      wake_(std::move(wake)),
      questions_(node, *this),
      router_({.port = port}, pool, *this),
      groups_(node, [this](const std::vector<wan::LocalGroup>& groups) {
        router_.set_groups(groups, io::now());
      }) {
}

Expected<void> SubnetRouter::start() {
  if (auto opened = questions_.open(); !opened) return opened;
  if (auto started = groups_.start(); !started) return started;
  node_.add_observer(*this);
  node_.set_forwarder(this);
  look_at_ports(false);
  return {};
}

void SubnetRouter::stop() {
  node_.set_forwarder(nullptr);
  node_.remove_observer(*this);
  questions_.close();
  groups_.stop();
  node_.management_used();
  router_.paths().drop_waiting(wan::NoPath::kUnanswered);
}

link::Port& SubnetRouter::add_site(const std::vector<GidPrefix>& prefixes) {
  const std::uint32_t site = router_.add_site();
  for (const GidPrefix& prefix : prefixes)
    router_.prefixes().insert(prefix, site);
  return router_.site(site);
}

void SubnetRouter::set_learned(const std::vector<LearnedRoute>& routes) {
  PrefixTable& table = router_.prefixes();
  for (const auto& [prefix, site] : learned_)
    table.remove(prefix);
  learned_.clear();
  std::set<std::tuple<std::uint64_t, std::uint64_t, unsigned>> given;
  for (const auto& [prefix, site] : table.entries())
    given.emplace(prefix.subnet(), prefix.rest(), prefix.bits());
  for (const LearnedRoute& route : routes) {
    const GidPrefix& prefix = route.first;
    if (given.contains({prefix.subnet(), prefix.rest(), prefix.bits()})) continue;
    table.insert(prefix, route.second);
    learned_.push_back(route);
  }
}

std::size_t SubnetRouter::learned(std::uint32_t site) const {
  return static_cast<std::size_t>(std::ranges::count(learned_, site, &LearnedRoute::second));
}

void SubnetRouter::run(Time now) {
  groups_.run(now);
  router_.run(now);
}

std::optional<Time> SubnetRouter::deadline() const {
  const auto first = router_.deadline();
  const auto groups = groups_.deadline();
  return first && groups ? std::min(*first, *groups) : first ? first : groups;
}

void SubnetRouter::from_subnet(link::PacketPtr packet, Time now) {
  router_.from_subnet(std::move(packet), now);
}

void SubnetRouter::into_subnet(link::PacketPtr packet, std::uint8_t port, Time now) {
  node_.send_routed(port, std::move(packet), now);
}

std::optional<mgmt::PortNumber> SubnetRouter::usable_port() const {
  for (unsigned number = 1; number <= node_.port_count(); ++number) {
    const auto port = static_cast<mgmt::PortNumber>(number);
    if (questions_.can_ask(port)) return port;
  }
  return std::nullopt;
}

bool SubnetRouter::ask(std::uint64_t number, const wan::PathQuestion& question, Time now) {
  const auto port = usable_port();
  if (!port) return false;
  return questions_.ask(
      *port, number,
      {.mask = PathRecord::kHasDgid | PathRecord::kHasSgid | PathRecord::kHasPKey,
       .like = {.dgid = question.dgid, .sgid = questions_.gid_of(*port), .pkey = question.pkey}},
      now);
}

void SubnetRouter::path_answered(std::uint64_t number, const SaPathAnswer& answer) {
  using Outcome = SaPathAnswer::Outcome;
  const Time now = io::now();
  if (answer.outcome == Outcome::kBusy || answer.outcome == Outcome::kUnanswered) {
    return router_.paths().unanswered(number, now);
  }
  const PathRecord& record = answer.record;
  const fabric::NodePort& own = node_.port(answer.port);
  // One that does not lead from here to somebody else is none.
  if (answer.outcome != Outcome::kFound || own.owns(record.dlid) || !own.owns(record.slid)) {
    return router_.paths().absent(number, now);
  }
  router_.paths().found(
      number, {.port = answer.port, .slid = record.slid, .dlid = record.dlid, .sl = record.sl},
      now);
}

void SubnetRouter::port_changed(mgmt::PortNumber, bool reregister) {
  look_at_ports(reregister);
}

// What paths there are depends on where the router is, and on who manages the subnet.
void SubnetRouter::look_at_ports(bool anew) {
  const auto port = usable_port();
  router_.set_subnet(node_.port_info(port.value_or(1)).gid_prefix);
  router_.paths().forget();
  groups_.use(port, questions_.gid_of(port.value_or(1)), anew, io::now());
  wake_();
}

nlohmann::json SubnetRouter::report() const {
  return {{"prefixes", router_.prefixes().size()},
          {"paths", router_.paths().size()},
          {"groups", router_.groups().local_size()},
          {"told", groups_.is_told()},
          {"reports", groups_.reports()},
          {"counters", counters_json(router_.counters().snapshot())}};
}

}  // namespace weft::daemon
