// SPDX-License-Identifier: Apache-2.0
#include "sm/subnet_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sm/forwarding_tables.h"
#include "sm/subnet_changes.h"

namespace weft::sm {
namespace {

using Kind = ManagerEvent::Kind;

// Without a key there is nothing to protect, and bits that say so would look like another's.
ManagerOptions sane(ManagerOptions options) {
  if (options.setup.mkey == 0) options.setup.mkey_protect = 0;
  return options;
}

// What is asked is asked with the key that is set.
SmpLimits limits_with_key(const ManagerOptions& options) {
  SmpLimits limits = options.smps;
  limits.mkey = options.setup.mkey;
  return limits;
}

}  // namespace

SubnetManager::SubnetManager(mgmt::MadLayer& port, const ManagerOptions& options, LidPlan lids)
    : smps_(port, limits_with_key(options)),
      options_(sane(options)),
      lids_(std::move(lids)),
      mastership_(options.mastership),
      pace_(options.look_every),
      retry_after_(options.retry_after) {
}

SubnetManager::~SubnetManager() = default;

Expected<void> SubnetManager::start() {
  return smps_.open([this](const ReceivedTrap& trap) { take_trap(trap); },
                    [this](const SmInfoRequest& request) { return take_request(request); });
}

void SubnetManager::run(Time now) {
  now_ = now;
  multicast_.expire(now);
  for (;;) {
    smps_.run(now);
    if (!smps_.idle()) return;
    if (phase_ != Phase::kIdle) {
      advance();
    } else if (!begin()) {
      return;
    }
  }
}

bool SubnetManager::begin() {
  const auto is_time = [this](const std::optional<Time>& when) { return when && *when <= now_; };
  if (mastership_.may_sweep() && (is_time(wanted_at_) || is_time(retry_at_))) {
    begin_sweep();
  } else if (manages() && has_updates()) {
    write_updates();
  } else if (is_time(poll_at_)) {
    poll();
  } else if (mastership_.may_sweep() && is_time(look_at_)) {
    look();
  } else {
    return false;
  }
  return true;
}

std::optional<Time> SubnetManager::deadline() const {
  // Of what is on its way, the port tells.
  if (phase_ != Phase::kIdle || !smps_.idle()) return std::nullopt;
  std::optional<Time> first;
  const auto consider = [&](const std::optional<Time>& when) {
    if (when) first = std::min(first.value_or(*when), *when);
  };
  consider(poll_at_);
  if (mastership_.may_sweep()) {
    consider(wanted_at_);
    consider(retry_at_);
    consider(look_at_);
    if (manages() && has_updates()) consider(now_);
    consider(multicast_.deadline());
  }
  return first ? std::optional(std::max(*first, now_)) : first;
}

void SubnetManager::advance() {
  switch (phase_) {
    case Phase::kIdle:
      return;
    case Phase::kLook:
      return rest();
    case Phase::kPoll:
      return ended_poll();
    case Phase::kDiscovery:
      phase_ = Phase::kSetup;
      return decide();
    case Phase::kHandover:
      mastership_.handed_over();
      entered();
      return end_sweep();
    case Phase::kUpdate:
      return ended_updates();
    case Phase::kSetup:
      if (setup_ == nullptr || !setup_->next_step()) end_sweep();
      return;
  }
}

void SubnetManager::begin_sweep() {
  wanted_at_.reset();
  retry_at_.reset();
  setup_.reset();
  has_visitor_ = false;
  began_ = now_;
  const bool is_master = state() == wire::SmState::kMaster;
  discovery_ = std::make_unique<Discovery>(smps_, Discovery::Options{.own_port = options_.own_port,
                                                                     .is_master = is_master,
                                                                     .mkey = options_.setup.mkey,
                                                                     .mkeys = &options_.mkeys});
  discovery_->start();
  phase_ = Phase::kDiscovery;
}

// A light sweep: whether a switch has seen a link come or go, or is not there any more; the
// manager's own link, which no switch tells of that is not known yet; and the other managers.
void SubnetManager::look() {
  phase_ = Phase::kLook;
  if (options_.own_port != 0) {
    smps_.get({}, wire::SmAttribute::kPortInfo, options_.own_port, [this](const SmpResult& result) {
      const auto info = wire::PortInfo::parse(result.data);
      if (!result.answered() || !info || info->state != wire::PortState::kActive) want(now_);
    });
  }
  for (const SubnetNode& node : subnet_.nodes) {
    if (!node.is_switch()) continue;
    smps_.get(node.route, wire::SmAttribute::kSwitchInfo, 0, [this](const SmpResult& result) {
      const auto info = wire::SwitchInfo::parse(result.data);
      if (!result.answered() || !info || info->port_state_change) want(now_);
    });
  }
  ask_others();
}

void SubnetManager::rest() {
  phase_ = Phase::kIdle;
  look_at_ = now_ + options_.look_every;
}

bool SubnetManager::has_updates() const {
  return multicast_.changed() || guids_.changed() || services_.changed();
}

void SubnetManager::write_updates() {
  phase_ = Phase::kUpdate;
  updates_ = std::make_unique<Changes>(smps_);
  multicast_.write(*updates_, subnet_);
  guids_.write(*updates_, subnet_);
  moves_services_ = services_.changed();
  if (moves_services_) {
    const std::vector<PortRef> ends = subnet_.end_ports();
    std::vector<Lid> lids;
    for (const PortRef& end : ends)
      lids.push_back(subnet_.port(end).info->lid);
    route_services(ends, lids);
  }
  SwitchIndex index = 0;  // of switches, in the order of nodes
  for (std::uint32_t node = 0; node < subnet_.nodes.size(); ++node) {
    const SubnetNode& at = subnet_.nodes[node];
    if (!at.is_switch()) continue;
    const auto table = routes_.table(index++);
    // What the last sweep has left alone is for the next one.
    if (!at.switch_info || at.tables.linear.empty() || table.empty()) continue;
    if (multicast_.is_left_alone(node)) continue;
    if (moves_services_) write_linear(*updates_, subnet_, node, table);
    wire::SwitchInfo info = *at.switch_info;
    info.linear_top = Lid{static_cast<std::uint16_t>(table.size() - 1)};
    info.multicast_top = multicast_.top(subnet_, node);
    write_switch_info(*updates_, subnet_, node, info);
  }
}

// What a node did not take, a sweep writes again.
void SubnetManager::ended_updates() {
  phase_ = Phase::kIdle;
  if (moves_services_) ++revision_;
  if (updates_->failures() == 0) return;
  say(Kind::kProblem, updates_->first_failure());
  retry_at_ = std::min(retry_at_.value_or(now_ + retry_after_), now_ + retry_after_);
}

// The graph of the switches that answered, and of the end ports with LIDs.
Expected<SwitchGraph> SubnetManager::make_graph(const SubnetSetup::Plan& plan,
                                                std::vector<SwitchIndex>& index) const {
  SwitchGraph graph;
  index.assign(subnet_.nodes.size(), 0);
  for (std::uint32_t node = 0; node < subnet_.nodes.size(); ++node) {
    const SubnetNode& at = subnet_.nodes[node];
    if (at.is_switch()) index[node] = graph.add_switch(at.info.node_guid, at.info.ports);
  }
  for (std::uint32_t node = 0; node < subnet_.nodes.size(); ++node) {
    const SubnetNode& at = subnet_.nodes[node];
    for (std::size_t port = 1; at.is_switch() && port < at.ports.size(); ++port) {
      const auto& peer = at.ports[port].peer;
      // Each link once.
      if (!peer || !subnet_.nodes[peer->node].is_switch()) continue;
      if (std::pair(peer->node, peer->port) < std::pair(node, static_cast<std::uint8_t>(port))) {
        continue;
      }
      auto joined = graph.connect(index[node], static_cast<std::uint8_t>(port), index[peer->node],
                                  peer->port);
      if (!joined) return tl::unexpected(joined.error());
    }
  }
  for (std::size_t i = 0; i < plan.ends.size(); ++i) {
    const PortRef& end = plan.ends[i];
    const SubnetPort& port = subnet_.port(end);
    const bool is_switch = subnet_.nodes[end.node].is_switch();
    // Two adapters back to back need no tables.
    const bool at_switch = is_switch || (port.peer && subnet_.nodes[port.peer->node].is_switch());
    if (!at_switch || plan.lids[i] == Lid{}) continue;
    EndPort there{.at = index[is_switch ? end.node : port.peer->node],
                  .port = is_switch ? std::uint8_t{0} : port.peer->port,
                  .lid = plan.lids[i],
                  .lmc = is_switch ? std::uint8_t{0} : options_.setup.lmc};
    if (auto attached = graph.attach(there); !attached) return tl::unexpected(attached.error());
  }
  graph.finish();
  return graph;
}

// A fabric that is not of the engine's shape is routed all the same.
void SubnetManager::find_routes(const SwitchGraph& graph) {
  report_.engine = options_.engine;
  auto routes = route(options_.engine, graph, options_.routing);
  if (!routes) {
    report_.engine_refused = routes.error().message;
    report_.engine = Engine::kMinHop;
    routes = route(Engine::kMinHop, graph, options_.routing);
  }
  routes_ = std::move(*routes);
}

void SubnetManager::decide() {
  const std::vector<std::string> problems = std::move(report_.problems);
  report_ = SweepReport{};
  report_.discovery = now_ - began_;
  report_.problems = discovery_->problems();
  const Course course = judge();
  Subnet found = std::move(discovery_->subnet());
  discovery_.reset();
  found.sort_nodes();
  has_changed_ = false;
  if (course == Course::kManage) {
    // Who was not the master does not know what others have written meanwhile.
    if (!is_first_) found.keep_known(subnet_);
    if (is_first_) guids_.forget();
    // What it has seen while it was not the master is not recorded yet.
    if (is_first_ && store_ != nullptr) tell_changes({}, subnet_, nullptr, store_);
    has_changed_ = tell_changes(subnet_, found, tell_, store_) > 0;
    multicast_.forget();
    subnet_ = std::move(found);
    plan();
  } else if (course == Course::kLeave) {
    multicast_.forget();
    subnet_ = std::move(found);
    routes_ = Routes{};  // those that there were are of another subnet
    is_first_ = true;
  }
  say_problems(problems);
}

std::set<Lid> SubnetManager::port_lids() const {
  std::set<Lid> taken;
  const auto take = [&](Lid first, std::uint8_t lmc) {
    for (unsigned i = 0; first != Lid{} && i < 1u << lmc; ++i)
      taken.insert(Lid{static_cast<std::uint16_t>(first.value() + i)});
  };
  std::set<Guid> here;
  for (const PortRef& end : subnet_.end_ports()) {
    const SubnetPort& port = subnet_.port(end);
    here.insert(port.guid);
    take(port.info->lid, subnet_.nodes[end.node].is_switch() ? std::uint8_t{0} : port.info->lmc);
  }
  for (const auto& [guid, range] : lids_.given()) {
    if (!here.contains(guid)) take(range.first, range.lmc);
  }
  return taken;
}

Expected<void> SubnetManager::set_service_lids(std::span<const ServiceLid> lids) {
  return services_.set(lids, port_lids());
}

void SubnetManager::route_services(const std::vector<PortRef>& ends, const std::vector<Lid>& lids) {
  for (const std::string& text : services_.route(subnet_, ends, lids, options_.setup.lmc, routes_))
    say(Kind::kProblem, text);
}

void SubnetManager::record_lids() {
  const std::set<Guid> changed = lids_.take_changed();
  if (store_ == nullptr) return;
  for (const Guid port : changed) {
    const auto given = lids_.given().find(port);
    if (given != lids_.given().end()) {
      store_->record_lid(port, given->second);
    } else {
      store_->forget_lid(port);
    }
  }
}

void SubnetManager::record_all() const {
  if (store_ == nullptr) return;
  for (const auto& [port, lids] : lids_.given())
    store_->record_lid(port, lids);
  tell_changes({}, subnet_, nullptr, store_);
}

void SubnetManager::plan() {
  SubnetSetup::Plan plan;
  plan.manager = {0, options_.own_port};
  plan.is_first = is_first_;
  plan.is_patient = unanswered_ + 1 < options_.mastership.poll_misses;
  plan.ends = subnet_.end_ports();
  std::vector<LidPlan::Port> ports;
  for (const PortRef& end : plan.ends) {
    const SubnetPort& port = subnet_.port(end);
    ports.push_back({.guid = port.guid,
                     .current = port.info->lid,
                     .is_switch = subnet_.nodes[end.node].is_switch(),
                     .active = port.info->state == wire::PortState::kActive});
  }
  plan.lids = lids_.assign(ports, options_.setup.lmc, services_.reserved());
  record_lids();
  for (std::size_t i = 0; i < plan.ends.size(); ++i) {
    if (plan.ends[i] == plan.manager) plan.sm_lid = plan.lids[i];
    if (plan.lids[i] == Lid{}) report_.problems.emplace_back("there are no more LIDs");
    const Lid before = subnet_.port(plan.ends[i]).info->lid;
    if (plan.lids[i] == before) continue;
    say(Kind::kLid, fmt::format("{} gets LID {}, had {}", name_of(subnet_, plan.ends[i]),
                                plan.lids[i].value(), before.value()));
  }
  std::vector<SwitchIndex> index;
  auto graph = make_graph(plan, index);
  if (!graph) {
    report_.problems.push_back(graph.error().message);
    routes_ = Routes{};
    return;
  }
  find_routes(*graph);
  route_services(plan.ends, plan.lids);
  plan.tables.resize(subnet_.nodes.size());
  for (std::uint32_t node = 0; node < subnet_.nodes.size(); ++node) {
    if (!subnet_.nodes[node].is_switch()) continue;
    const auto table = routes_.table(index[node]);
    plan.tables[node].assign(table.begin(), table.end());
  }
  report_.switches = graph->switches();
  report_.adapters = subnet_.nodes.size() - graph->switches();
  report_.end_ports = plan.ends.size();
  plan.lanes = lane_plan(subnet_, *graph, routes_, index);
  multicast_.take(subnet_, std::move(*graph), index);
  plan.multicast = &multicast_;
  plan.guids = &guids_;
  setup_ = std::make_unique<SubnetSetup>(smps_, subnet_, std::move(plan), options_.setup);
}

void SubnetManager::end_sweep() {
  for (const SubnetNode& node : subnet_.nodes) {
    report_.links += static_cast<std::size_t>(
        std::count_if(node.ports.begin(), node.ports.end(),
                      [](const SubnetPort& port) { return port.peer.has_value(); }));
  }
  report_.links /= 2;
  if (setup_ != nullptr) {
    const Changes& changes = setup_->changes();
    report_.writes = changes.writes();
    report_.failures = changes.failures();
    unanswered_ = changes.unanswered() > 0 ? unanswered_ + 1 : 0;
    report_.warnings = changes.warnings();
    if (report_.failures > 0) {
      report_.problems.push_back(changes.first_failure());
      say(Kind::kProblem, changes.first_failure());
    }
  }
  report_.state = state();
  report_.smps = smps_.counts();
  report_.setup = now_ - began_ - report_.discovery;
  ++sweeps_;
  ++revision_;
  pause_after_sweep();
}

void SubnetManager::pause_after_sweep() {
  const bool has_managed = setup_ != nullptr;
  const bool has_written = report_.writes > 0;
  pace_.ended(now_ - began_, has_changed_ || has_written, now_);
  if (has_changed_) visitors_.clear();
  if (has_managed && report_.problems.empty() && (has_written || is_first_)) {
    say(Kind::kSubnetUp, fmt::format("SUBNET UP: {} switches, {} channel adapters, {} links",
                                     report_.switches, report_.adapters, report_.links));
  }
  if (has_managed && !setup_->own_is_closed()) is_first_ = false;
  if (unsure_ > 0) {
    retry_at_ = now_ + options_.retry_after;
  } else if (state() == wire::SmState::kDiscovering) {
    retry_at_ = now_ + options_.mastership.poll_every;  // it has no link
  } else if (report_.problems.empty()) {
    retry_after_ = options_.retry_after;
  } else {
    retry_at_ = now_ + retry_after_;
    retry_after_ = std::min(2 * retry_after_, options_.look_every);
  }
  rest();
}

}  // namespace weft::sm
