// SPDX-License-Identifier: Apache-2.0
// The subnet administrator: answers what programs and nodes ask of the subnet (IBA 15), at queue
// pair 1 of the port of the subnet manager. A core, as the manager is.
//
//   Administrator administrator(node.mad_port(1), options);
//   administrator.start();
//   … subnet_changed() after each sweep; run(now) after everything that happened at the port …
//
// Questions wait in a queue for each port that asks, and the queues are served in turn: who asks a
// lot waits for itself.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "mgmt/mad/mad_layer.h"
#include "sm/sa/exchange.h"
#include "sm/sa/groups.h"
#include "sm/sa/guid_records.h"
#include "sm/sa/paths.h"
#include "sm/sa/reporter.h"
#include "sm/sa/sa_counters.h"
#include "sm/sa/services.h"
#include "sm/sa/subnet_view.h"
#include "sm/sa/subscriptions.h"
#include "sm/subnet_store.h"
#include "wire/sm/notice.h"
#include "wire/sm/sm_info.h"

namespace weft::sm {

struct AdministratorOptions {
  // Who sends it is trusted, and sees more; a wrong one is not answered. 1 is what OpenSM and its
  // tools have.
  std::uint64_t sm_key = 1;
  GroupOptions groups{};
  PathOptions paths{};
  std::size_t services = 16'384;  // at most
  std::size_t aliases = 65'536;   // GUIDs that ports have beside their own
  std::size_t subscriptions = 16'384;
  ReportLimits reports{};
  std::uint8_t own_port = 1;                   // of an adapter that it is at; notices say it
  std::size_t answer = std::size_t{48} << 20;  // bytes of records in one answer
  std::size_t queue = 256;                     // questions of one port that wait
  std::size_t ports_waiting = 16'384;          // ports whose questions wait
};

// Of one kind are questions of one method for one attribute.
struct SaKind {
  wire::MadMethod method{};
  wire::SaAttribute attribute{};  // 0: one that the standard does not have
  friend auto operator<=>(const SaKind&, const SaKind&) = default;
};

class Administrator final : private mgmt::MadClient {
 public:
  // A subnet manager of the subnet, for SMInfoRecord.
  struct Manager {
    Lid lid{};
    wire::SmInfo info{};
  };

  // `port` is of the node that the manager is at, and outlives it.
  Administrator(mgmt::MadLayer& port, const AdministratorOptions& options);
  ~Administrator() override;
  Administrator(const Administrator&) = delete;
  Administrator& operator=(const Administrator&) = delete;

  // Errors: the port has no room for it; another administrator is at this port.
  Expected<void> start();
  // What is answered from then on. Ports that are gone are in no group, and subscribe to nothing;
  // those who subscribed to such things are told which ports came and went.
  void subnet_changed(const Subnet& subnet, const Routes& routes, std::uint64_t gid_prefix,
                      Time now);
  void set_managers(std::vector<Manager> managers) { managers_ = std::move(managers); }
  // Where to look for multicast tables when somebody asks for them: they change without a sweep.
  void set_multicast_source(std::function<const Subnet&()> source) {
    multicast_source_ = std::move(source);
  }
  // While its manager is not the master of the subnet, it answers and reports nothing: questions
  // are dropped and counted.
  void set_master(bool master);
  void set_policy(PathPolicy policy) { paths_.set_policy(std::move(policy)); }
  // PathFinder::steer_by() and steered()
  void steer_by(PathSteering* steering) { paths_.steer_by(steering); }
  [[nodiscard]] std::optional<PathFinder::Steered> steered(const SaRequest& request) const {
    return paths_.steered(request);
  }
  // Answers may be others than before, for any path: who keeps them is told by the next run(), with
  // trap 69 (RePath) and the GID 0.
  void paths_changed() { notice(wire::TrapNumber::kRePath, Gid{}); }
  // PathFinder::end_towards()
  [[nodiscard]] std::uint32_t end_towards(const Gid& gid) const { return paths_.end_towards(gid); }
  // Groups that are there without anybody having joined, as IPoIB wants it. False: no MLID is left.
  bool add_group(const wire::MemberRecord& like) { return groups_.add_lasting(like); }
  // What it knew before, before anything is asked; returns how many of the groups, services,
  // subscriptions and additional GUIDs make no sense, and are left out.
  std::size_t restore(const StoredSubnet& stored, Time now);
  // What becomes of them is recorded there from now on; null: nowhere.
  void record_to(SubnetStore* store);
  // Records all of them that there are.
  void record_all(Time now) const;
  // Of a node of the subnet: those who subscribed to such traps are told by the next run().
  void take_trap(const ReceivedTrap& trap);

  // Answers what waits, ends leases. Call it whenever something arrived at the port, and at
  // deadline().
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const GroupTable& groups() const { return groups_; }
  // GUIDs that ports have beside their own, for the manager to write; they are as they were as long
  // as the number is.
  [[nodiscard]] std::vector<PortGuids> guids() const { return guids_.tables(view_); }
  [[nodiscard]] std::uint64_t guids_generation() const { return guids_.generation(); }
  [[nodiscard]] std::size_t services() const { return services_.size(); }
  [[nodiscard]] std::size_t subscriptions() const { return subscriptions_.size(); }
  [[nodiscard]] const SubnetView& view() const { return view_; }
  [[nodiscard]] const SaCounterSet& counters() const { return counters_; }
  // Questions that were answered, by their kind; those that never came are not in it. Together they
  // are SaCounter::kQueries.
  [[nodiscard]] const std::map<SaKind, std::uint64_t>& queries() const { return queries_; }

 private:
  struct Question {
    mgmt::MadAddress from;
    std::vector<std::byte> mad;
  };
  using Queue = std::deque<Question>;

  void received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                mgmt::MadResult result) override;
  void serve(const Question& question);
  // The status of a MAD that has no records.
  [[nodiscard]] std::uint16_t answer(const SaRequest& request, SaReply& reply);
  [[nodiscard]] bool set(const SaRequest& request, SaReply& reply);
  [[nodiscard]] bool remove(const SaRequest& request, SaReply& reply);
  [[nodiscard]] bool get(const SaRequest& request, SaReply& reply);
  void class_port_info(SaReply& reply) const;
  void manager_records(const SaRequest& request, SaReply& reply) const;
  void send(const SaRequest& request, std::uint16_t status, const SaReply& reply);
  // What it has noticed itself: one of traps 64 to 67.
  void notice(wire::TrapNumber trap, const Gid& about, std::optional<PKey> group = {});
  void notice_groups();
  // Those who had them are in no group by them.
  void notice_guids();
  void notice_ports(const std::vector<Guid>& before);
  // The GUIDs that another manager has given to ports that are new here.
  void adopt_guids(const std::vector<Guid>& before);

  mgmt::MadLayer& port_;
  const AdministratorOptions options_;
  std::optional<mgmt::AgentId> agent_;
  SubnetView view_;
  GroupTable groups_;
  ServiceTable services_;
  GuidRecords guids_;
  Subscriptions subscriptions_;
  PathFinder paths_;
  std::vector<Manager> managers_;
  bool master_ = true;
  bool is_new_master_ = true;  // has answered from no subnet since it is the master
  std::function<const Subnet&()> multicast_source_;
  std::map<Lid, Queue> waiting_;
  Lid last_served_{};
  Time now_{};
  SaCounterSet counters_;
  std::map<SaKind, std::uint64_t> queries_;
  Reporter reporter_;
};

}  // namespace weft::sm
