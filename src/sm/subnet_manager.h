// SPDX-License-Identifier: Apache-2.0
// The subnet manager: finds out what there is, gives addresses, routes, and brings links up. A
// core: its owner hands it the time, and the port that it speaks through.
//
//   SubnetManager manager(node.mad_port(1), {.own_port = 1});
//   manager.start();
//   node.set_subnet_manager(1, true, now);  // IsSM: other managers find it by that
//   manager.sweep();
//   … run(now) after everything that happened at the port …
//
// Where there are several, one of them is the master (mastership.h), and the others stand by.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "mgmt/mad/mad_layer.h"
#include "sm/discovery.h"
#include "sm/guid_tables.h"
#include "sm/key_violations.h"
#include "sm/lid_plan.h"
#include "sm/manager_event.h"
#include "sm/mastership.h"
#include "sm/mkeys.h"
#include "sm/multicast_tables.h"
#include "sm/policy/path_steering.h"
#include "sm/prefix_routes.h"
#include "sm/routing/routing.h"
#include "sm/service_lids.h"
#include "sm/subnet_setup.h"
#include "sm/subnet_store.h"
#include "sm/sweep_pace.h"

namespace weft::sm {

struct ManagerOptions {
  std::uint8_t own_port = 1;  // of its node; 0 on a switch
  Engine engine = Engine::kMinHop;
  RoutingOptions routing{};
  SetupOptions setup{};
  SmpLimits smps{};  // its M_Key is that of `setup`
  // Of ports that somebody else has protected. They are managed, and get the key of `setup`.
  MKeys mkeys{};
  MastershipOptions mastership{};
  PrefixRoutes prefix_routes{};  // for the administrator beside it
  SteeringOptions steering{};    // likewise; their service LIDs are the manager's
  // Between two looks at whether something has changed; a trap tells sooner.
  Duration look_every = 10s;
  // After a sweep that left something undone, and twice as long after each further one, up to
  // look_every.
  Duration retry_after = 500ms;
};

// What became of a sweep.
struct SweepReport {
  // Of the manager when it had looked; all below the problems is that of a master alone.
  wire::SmState state{};
  // The manager's own port did not answer, or not to its M_Key: there is nothing that it can do.
  bool own_is_silent = false;
  std::vector<std::string> problems;  // that another sweep may mend
  std::vector<std::string> warnings;  // what is not as asked for, and will not be
  std::vector<OtherManager> managers;
  std::size_t switches = 0;
  std::size_t adapters = 0;
  std::size_t end_ports = 0;
  std::size_t links = 0;
  Engine engine = Engine::kMinHop;  // that made the tables
  std::string engine_refused;       // why it was not the one that was asked for; empty: it was
  std::uint64_t writes = 0;         // SMPs that changed something
  std::uint64_t failures = 0;       // of them
  SmpCounts smps;                   // since the start
  // From its beginning until all had answered who were found, and from then on: the time for
  // making tables and for writing them.
  Duration discovery{};
  Duration setup{};
};

class SubnetManager {
 public:
  // `port` is of the node that the manager is at, and outlives it.
  SubnetManager(mgmt::MadLayer& port, const ManagerOptions& options, LidPlan lids = LidPlan{});
  ~SubnetManager();
  SubnetManager(const SubnetManager&) = delete;
  SubnetManager& operator=(const SubnetManager&) = delete;

  // Errors: the port has no room for it.
  Expected<void> start();
  // What it has to say from now on; from inside of the calls of this and of the port.
  void on_event(EventHandler handler) { tell_ = std::move(handler); }
  // Sees the traps that a master believes, whatever they are about, for its administrator to tell;
  // from inside of the calls of the port.
  void on_trap(std::function<void(const ReceivedTrap&)> handler) {
    report_trap_ = std::move(handler);
  }
  // LIDs, nodes and links are recorded there from now on; null: nowhere.
  void record_to(SubnetStore* store) { store_ = store; }
  // Records all that it knows of them.
  void record_all() const;
  // A sweep begins, now or when the one that is under way has ended. The first one is for its owner
  // to ask for; later it does so itself when a trap comes, or a switch says that a link has
  // changed. A manager that stands by does not sweep.
  void sweep() { wanted_at_ = Time::min(); }
  // Multicast: all that there are. Tables are written by the next run(), without a sweep, and are
  // right after every sweep as well.
  void set_groups(std::vector<MulticastGroup> groups) {
    multicast_.set_groups(std::move(groups), now_);
  }
  // The same of GUIDs that ports have beside their own; to be said anew when this has become master
  // again, for what ports have by then is found in them.
  void set_guids(std::vector<PortGuids> ports) { guids_.set(std::move(ports)); }
  // And of LIDs that are no port's own, and lead to a port (service_lids.h); revision() tells when
  // they do. Errors as ServiceLids::set() has them. A LID is a port's as long as it is kept for it.
  Expected<void> set_service_lids(std::span<const ServiceLid> lids);
  // LIDs that ports have, or that are kept for them.
  [[nodiscard]] std::set<Lid> port_lids() const;
  // Goes on with what is to be done. Call it after start(), after sweep(), whenever something
  // arrived at the port or a deadline of the port has passed, and at deadline().
  void run(Time now);
  // When it does something of its own accord: looks whether something has changed, asks the master
  // whether it is alive.
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] wire::SmState state() const { return mastership_.state(); }
  // What it says of itself to other managers.
  [[nodiscard]] wire::SmInfo info() const { return mastership_.info(activity()); }
  // It is the master, and the subnet is as it wants it: what subnet() and routes() say holds.
  [[nodiscard]] bool manages() const { return state() == wire::SmState::kMaster && !is_first_; }
  // Of a standby the master, as far as it knows.
  [[nodiscard]] const OtherManager* peer() const { return mastership_.peer(); }
  [[nodiscard]] std::uint64_t sweeps() const { return sweeps_; }
  // Grows whenever subnet() or routes() may have become another: after each sweep, and when a
  // service LID leads elsewhere.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  // Of the last sweep that ended; empty before.
  [[nodiscard]] const SweepReport& report() const { return report_; }
  [[nodiscard]] const Subnet& subnet() const { return subnet_; }
  [[nodiscard]] const Routes& routes() const { return routes_; }
  [[nodiscard]] const LidPlan& lids() const { return lids_; }
  [[nodiscard]] const SmpCounts& smps() const { return smps_.counts(); }
  // Traps and commands that were not obeyed: with a wrong key, or not legal at that moment.
  [[nodiscard]] std::uint64_t denied() const { return denied_; }

