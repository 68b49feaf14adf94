// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/lab/manager_options.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

using fabric::LabNode;
using fabric::NodeKind;

constexpr std::size_t kMostEvents = SubnetDatabaseWriter::kMostEvents;

}  // namespace

Expected<std::unique_ptr<LabManager>> LabManager::open(fabric::Fabric& fabric,
                                                       const std::string& database) {
  const LabNode* const where = fabric.lab().managing_node();
  if (where == nullptr)
    return fail(std::errc::no_such_device, "a lab without nodes has no manager");
  fabric::Node& node = *fabric.find_node(where->name);
  const std::uint8_t port = where->kind == NodeKind::kSwitch ? 0 : 1;
  auto read = read_manager_options(fabric.lab().management, port);
  if (!read) return tl::unexpected(read.error());
  std::unique_ptr<SubnetDatabase> memory;
  if (!database.empty()) {
    auto opened = SubnetDatabase::open({.file = database});
    if (!opened) return tl::unexpected(opened.error());
    memory = std::move(*opened);
  }
  sm::StoredSubnet before = memory ? memory->load() : sm::StoredSubnet{};
  std::unique_ptr<LabManager> manager(
      new LabManager(fabric, node, read->options, std::move(memory), before.lids));
  manager->restore(before);
  for (const std::string& note : read->notes)
    manager->hear({.kind = sm::ManagerEvent::Kind::kProblem, .text = note});
  if (auto started = manager->management_.start(); !started) {
    return tl::unexpected(started.error());
  }
  return manager;
}

LabManager::LabManager(fabric::Fabric& fabric, fabric::Node& node,
                       const sm::ManagerOptions& options, std::unique_ptr<SubnetDatabase> database,
                       std::map<Guid, sm::LidRange> lids)
    : fabric_(fabric),
      node_(node),
      port_(options.own_port),
      database_(std::move(database)),
      management_(node.management().mad_port(options.own_port), options,
                  sm::LidPlan(std::move(lids))) {
  management_.on_event([this](const sm::ManagerEvent& event) { hear(event); });
}

LabManager::~LabManager() {
  if (database_) database_->close(io::now());
}

void LabManager::restore(const sm::StoredSubnet& before) {
  if (!database_) return;
  for (PastEvent& event : database_->load_events())
    keep(std::move(event));
  notes_ = database_->take_notes();
  const std::size_t left_out = management_.restore(before, io::now());
  if (left_out > 0) {
    notes_.push_back(
        fmt::format("subnet database {}: {} groups and services make no sense beside "
                    "the others, and are left out",
                    database_->file(), left_out));
  }
  for (const std::string& note : notes_)
    hear({.kind = sm::ManagerEvent::Kind::kDatabase, .text = note});
  management_.record_to(database_.get());
  database_->set_source([this] { management_.record_all(io::now()); });
}

void LabManager::start(Time now) {
  node_.management().set_subnet_manager(port_, true, now);
  management_.sweep();
}

void LabManager::run(Time now) {
  if (management_.run(now)) node_.management_used();
  if (!database_) return;
  database_->run(now);
  for (std::string& note : database_->take_notes())
    hear({.kind = sm::ManagerEvent::Kind::kDatabase, .text = std::move(note)});
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
  const auto manager = management_.deadline();
  const auto database = database_ ? database_->deadline() : std::nullopt;
  if (!manager || !database) return manager ? manager : database;
  return std::min(*manager, *database);
}

}  // namespace weft::daemon
