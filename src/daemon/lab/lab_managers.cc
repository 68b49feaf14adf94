// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_managers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/lab/admin_connection.h"

namespace weft::daemon {
namespace {

using fabric::Lab;

// "subnet.db" of the first is "subnet-s2.db" of the one at s2.
std::string database_of(const Lab& lab, std::size_t subnet, const std::string& first) {
  if (subnet == 0) return first;
  const fabric::LabManagement& management = lab.management_of(subnet);
  if (management.database == fabric::kNoDatabase) return {};
  if (!management.database.empty()) return management.database;
  const std::size_t slash = first.rfind('/');
  const std::size_t dot = first.rfind('.');
  if (first.empty()) return {};
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  const std::size_t end = has_ending ? dot : first.size();
  return fmt::format("{}-{}{}", first.substr(0, end), management.node, first.substr(end));
}

// Rules and services are the lab's, whichever of its subnets they are in.
bool changes_something(const nlohmann::json& request) {
  const std::string action = text_of(request, "action");
  return text_of(request, "what") == "policy" && action != "list" && action != "explain" &&
         action != "log";
}

bool wants_log(const nlohmann::json& request) {
  return text_of(request, "what") == "policy" && text_of(request, "action") == "log";
}

}  // namespace

Expected<std::unique_ptr<LabManagers>> LabManagers::open(fabric::Fabric& fabric,
                                                         const std::string& database) {
  const Lab& lab = fabric.lab();
  std::unique_ptr<LabManagers> all(new LabManagers);
  bool any = false;
  for (std::size_t subnet = 0; subnet <= lab.more_subnets.size(); ++subnet) {
    const fabric::LabNode* const node = lab.managing_node(subnet);
    const bool is_here =
        lab.management_of(subnet).manager == fabric::LabManagement::Manager::kWeft &&
        node != nullptr && fabric.find_node(node->name) != nullptr;
    auto& place = all->managers_.emplace_back();
    if (!is_here) continue;
    auto manager = LabManager::open(fabric, database_of(lab, subnet, database), subnet);
    if (!manager) return tl::unexpected(manager.error());
    place = std::move(*manager);
    any = true;
  }
  return any ? std::move(all) : nullptr;
}

void LabManagers::start(Time now) {
  for_each([now](LabManager& manager) { manager.start(now); });
}

void LabManagers::run(Time now) {
  for_each([now](LabManager& manager) { manager.run(now); });
}

std::optional<Time> LabManagers::deadline() const {
  std::optional<Time> first;
  for_each([&first](const LabManager& manager) {
    const auto due = manager.deadline();
    if (due && (!first || *due < *first)) first = due;
  });
  return first;
}

std::vector<sm::PathSteering*> LabManagers::steerings() {
  std::vector<sm::PathSteering*> all;
  for (const auto& manager : managers_)
    all.push_back(manager ? &manager->steering() : nullptr);
  return all;
}

std::vector<std::string> LabManagers::notes() const {
  std::vector<std::string> out;
  for_each([&out](const LabManager& manager) {
    std::ranges::copy(manager.notes(), std::back_inserter(out));
  });
  return out;
}

nlohmann::json LabManagers::report() const {
  nlohmann::json out;
  for_each([&out](const LabManager& manager) {
    if (out.is_null()) {
      out = manager.report();
    } else {
      out["more_subnets"].push_back(manager.report());
    }
  });
  return out;
}

Expected<nlohmann::json> LabManagers::answer(const nlohmann::json& request) {
  std::optional<Expected<nlohmann::json>> out;
  const bool is_for_all = changes_something(request);
  for_each([&](LabManager& manager) {
    if (out && *out && !is_for_all && !wants_log(request)) return;
    auto answer = manager.answer(request);
    if (out && *out && answer && wants_log(request)) {
      std::ranges::copy((*answer)["answers"], std::back_inserter((**out)["answers"]));
      return;
    }
    if (!out || (!*out && answer)) out = std::move(answer);
  });
  return std::move(*out);
}

}  // namespace weft::daemon
