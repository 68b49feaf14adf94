// SPDX-License-Identifier: Apache-2.0
// A port of a node as management knows it: PortInfo and the port's tables, above the port of the
// link. Port 0 of a switch is one too, but has no link.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "fabric/lab.h"
#include "fabric/node_counters.h"
#include "fabric/worker.h"
#include "link/port.h"
#include "link/training.h"
#include "mgmt/managed_node.h"

namespace weft::fabric {

// IBA 14.2.5.7: entries of the P_Key table, as NodeInfo and SwitchInfo tell, and of GUIDInfo.
inline constexpr std::uint16_t kPKeyEntries = 128;
inline constexpr std::uint8_t kGuidEntries = 32;

class NodePort final : public Task, public link::TrainingPort {
 public:
  enum class Kind : std::uint8_t { kAdapter, kSwitchManagement, kSwitchExternal };

  // `guid` is its PortGUID; external ports of a switch have none. `owner` outlives it.
  NodePort(Kind kind, std::uint8_t number, const PortLimits& limits, Guid guid,
           link::CreditUpdates credit_updates, link::PortOwner& owner);

  [[nodiscard]] std::uint8_t number() const { return number_; }
  [[nodiscard]] bool has_link() const { return link_ != nullptr; }
  [[nodiscard]] link::Port& link() { return *link_; }
  [[nodiscard]] const link::Port& link() const { return *link_; }

  // The port at the other end of the cable, and what the cable allows: what both enable and it
  // allows is what the link trains to. Null: nothing is plugged in.
  void set_partner(const NodePort* partner, std::optional<LinkWidth> width,
                   std::optional<LinkSpeed> speed);
  // The same of a port in another part of the lab: what it enables is what it can do, until it says
  // more.
  void set_far_partner(const PortLimits& partner, std::optional<LinkWidth> width,
                       std::optional<LinkSpeed> speed);
  // Whatever its node can do: of a port that negotiates (DDR auto-negotiation specification, table
  // 3). Before a subnet manager comes.
  void limit_speed(LinkSpeed most);
  // Of a link whose ports negotiate it: as what they have come up. Before trained().
  void set_negotiated(LinkSpeed speed, LinkWidth width) {
    negotiated_speed_ = speed;
    negotiated_width_ = width;
  }
  // Of the same: its lanes are being trained (PortConfigurationTraining), where else it polls.
  void set_trains(bool trains) { trains_ = trains; }
  // The physical layer has trained: fills in what is active.
  void trained();
  // link::TrainingPort: what it enables, and what a port in another part says that it does.
  [[nodiscard]] link::Training training() const override;
  void heard_training(const link::Training& far) override;

  [[nodiscard]] wire::PortInfo port_info() const;
  // Of CapabilityMask, besides those of all ports: while the node is being made.
  void add_capability(wire::PortCapability capability) { info_.capability_mask |= capability; }
  void set_port_info(const wire::PortInfo& info, Time now);
  void count_pkey_violation();
  void count_qkey_violation();

  [[nodiscard]] Guid guid() const { return guid_; }
  [[nodiscard]] Lid lid() const { return info_.lid; }
  // One of the 2^LMC LIDs of the port (IBA 4.1.3).
  [[nodiscard]] bool owns(Lid lid) const;
  [[nodiscard]] bool enforces_inbound() const { return info_.enforce_partition_inbound; }
  [[nodiscard]] bool enforces_outbound() const { return info_.enforce_partition_outbound; }
  [[nodiscard]] bool filters_raw_inbound() const { return info_.filter_raw_inbound; }
  [[nodiscard]] bool filters_raw_outbound() const { return info_.filter_raw_outbound; }
  [[nodiscard]] std::uint8_t operational_vls() const;
  // The lane of a service level for which nobody has set one.
  [[nodiscard]] Vl default_lane(Sl sl) const;

  [[nodiscard]] wire::PKeyBlock pkeys(std::uint16_t block) const;
  void set_pkeys(std::uint16_t block, const wire::PKeyBlock& value);
  // Whether the table has a partner for it: the same partition, and one of both a full member
  // (IBA 10.9.3).
  [[nodiscard]] bool accepts(PKey pkey) const;
  // Whether the partition is in the table, whichever the membership: what a switch enforces. The
  // subnet manager gives the port of a switch the keys of the adapter at its other end, and a
  // limited member's packets carry the limited key.
  [[nodiscard]] bool carries(PKey pkey) const;
  // Whether it is an entry of the table.
  [[nodiscard]] bool has_pkey(PKey pkey) const;

  [[nodiscard]] wire::GuidBlock guids(std::uint8_t block) const;
  void set_guids(std::uint8_t block, const wire::GuidBlock& value);
  // One of the port's GUIDs with the subnet's prefix or the link-local one (IBA 4.1.1).
  [[nodiscard]] bool has_gid(const Gid& gid) const;
  // All of these.
  [[nodiscard]] std::vector<Gid> gids() const;

  [[nodiscard]] wire::VlArbitrationBlock vl_arbitration(std::uint8_t half) const;
  void set_vl_arbitration(std::uint8_t half, const wire::VlArbitrationBlock& value);

  [[nodiscard]] bool led() const { return led_; }
  void set_led(bool on) { led_ = on; }

  [[nodiscard]] NodeCounters& counters() { return counters_; }
  [[nodiscard]] const NodeCounters& counters() const { return counters_; }
  [[nodiscard]] mgmt::PortCounts port_counts(Time now) const;

 private:
  void run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;

  const Kind kind_;
  const std::uint8_t number_;
  const Guid guid_;
  bool led_ = false;
  wire::PortInfo info_;
  // Up to the last entry that was ever set.
  std::vector<PKey> pkeys_;
  std::vector<Guid> guids_;
  const NodePort* partner_ = nullptr;
  std::optional<link::Training> far_;  // of a partner in another part
  bool plugged_ = false;               // there is a partner, here or in another part
  std::optional<LinkWidth> cable_width_;
  std::optional<LinkSpeed> cable_speed_;
  std::optional<LinkSpeed> negotiated_speed_;
  std::optional<LinkWidth> negotiated_width_;
  bool trains_ = false;
  std::unique_ptr<link::Port> link_;
  NodeCounters counters_;
};

}  // namespace weft::fabric
