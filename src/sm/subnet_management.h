// SPDX-License-Identifier: Apache-2.0
// The subnet manager and the subnet administrator of one port, together: the administrator answers
// from the subnet as the last sweep left it, and the manager makes trees for the groups that the
// administrator has. A core, as both are.
//
//   SubnetManagement management(node.mad_port(1), {.own_port = 1});
//   management.start();
//   node.set_subnet_manager(1, true, now);  // IsSM: other managers find it by that
//   management.sweep();
//   … run(now) after everything that happened at the port, and at deadline() …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "mgmt/mad/mad_layer.h"
#include "sm/partitions.h"
#include "sm/policy/path_steering.h"
#include "sm/sa/administrator.h"
#include "sm/subnet_manager.h"
#include "sm/subnet_store.h"

namespace weft::sm {

class SubnetManagement {
 public:
  // `port` is of the node that both are at, and outlives this. Groups of the partitions are there
  // from the first sweep on.
  SubnetManagement(mgmt::MadLayer& port, const ManagerOptions& options, LidPlan lids = LidPlan{});
  SubnetManagement(const SubnetManagement&) = delete;
  SubnetManagement& operator=(const SubnetManagement&) = delete;

  // What the administrator knew when it was recorded; before start(). Of the groups that were to
  // last, those do that the partitions still have. Returns how many of what it knew make no
  // sense beside the others, and are left out.
  std::size_t restore(StoredSubnet before, Time now);
  // What changes from now on is told to `store`, which outlives this; null: to nobody.
  void record_to(SubnetStore* store);
  // All that there is, to that store.
  void record_all(Time now) const;
  // Errors: the port has no room for them; address_in_use: another manager or administrator is at
  // it.
  Expected<void> start();
  // What there is to say from now on; from inside of the calls of this and of the port.
  void on_event(EventHandler handler);
  // A sweep begins with the next run(). The first one is for the owner to ask for.
  void sweep() { manager_.sweep(); }
  // Goes on with what is to be done. True: something was sent.
  bool run(Time now);
  // When it does something of its own accord.
  [[nodiscard]] std::optional<Time> deadline() const;

  // Rules for paths, and the services that they lead through: what is changed holds from the next
  // run() on.
  [[nodiscard]] PathSteering& steering() { return steering_; }
  [[nodiscard]] const PathSteering& steering() const { return steering_; }

  [[nodiscard]] const SubnetManager& manager() const { return manager_; }
  [[nodiscard]] const Administrator& administrator() const { return administrator_; }

 private:
  // All that was sent or answered so far.
  [[nodiscard]] std::uint64_t activity() const;
  void publish(Time now);
  void add_groups();
  // Who has come or gone is known to the services.
  void publish_ports();
  // Leads service LIDs where they belong by now, and tells that paths have changed.
  void steer(Time now);

  const std::uint64_t gid_prefix_;
  const std::vector<PartitionGroup> groups_;  // that are there from the beginning
  PathSteering steering_;
  Expected<void> steering_error_;  // told by start()
  SubnetManager manager_;
  Administrator administrator_;
  EventHandler tell_;
  std::uint64_t revision_ = 0;          // that the administrator knows of
  std::uint64_t group_generation_ = 0;  // that the manager knows of
  std::uint64_t guids_generation_ = 0;
  std::uint64_t lids_generation_ = 0;   // of the service LIDs that the manager routes
  std::uint64_t paths_generation_ = 0;  // that subscribers know of
  std::string lids_trouble_;            // that was told
};

}  // namespace weft::sm
