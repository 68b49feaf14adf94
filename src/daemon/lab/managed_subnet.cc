// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/managed_subnet.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kMostEvents = SubnetDatabaseWriter::kMostEvents;

}  // namespace

Expected<std::unique_ptr<ManagedSubnet>> ManagedSubnet::open(mgmt::MadLayer& layer,
                                                             std::string node,
                                                             ReadManagerOptions read,
                                                             const std::string& database,
                                                             sm::EventHandler tell) {
  std::unique_ptr<SubnetDatabase> memory;
  if (!database.empty()) {
    auto opened = SubnetDatabase::open({.file = database});
    if (!opened) return tl::unexpected(opened.error());
    memory = std::move(*opened);
  }
  const sm::StoredSubnet before = memory ? memory->load() : sm::StoredSubnet{};
  std::unique_ptr<ManagedSubnet> subnet(new ManagedSubnet(
      layer, std::move(node), read.options, std::move(memory), before.lids, std::move(tell)));
  subnet->mkeys_ = std::move(read.mkeys);
  subnet->restore(before);
  for (const std::string& note : read.notes)
    subnet->hear({.kind = sm::ManagerEvent::Kind::kProblem, .text = note});
  if (auto started = subnet->management_.start(); !started) {
    return tl::unexpected(started.error());
  }
  subnet->has_begun_ = true;
  return subnet;
}

ManagedSubnet::ManagedSubnet(mgmt::MadLayer& layer, std::string node,
                             const sm::ManagerOptions& options,
                             std::unique_ptr<SubnetDatabase> database,
                             std::map<Guid, sm::LidRange> lids, sm::EventHandler tell)
    : node_(std::move(node)),
      port_(options.own_port),
      tell_(std::move(tell)),
      database_(std::move(database)),
      management_(layer, options, sm::LidPlan(std::move(lids))) {
  management_.on_event([this](const sm::ManagerEvent& event) { hear(event); });
}

ManagedSubnet::~ManagedSubnet() {
  if (database_ && has_begun_) database_->close(io::now());
}

void ManagedSubnet::restore(const sm::StoredSubnet& before) {
  if (!database_) return;
  for (PastEvent& event : database_->load_events())
    keep(std::move(event));
  notes_ = database_->take_notes();
  const std::size_t left_out = management_.restore(before, io::now());
  if (left_out > 0) {
    notes_.push_back(
        fmt::format("subnet database {}: {} of its groups, services and others make no sense "
                    "beside the rest, and are left out",
                    database_->file(), left_out));
  }
  for (const std::string& note : notes_)
    hear({.kind = sm::ManagerEvent::Kind::kDatabase, .text = note});
  management_.record_to(database_.get());
  database_->set_source([this] { management_.record_all(io::now()); });
}

bool ManagedSubnet::run(Time now) {
  const bool sent = management_.run(now);
  keep_keys();
  if (!database_) return sent;
  database_->run(now);
  for (std::string& note : database_->take_notes())
    hear({.kind = sm::ManagerEvent::Kind::kDatabase, .text = std::move(note)});
  return sent;
}

void ManagedSubnet::keep_keys() {
  if (!mkeys_ || !manager().manages() || manager().sweeps() == kept_sweeps_) return;
  kept_sweeps_ = manager().sweeps();
  if (auto kept = mkeys_->keep(manager().subnet()); !kept) {
    hear({.kind = sm::ManagerEvent::Kind::kProblem, .text = kept.error().message});
  }
}

void ManagedSubnet::hear(const sm::ManagerEvent& event) {
  if (database_) database_->record_event(event);
  keep({.when = io::wall_clock(), .what = event});
  if (tell_) tell_(event);
}

void ManagedSubnet::keep(PastEvent event) {
  if (events_.size() >= kMostEvents) events_.pop_front();
  events_.push_back(std::move(event));
}

std::optional<Time> ManagedSubnet::deadline() const {
  const auto manager = management_.deadline();
  const auto database = database_ ? database_->deadline() : std::nullopt;
  if (!manager || !database) return manager ? manager : database;
  return std::min(*manager, *database);
}

}  // namespace weft::daemon