 private:
  enum class Phase : std::uint8_t { kIdle, kLook, kPoll, kDiscovery, kHandover, kSetup, kUpdate };

  // What it is time for now; false: nothing.
  bool begin();
  // Done with what the phase asked for.
  void advance();
  void begin_sweep();
  void look();
  void rest();
  // What changes without a sweep: groups, GUIDs, service LIDs.
  [[nodiscard]] bool has_updates() const;
  void write_updates();
  void ended_updates();
  void route_services(const std::vector<PortRef>& ends, const std::vector<Lid>& lids);
  void want(Time when) { wanted_at_ = std::min(wanted_at_.value_or(when), when); }
  void decide();
  void record_lids();
  void plan();
  [[nodiscard]] Expected<SwitchGraph> make_graph(const SubnetSetup::Plan& plan,
                                                 std::vector<SwitchIndex>& index) const;
  void find_routes(const SwitchGraph& graph);
  void end_sweep();
  void pause_after_sweep();

  // --- among others (subnet_manager_mastership.cc)
  void take_trap(const ReceivedTrap& trap);
  void say_violation(const ReceivedTrap& trap);
  std::optional<SmInfoAnswer> take_request(const SmInfoRequest& request);
  std::optional<SmInfoAnswer> take_command(const SmInfoRequest& request);
  void take_visitor(const SmInfoRequest& request);
  enum class Course : std::uint8_t {
    kManage,    // it is the master, and nobody else is to become it
    kLeave,     // somebody else's, or nobody's: the sweep ends here
    kAskAgain,  // who is, is not sure: the sweep ends here, and nothing of it counts
  };
  Course judge();
  void hand_over();
  void poll();
  void ended_poll();
  void ask_others();
  void call_peer();
  // After anything that may have changed the state.
  void entered();
  [[nodiscard]] std::uint32_t activity() const;
  void say(ManagerEvent::Kind kind, std::string text);
  void say_problems(const std::vector<std::string>& before);

  SmpQueue smps_;
  const ManagerOptions options_;
  LidPlan lids_;
  Mastership mastership_;
  SweepPace pace_;
  KeyViolations violations_;
  EventHandler tell_;
  std::function<void(const ReceivedTrap&)> report_trap_;
  SubnetStore* store_ = nullptr;
  Phase phase_ = Phase::kIdle;
  Time now_{};
  Time began_{};                   // the sweep
  std::optional<Time> wanted_at_;  // a sweep
  std::optional<Time> poll_at_;
  std::optional<wire::SmInfo> poll_answer_;
  wire::SmState told_ = wire::SmState::kDiscovering;  // the last state that was said
  bool is_first_ = true;                              // sweep as a master, since it became one
  bool has_changed_ = false;                          // something, since the sweep before
  std::uint64_t denied_ = 0;
  // Discoveries in a row that left open whether somebody else is master, or who was known is gone.
  unsigned unsure_ = 0;
  bool has_visitor_ = false;  // somebody has come while it was discovering
  unsigned unanswered_ = 0;   // sweeps in a row that have written what nobody answered
  std::set<Guid> silent_;     // ports with managers that do not answer, and need not
  // By which ways managers have asked this one, in order, since the subnet was another.
  std::vector<std::vector<std::uint8_t>> visitors_;
  std::optional<Time> look_at_;   // once there was a sweep
  std::optional<Time> retry_at_;  // something was left undone
  Duration retry_after_;
  std::uint64_t sweeps_ = 0;
  std::unique_ptr<Discovery> discovery_;
  std::unique_ptr<SubnetSetup> setup_;
  std::unique_ptr<Changes> updates_;
  MulticastTables multicast_;
  GuidTables guids_;
  ServiceLids services_;
  bool moves_services_ = false;  // the update that is under way
  std::uint64_t revision_ = 0;
  Subnet subnet_;
  Routes routes_;
  SweepReport report_;
};

}  // namespace weft::sm
