// SPDX-License-Identifier: Apache-2.0
// Weft's subnet manager and administrator at a port, with what their owner in a process adds to
// them: a database by which they remember, the history of what they had to say, and answers to what
// people ask about the subnet. A lab's own is one (lab_manager.h), a process is another
// (manager_process.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/manager_options.h"
#include "daemon/lab/mkey_file.h"
#include "daemon/lab/subnet_database.h"
#include "sm/subnet_management.h"

namespace weft::daemon {

class ManagedSubnet {
 public:
  // `layer` is of the port that the options name, of the node `node`, and outlives it. `database`
  // is the file by which it remembers what was before; empty: it does not. `tell` hears all that it
  // has to say, also here. Errors: another manager is at this port; the database is another
  // program's.
  static Expected<std::unique_ptr<ManagedSubnet>> open(mgmt::MadLayer& layer, std::string node,
                                                       ReadManagerOptions read,
                                                       const std::string& database,
                                                       sm::EventHandler tell = {});
  ~ManagedSubnet();
  ManagedSubnet(const ManagedSubnet&) = delete;
  ManagedSubnet& operator=(const ManagedSubnet&) = delete;

  // A sweep begins with the next run().
  void sweep() { management_.sweep(); }
  // Call it after everything that arrived at the port, and at deadline(). True: something was sent.
  bool run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // Where it is.
  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] std::uint8_t port() const { return port_; }
  // What the database had to say when it was opened: sentences.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const sm::SubnetManager& manager() const { return management_.manager(); }
  [[nodiscard]] const sm::PathSteering& steering() const { return management_.steering(); }
  // What is changed there holds from the next run() on.
  [[nodiscard]] sm::PathSteering& steering() { return management_.steering(); }

  // What `request` asks for by its "what" (admin_session.h). Errors: there is no such thing, or
  // what is said below.
  [[nodiscard]] Expected<nlohmann::json> answer(const nlohmann::json& request);
  // A rule more, before that of the request's "before", a number from 1 on or a name, or behind
  // all. Errors: there is no such rule; as sm::PathSteering::insert() has them.
  Expected<void> add_rule(const nlohmann::json& request, sm::PathRule rule);
  // What it is and has done; docs/cli.md has the form of it, as of all that answer() tells.
  [[nodiscard]] nlohmann::json report() const;

 private:
  ManagedSubnet(mgmt::MadLayer& layer, std::string node, const sm::ManagerOptions& options,
                std::unique_ptr<SubnetDatabase> database, std::map<Guid, sm::LidRange> lids,
                sm::EventHandler tell);
  void restore(const sm::StoredSubnet& before);
  // The M_Keys that the last sweep has come to.
  void keep_keys();
  void hear(const sm::ManagerEvent& event);
  void keep(PastEvent event);
  [[nodiscard]] nlohmann::json history() const;
  // sm::metrics_text() as "text".
  [[nodiscard]] nlohmann::json metrics() const;
  // The way from one end port to another with the reasons. An end port is called by the description
  // of its node and its port, as in "d:2", where there is one port by the node alone, or by a LID,
  // a GUID or a GID, that of another subnet too: then it is a router. Errors: there is no such one,
  // or several.
  [[nodiscard]] Expected<nlohmann::json> path(std::string_view from, std::string_view to) const;
  // Which nodes and links there are and were, by the database. Errors: there is none, or it cannot
  // be read just now.
  [[nodiscard]] Expected<nlohmann::json> topology();
  [[nodiscard]] Expected<sm::ViewEnd> find_end(std::string_view name) const;
  [[nodiscard]] std::string name_of(const sm::PortRef& port) const;
  [[nodiscard]] nlohmann::json end_json(const sm::ViewEnd& end) const;
  // Rules and data services (managed_subnet_policy.cc): "action" is "list", "delete", "drain",
  // "restore", "explain" or "log".
  [[nodiscard]] Expected<nlohmann::json> policy(const nlohmann::json& request);
  [[nodiscard]] Expected<nlohmann::json> explain_policy(const nlohmann::json& request) const;
  [[nodiscard]] nlohmann::json explanation_json(const sm::PathQuery& query,
                                                const sm::PathDecision& decision) const;
  [[nodiscard]] nlohmann::json hops_json(const sm::PathDecision& decision) const;
  [[nodiscard]] nlohmann::json policy_log() const;
  [[nodiscard]] nlohmann::json rule_json(std::size_t index) const;
  [[nodiscard]] nlohmann::json services_json() const;
  [[nodiscard]] nlohmann::json ends_json(const sm::EndMatch& ends) const;
  [[nodiscard]] std::string port_name(Guid port) const;
  Expected<void> set_drained(const nlohmann::json& request, bool drained);
  [[nodiscard]] Expected<Gid> gid_called(const std::string& name) const;

  const std::string node_;
  const std::uint8_t port_;
  const sm::EventHandler tell_;
  std::unique_ptr<SubnetDatabase> database_;  // null: none; what follows knows it
  bool has_begun_ = false;                    // else there is nothing to write to it at the end
  sm::SubnetManagement management_;
  std::optional<MKeyFile> mkeys_;
  std::uint64_t kept_sweeps_ = 0;  // whose keys are in the file
  std::deque<PastEvent> events_;
  std::vector<std::string> notes_;
};

}  // namespace weft::daemon
