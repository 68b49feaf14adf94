// SPDX-License-Identifier: Apache-2.0
// What a subnet manager and its administrator remember from one life to the next. An interface of
// theirs, for cores have neither files nor a wall clock: whoever implements it is told of each
// change as it happens, may keep it whenever that suits him, and hands out what there was when the
// next life begins.
//
//   SubnetManager manager(port, options, LidPlan(stored.lids));
//   manager.record_to(&store);
//   administrator.restore(stored, now);
//   administrator.record_to(&store);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "mgmt/mad/mad_client.h"
#include "sm/lid_plan.h"
#include "sm/manager_event.h"
#include "wire/sa/inform_info.h"
#include "wire/sa/member_record.h"
#include "wire/sa/service_record.h"
#include "wire/sm/node_info.h"

namespace weft::sm {

// The membership of a port in a multicast group.
struct GroupMember {
  std::uint8_t join_state = 0;  // bits of MCMemberRecord's JoinState
  bool by_proxy = false;        // somebody else has joined for it
  Guid port{};                  // that its GID is of, which may be another of its GIDs
  friend bool operator==(const GroupMember&, const GroupMember&) = default;
};

struct GroupState {
  wire::MemberRecord like;               // but for PortGID, JoinState, ProxyJoin
  bool lasting = false;                  // stays without members
  std::map<Gid, GroupMember> members{};  // by PortGID
  friend bool operator==(const GroupState&, const GroupState&) = default;
};

struct ServiceState {
  wire::ServiceRecord record;
  std::optional<Duration> left{};  // of its lease; nothing: it never ends
  friend bool operator==(const ServiceState&, const ServiceState&) = default;
};

// Who wants to be told of which events. It is the same one as another that has its subscriber and
// all of its InformInfo.
struct SubscriptionState {
  Gid subscriber{};
  std::uint16_t number = 0;  // InformInfoRecord's Enum
  mgmt::MadAddress to{};     // where reports go, from the administrator's port
  wire::InformInfo info{};   // with Subscribe, and the queue pair of `to`
  bool trusted = false;      // it has the SM_Key
  friend bool operator==(const SubscriptionState&, const SubscriptionState&) = default;
};

// A GUID that a port has beside its own, in GUIDInfo at this index, which is not 0.
struct AliasGuid {
  Guid port{};
  std::uint8_t index = 0;
  Guid guid{};
  friend bool operator==(const AliasGuid&, const AliasGuid&) = default;
};

// A node, and a link by its two ends, as the history of the topology has them.
struct TopologyNode {
  Guid guid{};
  wire::NodeType type = wire::NodeType::kChannelAdapter;
  std::string description;  // printable
  friend bool operator==(const TopologyNode&, const TopologyNode&) = default;
};
struct TopologyEnd {
  Guid node{};
  std::uint8_t port = 0;
  friend auto operator<=>(const TopologyEnd&, const TopologyEnd&) = default;
};
struct TopologyLink {
  TopologyEnd from;  // the lower one
  TopologyEnd to;
  friend auto operator<=>(const TopologyLink&, const TopologyLink&) = default;
};

struct StoredSubnet {
  std::map<Guid, LidRange> lids;  // by port GUID
  std::vector<GroupState> groups;
  std::vector<ServiceState> services;  // whose lease has not ended
  std::vector<SubscriptionState> subscriptions;
  std::vector<AliasGuid> aliases;
};

class SubnetStore {
 public:
  virtual ~SubnetStore() = default;

  // All of the last life that was kept; empty: there was none, or nothing is known of it.
  [[nodiscard]] virtual StoredSubnet load() = 0;

  // What is recorded replaces what was of the same port, group, member, service, subscription or
  // index.
  virtual void record_lid(Guid port, const LidRange& lids) = 0;
  virtual void forget_lid(Guid port) = 0;
  virtual void record_group(const wire::MemberRecord& like, bool lasting) = 0;
  virtual void forget_group(const Gid& mgid) = 0;  // and its members
  virtual void record_member(const Gid& mgid, const Gid& port, const GroupMember& member) = 0;
  virtual void forget_member(const Gid& mgid, const Gid& port) = 0;
  virtual void record_service(const ServiceState& service) = 0;
  // The one with the same ServiceID, ServiceGID and P_Key.
  virtual void forget_service(const wire::ServiceRecord& service) = 0;
  virtual void record_subscription(const SubscriptionState& subscription) = 0;
  virtual void forget_subscription(const SubscriptionState& subscription) = 0;
  virtual void record_alias(const AliasGuid& alias) = 0;
  virtual void forget_alias(Guid port, std::uint8_t index) = 0;
  // Recording what is there already, or is gone already, changes nothing.
  virtual void record_node(const TopologyNode& node, bool is_there) = 0;
  virtual void record_link(const TopologyLink& link, bool is_up) = 0;
  virtual void record_event(const ManagerEvent& event) = 0;
};

}  // namespace weft::sm
