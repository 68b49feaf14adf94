// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/subnet_router.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "daemon/counters_json.h"
#include "daemon/sa_question.h"
#include "hca/types.h"
#include "io/clock.h"
#include "wire/sa/path_record.h"

namespace weft::daemon {
namespace {

using wire::PathRecord;

// For one answer of the administrator, and how often it is asked again.
constexpr Duration kPatience = 250ms;
constexpr unsigned kRetries = 3;

constexpr std::uint64_t kAsked = PathRecord::kHasDgid | PathRecord::kHasSgid |
                                 PathRecord::kHasReversible | PathRecord::kHasNumbPath |
                                 PathRecord::kHasPKey;
constexpr std::uint16_t kBusy = 1;  // of a MAD's status, IBA 13.4.7

Gid gid_of(std::uint64_t prefix, Guid guid) {
  std::array<std::byte, 16> raw;
  wire::store_be64(raw.data(), prefix);
  wire::store_be64(raw.data() + 8, guid.value());
  return wire::load_gid(raw.data());
}

}  // namespace

SubnetRouter::SubnetRouter(fabric::ChannelAdapter& node, const link::PortOptions& port,
                           link::PacketPool& pool, std::function<void()> wake)
    : node_(node),
      wake_(std::move(wake)),
      agents_(node.management(), *this),
      router_({.port = port}, pool, *this),
      groups_(node, [this](const std::vector<wan::LocalGroup>& groups) {
        router_.set_groups(groups, io::now());
      }) {
}

Expected<void> SubnetRouter::start() {
  const mgmt::AgentRequest wanted{.mgmt_class = wire::MgmtClass::kSubnAdm,
                                  .class_version = wire::kSaClassVersion};
  if (auto opened = agents_.open(node_.port_count(), wanted); !opened) return opened;
  if (auto started = groups_.start(); !started) return started;
  node_.add_observer(*this);
  node_.set_forwarder(this);
  look_at_ports(false);
  return {};
}

void SubnetRouter::stop() {
  node_.set_forwarder(nullptr);
  node_.remove_observer(*this);
  agents_.close();
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
  wan::PrefixTable& table = router_.prefixes();
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
    const wire::PortInfo info = node_.port_info(port);
    if (info.state == wire::PortState::kActive && hca::is_unicast(info.master_sm_lid)) return port;
  }
  return std::nullopt;
}

bool SubnetRouter::ask(std::uint64_t number, const wan::PathQuestion& question, Time now) {
  const auto port = usable_port();
  if (!port) return false;
  const wire::PortInfo info = node_.port_info(*port);
  const PathRecord record{.dgid = question.dgid,
                          .sgid = gid_of(info.gid_prefix, node_.port(*port).guid()),
                          .reversible = true,
                          .paths = 1,
                          .pkey = question.pkey};
  const auto mad =
      sa_question(wire::MadMethod::kGet, kAsked, record, static_cast<std::uint32_t>(number));
  const mgmt::MadRequest request{
      .to = {.lid = info.master_sm_lid, .sl = info.master_sm_sl, .qpn = kQp1, .qkey = kGsiQKey},
      .mad = mad,
      .timeout = kPatience,
      .retries = kRetries,
      .cookie = number};
  const auto sent = agents_.send(*port, request, now);
  node_.management_used();
  return sent.has_value();
}

// Of an answer. Nothing: it knows none, or one that does not lead from here to somebody else.
std::optional<wan::LocalPath> SubnetRouter::path_of(mgmt::PortNumber port, Bytes mad) const {
  const auto header = wire::MadHeader::parse(mad);
  if (!header || header->status != 0 || header->method != wire::MadMethod::kGetResponse ||
      header->attribute_id != PathRecord::kAttributeId || mad.size() < wire::kMadSize) {
    return std::nullopt;
  }
  const auto record = PathRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  const fabric::NodePort& own = node_.port(port);
  if (!record || !hca::is_unicast(record->dlid) || own.owns(record->dlid) ||
      !own.owns(record->slid)) {
    return std::nullopt;
  }
  return wan::LocalPath{.port = port, .slid = record->slid, .dlid = record->dlid, .sl = record->sl};
}

void SubnetRouter::received(mgmt::PortNumber port, const mgmt::ReceivedMad& mad) {
  if (!mad.cookie) return;
  const auto header = wire::MadHeader::parse(mad.mad);
  if (header && (header->status & kBusy) != 0) {
    router_.paths().unanswered(*mad.cookie, io::now());
  } else if (const auto path = path_of(port, mad.mad)) {
    router_.paths().found(*mad.cookie, *path, io::now());
  } else {
    router_.paths().absent(*mad.cookie, io::now());
  }
}

void SubnetRouter::finished(mgmt::PortNumber, std::uint64_t cookie, mgmt::MadResult) {
  router_.paths().unanswered(cookie, io::now());
}

void SubnetRouter::port_changed(mgmt::PortNumber, bool reregister) {
  look_at_ports(reregister);
}

// What paths there are depends on where the router is, and on who manages the subnet.
void SubnetRouter::look_at_ports(bool anew) {
  const auto port = usable_port();
  const std::uint64_t prefix = node_.port_info(port.value_or(1)).gid_prefix;
  router_.set_subnet(prefix);
  router_.paths().forget();
  groups_.use(port, gid_of(prefix, node_.port(port.value_or(1)).guid()), anew, io::now());
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
