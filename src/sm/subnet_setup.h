// SPDX-License-Identifier: Apache-2.0
// Makes a subnet what the manager has decided: addresses, tables and link states, of which only
// what is different is written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sm/changes.h"
#include "sm/guid_tables.h"
#include "sm/joining.h"
#include "sm/lane_tables.h"
#include "sm/lid_moves.h"
#include "sm/multicast_tables.h"
#include "sm/partitions.h"
#include "sm/pkey_tables.h"
#include "sm/smp_queue.h"
#include "sm/subnet.h"

namespace weft::sm {

struct SetupOptions {
  std::uint64_t gid_prefix = 0xFE80'0000'0000'0000;
  std::uint64_t mkey = 0;
  std::uint8_t mkey_protect = 0;
  std::uint16_t mkey_lease = 0;  // s
  std::uint8_t lmc = 0;
  std::uint8_t subnet_timeout = 18;  // 4.096 us * 2^n
  std::uint8_t switch_life = 0x12;   // LifeTimeValue and HOQLife, IBA 18.2.5.4
  std::uint8_t hoq_life = 0x12;
  std::uint8_t lanes = 8;  // data lanes, where both ends of a link have them
  Partitions partitions = Partitions::standard();
  Enforcement enforcement = Enforcement::kBoth;
  std::optional<Qos> qos{};
};

class SubnetSetup {
 public:
  // All outlive it; handlers refer to it until smps.idle(). `lids` are those of subnet.end_ports(),
  // `tables` of the switches, in the order of nodes.
  struct Plan {
    PortRef manager{};  // its port
    Lid sm_lid{};
    std::vector<PortRef> ends;
    std::vector<Lid> lids;
    std::vector<std::vector<std::uint8_t>> tables;  // by node; empty for adapters
    SubnetLanes lanes{};
    MulticastTables* multicast = nullptr;  // of this very subnet; outlives it
    GuidTables* guids = nullptr;           // outlives it
    // The manager was not the master before: everybody is asked to register anew, and which LIDs
    // are in use is not known but for what was found.
    bool is_first = false;
    // Links stay down as long as something that was written before has not been answered.
    bool is_patient = false;
  };
  SubnetSetup(SmpQueue& smps, Subnet& subnet, Plan plan, const SetupOptions& options);
  SubnetSetup(const SubnetSetup&) = delete;
  SubnetSetup& operator=(const SubnetSetup&) = delete;

  // One step after the other, each when the queue is idle: M_Keys; P_Keys; addresses, those that
  // others are to get first; tables; then the states, so that no link carries data before every
  // table is right, nor as long as two ports may have the same LID. False: there are no more steps.
  bool next_step();

  [[nodiscard]] const Changes& changes() const { return changes_; }

  // Of the manager's own part not everything was known, and it was left as it is.
  [[nodiscard]] bool own_is_closed() const { return joining_ && joining_->own_is_closed(); }

 private:
  enum class Step : std::uint8_t {
    kMove,
    kProtect,
    kKeys,
    kPorts,
    kTables,
    kArm,
    kActivate,
    kDone
  };

  void move_first();
  // Ports with other M_Keys get that of the options, before anything else is said to them: what
  // comes with the key of before is not for them any more.
  void protect();
  void protect(wire::PortInfo& info) const;
  void write_ports();
  void write_end_port(std::size_t end, Lid lid, bool is_last);
  // Of the ends, as they are known to have them, and as they are to have them.
  [[nodiscard]] std::vector<LidRange> lids_now() const;
  [[nodiscard]] std::vector<LidRange> lids_then() const;
  // Ports that have what is another's, and did not give it away, are cut off. False: that cannot be
  // done, and no link may come up.
  bool cut_off_duplicates();
  // The same with links beyond which there may be anything, before their part is joined.
  void cut_off_unknown();
  [[nodiscard]] bool may_touch(const PortRef& at) const;
  void cut_off(const PortRef& at);
  [[nodiscard]] std::uint8_t lmc(std::size_t end) const {
    return subnet_.nodes[plan_.ends[end].node].is_switch() ? std::uint8_t{0} : options_.lmc;
  }
  void write_switch_port(const PortRef& at);
  void write_tables();
  void command(wire::PortState from, wire::PortState to);
  // Fits MTU and lanes to what is at the other end.
  void fit_link(const PortRef& at, wire::PortInfo& info) const;
  [[nodiscard]] std::uint8_t most_lanes(const PortRef& at) const;
  void set_port(const PortRef& at, const wire::PortInfo& info);

  SmpQueue& smps_;
  Changes changes_;
  Subnet& subnet_;
  const Plan plan_;
  const SetupOptions& options_;
  PKeyTables pkeys_;
  LaneTables lanes_;
  Step step_ = Step::kMove;
  std::vector<bool> moved_;       // ends whose LID is another already
  std::vector<PortRef> cut_off_;  // whose links stay down
  std::optional<Joining> joining_;
};

}  // namespace weft::sm
