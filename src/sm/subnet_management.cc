// SPDX-License-Identifier: Apache-2.0
#include "sm/subnet_management.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::sm {

namespace {

constexpr Vl kSubnetManagementNoLane{15};  // of data

// The levels that do not end at a port.
std::uint16_t levels_of(const QosProfile& profile) {
  unsigned levels = 0;
  for (std::size_t sl = 0; sl < profile.sl_to_vl.vls.size(); ++sl)
    levels |= profile.sl_to_vl.vls[sl] == kSubnetManagementNoLane ? 0u : 1u << sl;
  return static_cast<std::uint16_t>(levels);
}

PathOptions path_options(const ManagerOptions& manager) {
  const SetupOptions& setup = manager.setup;
  PathOptions options{.prefix_routes = manager.prefix_routes.routes};
  for (const Partition& partition : setup.partitions.partitions)
    options.levels.emplace(partition.number(), partition.sl);
  if (setup.qos && setup.qos->on) {
    options.adapter_levels = levels_of(setup.qos->adapters);
    options.switch_levels = levels_of(setup.qos->switch_ports);
  }
  return options;
}

}  // namespace

SubnetManagement::SubnetManagement(mgmt::MadLayer& port, const ManagerOptions& options,
                                   LidPlan lids)
    : gid_prefix_(options.setup.gid_prefix),
      groups_(options.setup.partitions.groups),
      steering_error_(steering_.set(options.steering)),
      manager_(port, options, std::move(lids)),
      administrator_(port, {.paths = path_options(options), .own_port = options.own_port}) {
  administrator_.set_multicast_source([this]() -> const Subnet& { return manager_.subnet(); });
  administrator_.steer_by(&steering_);
  manager_.on_trap([this](const ReceivedTrap& trap) { administrator_.take_trap(trap); });
}

std::size_t SubnetManagement::restore(StoredSubnet before, Time now) {
  for (GroupState& group : before.groups) {
    group.lasting = std::any_of(groups_.begin(), groups_.end(), [&](const PartitionGroup& wanted) {
      return wanted.mgid == group.like.mgid;
    });
  }
  return administrator_.restore(before, now);
}

void SubnetManagement::record_to(SubnetStore* store) {
  manager_.record_to(store);
  administrator_.record_to(store);
}

void SubnetManagement::record_all(Time now) const {
  manager_.record_all();
  administrator_.record_all(now);
}

Expected<void> SubnetManagement::start() {
  if (!steering_error_) return steering_error_;
  // Those that were given are no port's from the beginning.
  if (auto set = manager_.set_service_lids(steering_.services().lids()); !set) {
    return fail(set.error().code, "service LIDs: " + set.error().message);
  }
  if (auto started = manager_.start(); !started) return started;
  return administrator_.start();
}

void SubnetManagement::on_event(EventHandler handler) {
  tell_ = std::move(handler);
  manager_.on_event(tell_);
}

std::uint64_t SubnetManagement::activity() const {
  return manager_.smps().sent + administrator_.counters().get(SaCounter::kQueries) +
         administrator_.counters().get(SaCounter::kReports);
}

bool SubnetManagement::run(Time now) {
  const std::uint64_t before = activity();
  steering_.set_time(now);
  manager_.run(now);
  administrator_.set_master(manager_.manages());
  if (manager_.revision() != revision_) publish(now);
  steer(now);
  administrator_.run(now);
  if (administrator_.guids_generation() != guids_generation_) {
    guids_generation_ = administrator_.guids_generation();
    manager_.set_guids(administrator_.guids());
    manager_.run(now);
  }
  if (administrator_.groups().generation() != group_generation_) {
    group_generation_ = administrator_.groups().generation();
    manager_.set_groups(administrator_.groups().forwarding());
    manager_.run(now);
  }
  return activity() != before;
}

void SubnetManagement::publish(Time now) {
  revision_ = manager_.revision();
  administrator_.subnet_changed(manager_.subnet(), manager_.routes(), gid_prefix_, now);
  add_groups();
  publish_ports();
  std::vector<Administrator::Manager> managers;
  const std::uint32_t own = administrator_.view().end_of(manager_.info().guid);
  if (own != SubnetView::kNobody) {
    managers.push_back({.lid = administrator_.view().ends()[own].lid, .info = manager_.info()});
  }
  for (const OtherManager& other : manager_.report().managers)
    managers.push_back({.lid = other.lid, .info = other.info});
  administrator_.set_managers(std::move(managers));
}

void SubnetManagement::publish_ports() {
  const SubnetView& view = administrator_.view();
  std::vector<PresentPort> ports;
  for (const ViewEnd& end : view.ends()) {
    ports.push_back(
        {.port = end.guid, .system = view.subnet().nodes[end.at.node].info.system_image_guid});
  }
  steering_.services().set_ports(ports);
}

void SubnetManagement::steer(Time now) {
  if (!manager_.manages()) return;
  DataServices& services = steering_.services();
  const auto say = [&](ManagerEvent::Kind kind, const std::string& text) {
    if (tell_) tell_({.kind = kind, .text = text});
  };
  for (const std::string& text : services.take_events())
    say(ManagerEvent::Kind::kNode, text);
  std::string trouble;
  if (!services.assign_lids(manager_.port_lids())) trouble = "there are no LIDs left for services";
  if (services.generation() != lids_generation_) {
    lids_generation_ = services.generation();
    if (auto set = manager_.set_service_lids(services.lids()); !set) trouble = set.error().message;
    manager_.run(now);
  }
  if (trouble != lids_trouble_ && !trouble.empty()) say(ManagerEvent::Kind::kProblem, trouble);
  lids_trouble_ = std::move(trouble);
  if (steering_.generation() == paths_generation_) return;
  // With its first subnet a manager has changed nothing that it has told anybody.
  if (paths_generation_ != 0) administrator_.paths_changed();
  paths_generation_ = steering_.generation();
}

void SubnetManagement::add_groups() {
  const auto exactly = [](std::uint8_t value) {
    return wire::SaValue{.selector = wire::SaValue::Selector::kExactly, .value = value};
  };
  for (const PartitionGroup& group : groups_) {
    const bool added = administrator_.add_group({.mgid = group.mgid,
                                                 .qkey = group.qkey,
                                                 .mtu = exactly(group.mtu),
                                                 .traffic_class = group.traffic_class,
                                                 .pkey = group.pkey,
                                                 .rate = exactly(group.rate),
                                                 .packet_life = exactly(GroupOptions{}.packet_life),
                                                 .sl = group.sl,
                                                 .flow_label = group.flow_label,
                                                 .hop_limit = group.hop_limit,
                                                 .scope = group.scope});
    if (!added && tell_) {
      tell_({.kind = ManagerEvent::Kind::kProblem,
             .text = fmt::format("group {}: there is no MLID left", group.mgid.to_string())});
    }
  }
}

std::optional<Time> SubnetManagement::deadline() const {
  const auto manager = manager_.deadline();
  const auto administrator = administrator_.deadline();
  if (!manager || !administrator) return manager ? manager : administrator;
  return std::min(*manager, *administrator);
}

}  // namespace weft::sm
