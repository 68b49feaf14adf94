// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {
namespace {

using fabric::LabNode;
using fabric::NodeKind;

constexpr std::size_t kMostEvents = SubnetDatabaseWriter::kMostEvents;
// As OpenSM has it, which knows no manager with another one.
constexpr std::uint64_t kSmKey = 1;

// The first switch: programs on nodes may have managers of their own beside it.
const LabNode* choose_node(const fabric::Lab& lab) {
  if (!lab.management.node.empty()) return lab.find_node(lab.management.node);
  const auto found = std::find_if(lab.nodes.begin(), lab.nodes.end(), [](const LabNode& node) {
    return node.kind == NodeKind::kSwitch;
  });
  if (found != lab.nodes.end()) return &*found;
  return lab.nodes.empty() ? nullptr : &lab.nodes.front();
}

Expected<sm::Partitions> read_partitions(const std::string& file) {
  if (file.empty()) return sm::Partitions::standard();
  std::ifstream in(file);
  if (!in) return fail_errno(errno, file);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  if (in.bad()) return fail_errno(errno, file);
  return sm::Partitions::parse(text, file);
}

sm::ManagerOptions options_for(const fabric::LabManagement& management, std::uint8_t port,
                               const sm::Partitions& partitions) {
  return {.own_port = port,
          .engine = *sm::parse_engine(management.engine),
          .setup = {.lmc = management.lmc, .partitions = partitions},
          .mastership = {.priority = management.priority, .sm_key = kSmKey}};
}

}  // namespace

Expected<std::unique_ptr<LabManager>> LabManager::open(fabric::Fabric& fabric,
                                                       const std::string& database) {
  const LabNode* const where = choose_node(fabric.lab());
  if (where == nullptr)
    return fail(std::errc::no_such_device, "a lab without nodes has no manager");
  fabric::Node& node = *fabric.find_node(where->name);
  const std::uint8_t port = where->kind == NodeKind::kSwitch ? 0 : 1;
  const auto partitions = read_partitions(fabric.lab().management.partitions);
  if (!partitions) return tl::unexpected(partitions.error());
  std::unique_ptr<SubnetDatabase> memory;
  if (!database.empty()) {
    auto opened = SubnetDatabase::open({.file = database});
    if (!opened) return tl::unexpected(opened.error());
    memory = std::move(*opened);
  }
  std::unique_ptr<LabManager> manager(
      new LabManager(fabric, node, port, *partitions, std::move(memory)));
  manager->restore();
  for (const std::string& note : partitions->notes)
    manager->hear({.kind = sm::ManagerEvent::Kind::kProblem, .text = note});
  if (auto started = manager->start_cores(); !started) return tl::unexpected(started.error());
  return manager;
}

LabManager::LabManager(fabric::Fabric& fabric, fabric::Node& node, std::uint8_t port,
                       const sm::Partitions& partitions, std::unique_ptr<SubnetDatabase> database)
    : fabric_(fabric),
      node_(node),
      port_(port),
      groups_(partitions.groups),
      database_(std::move(database)),
      before_(database_ ? database_->load() : sm::StoredSubnet{}),
      manager_(node.management().mad_port(port),
               options_for(fabric.lab().management, port, partitions), sm::LidPlan(before_.lids)),
      administrator_(node.management().mad_port(port), {.own_port = port}) {
  administrator_.set_multicast_source([this]() -> const sm::Subnet& { return manager_.subnet(); });
  manager_.on_event([this](const sm::ManagerEvent& event) { hear(event); });
  manager_.on_trap([this](const sm::ReceivedTrap& trap) { administrator_.take_trap(trap); });
}

LabManager::~LabManager() {
  if (database_) database_->close(io::now());
}

