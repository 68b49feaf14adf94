// SPDX-License-Identifier: Apache-2.0
// The subnet manager and the subnet administrator of a lab that has Weft's own, at one of its
// nodes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/subnet_database.h"
#include "fabric/fabric.h"
#include "sm/subnet_management.h"

namespace weft::daemon {

class LabManager {
 public:
  // `fabric` outlives it. `database` is the file by which it remembers what was before; empty: it
  // does not. Errors: another manager is at the node's port; a file that the lab names for the
  // manager cannot be read, or is wrong; the database is another program's.
  static Expected<std::unique_ptr<LabManager>> open(fabric::Fabric& fabric,
                                                    const std::string& database = {});
  ~LabManager();
  LabManager(const LabManager&) = delete;
  LabManager& operator=(const LabManager&) = delete;

  // The first sweep begins with the next run().
  void start(Time now);
  // Call it after everything that happened in the fabric, and at deadline().
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // What is to be said to whoever begins the lab: sentences.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  // What it is and has done, what it said, and the way from one end port to another with the
  // reasons; docs/cli.md has their forms. An end port is called by its node and port, as in "d:2",
  // where there is one port by the node alone, or by a LID or a GUID. Errors: there is no such one.
  [[nodiscard]] nlohmann::json report() const;
  [[nodiscard]] nlohmann::json history() const;
  // sm::metrics_text() as "text".
  [[nodiscard]] nlohmann::json metrics() const;
  [[nodiscard]] Expected<nlohmann::json> path(std::string_view from, std::string_view to) const;
  // Which nodes and links there are and were, by the database. Errors: there is none, or it cannot
  // be read just now.
  [[nodiscard]] Expected<nlohmann::json> topology();

 private:
  LabManager(fabric::Fabric& fabric, fabric::Node& node, const sm::ManagerOptions& options,
             std::unique_ptr<SubnetDatabase> database, std::map<Guid, sm::LidRange> lids);
  void restore(const sm::StoredSubnet& before);
  void hear(const sm::ManagerEvent& event);
  void keep(PastEvent event);
  [[nodiscard]] Expected<sm::ViewEnd> find_end(std::string_view name) const;
  [[nodiscard]] std::string name_of(const sm::PortRef& port) const;
  [[nodiscard]] nlohmann::json end_json(const sm::ViewEnd& end) const;

  fabric::Fabric& fabric_;
  fabric::Node& node_;
  const std::uint8_t port_;
  std::unique_ptr<SubnetDatabase> database_;  // null: none; what follows knows it
  sm::SubnetManagement management_;
  std::deque<PastEvent> events_;
  std::vector<std::string> notes_;
};

}  // namespace weft::daemon