// Of the groups that were to last, those do that the partitions still have.
void LabManager::restore() {
  if (!database_) return;
  for (PastEvent& event : database_->load_events())
    keep(std::move(event));
  notes_ = database_->take_notes();
  sm::StoredSubnet before = std::exchange(before_, {});
  for (sm::GroupState& group : before.groups) {
    group.lasting = std::any_of(groups_.begin(), groups_.end(),
                                [&](const auto& wanted) { return wanted.mgid == group.like.mgid; });
  }
  const std::size_t left_out = administrator_.restore(before, io::now());
  if (left_out > 0) {
    notes_.push_back(
        fmt::format("subnet database {}: {} groups and services make no sense beside "
                    "the others, and are left out",
                    database_->file(), left_out));
  }
  for (const std::string& note : notes_)
    hear({.kind = sm::ManagerEvent::Kind::kDatabase, .text = note});
  manager_.record_to(database_.get());
  administrator_.record_to(database_.get());
  database_->set_source([this] {
    manager_.record_all();
    administrator_.record_all(io::now());
  });
}

Expected<void> LabManager::start_cores() {
  if (auto started = manager_.start(); !started) return started;
  return administrator_.start();
}

void LabManager::start(Time now) {
  node_.management().set_subnet_manager(port_, true, now);
  manager_.sweep();
}

std::uint64_t LabManager::activity() const {
  return manager_.smps().sent + administrator_.counters().get(sm::SaCounter::kQueries) +
         administrator_.counters().get(sm::SaCounter::kReports);
}

void LabManager::run(Time now) {
  const std::uint64_t before = activity();
  manager_.run(now);
  administrator_.set_master(manager_.manages());
  if (manager_.revision() != revision_) publish(now);
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
  if (activity() != before) node_.management_used();
  if (!database_) return;
  database_->run(now);
  for (std::string& note : database_->take_notes())
    hear({.kind = sm::ManagerEvent::Kind::kDatabase, .text = std::move(note)});
}

void LabManager::publish(Time now) {
  revision_ = manager_.revision();
  administrator_.subnet_changed(manager_.subnet(), manager_.routes(), sm::SetupOptions{}.gid_prefix,
                                now);
  add_groups();
  std::vector<sm::Administrator::Manager> managers;
  const std::uint32_t own = administrator_.view().end_of(manager_.info().guid);
  if (own != sm::SubnetView::kNobody) {
    managers.push_back({.lid = administrator_.view().ends()[own].lid, .info = manager_.info()});
  }
  for (const sm::OtherManager& other : manager_.report().managers)
    managers.push_back({.lid = other.lid, .info = other.info});
  administrator_.set_managers(std::move(managers));
}

void LabManager::add_groups() {
  const auto exactly = [](std::uint8_t value) {
    return wire::SaValue{.selector = wire::SaValue::Selector::kExactly, .value = value};
  };
  for (const sm::PartitionGroup& group : groups_) {
    const bool added =
        administrator_.add_group({.mgid = group.mgid,
                                  .qkey = group.qkey,
                                  .mtu = exactly(group.mtu),
                                  .traffic_class = group.traffic_class,
                                  .pkey = group.pkey,
                                  .rate = exactly(group.rate),
                                  .packet_life = exactly(sm::GroupOptions{}.packet_life),
                                  .sl = group.sl,
                                  .flow_label = group.flow_label,
                                  .hop_limit = group.hop_limit,
                                  .scope = group.scope});
    if (!added) {
      hear({.kind = sm::ManagerEvent::Kind::kProblem,
            .text = fmt::format("group {}: there is no MLID left", group.mgid.to_string())});
    }
  }
}

void LabManager::hear(const sm::ManagerEvent& event) {
  if (database_) database_->record_event(event);
  keep({.when = io::wall_clock(), .what = event});
}

void LabManager::keep(PastEvent event) {
  if (events_.size() >= kMostEvents) events_.pop_front();
  events_.push_back(std::move(event));
}

std::optional<Time> LabManager::deadline() const {
  std::optional<Time> first = manager_.deadline();
  for (const auto& other :
       {administrator_.deadline(), database_ ? database_->deadline() : std::nullopt}) {
    if (other) first = std::min(first.value_or(*other), *other);
  }
  return first;
}

}  // namespace weft::daemon
