// SPDX-License-Identifier: Apache-2.0
// A store that forgets when the test ends. Its time stands still: of a lease as much is left at
// the next beginning as there was when it was recorded.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sm/subnet_store.h"

namespace weft::sm {

class MemoryStore final : public SubnetStore {
 public:
  [[nodiscard]] StoredSubnet load() override {
    StoredSubnet out{
        .lids = lids, .groups = {}, .services = {}, .subscriptions = subscriptions, .aliases = {}};
    for (const auto& [mgid, group] : groups)
      out.groups.push_back(group);
    for (const auto& [name, service] : services)
      out.services.push_back(service);
    for (const auto& [place, guid] : aliases)
      out.aliases.push_back({.port = place.first, .index = place.second, .guid = guid});
    return out;
  }
  void record_lid(Guid port, const LidRange& range) override { lids[port] = range; }
  void forget_lid(Guid port) override { lids.erase(port); }
  void record_group(const wire::MemberRecord& like, bool lasting) override {
    groups[like.mgid].like = like;
    groups[like.mgid].lasting = lasting;
  }
  void forget_group(const Gid& mgid) override { groups.erase(mgid); }
  void record_member(const Gid& mgid, const Gid& port, const GroupMember& member) override {
    groups.at(mgid).members[port] = member;
  }
  void forget_member(const Gid& mgid, const Gid& port) override {
    groups.at(mgid).members.erase(port);
  }
  void record_service(const ServiceState& service) override {
    services.insert_or_assign(name_of(service.record), service);
  }
  void forget_service(const wire::ServiceRecord& service) override {
    services.erase(name_of(service));
  }
  void record_subscription(const SubscriptionState& subscription) override {
    forget_subscription(subscription);
    subscriptions.push_back(subscription);
  }
  void forget_subscription(const SubscriptionState& subscription) override {
    std::erase_if(subscriptions, [&](const SubscriptionState& each) {
      return each.subscriber == subscription.subscriber && each.info == subscription.info;
    });
  }
  void record_alias(const AliasGuid& alias) override {
    aliases[{alias.port, alias.index}] = alias.guid;
  }
  void forget_alias(Guid port, std::uint8_t index) override { aliases.erase({port, index}); }
  void record_node(const TopologyNode& node, bool is_there) override {
    if (is_there) {
      nodes[node.guid] = node;
    } else {
      nodes.erase(node.guid);
    }
  }
  void record_link(const TopologyLink& link, bool is_up) override {
    if (is_up) {
      links.insert(link);
    } else {
      links.erase(link);
    }
  }
  void record_event(const ManagerEvent& event) override { events.push_back(event); }

  std::map<Guid, LidRange> lids;
  std::map<Gid, GroupState> groups;
  std::map<std::tuple<std::uint64_t, Gid, std::uint16_t>, ServiceState> services;
  std::vector<SubscriptionState> subscriptions;
  std::map<std::pair<Guid, std::uint8_t>, Guid> aliases;
  std::map<Guid, TopologyNode> nodes;
  std::set<TopologyLink> links;
  std::vector<ManagerEvent> events;

 private:
  static std::tuple<std::uint64_t, Gid, std::uint16_t> name_of(const wire::ServiceRecord& record) {
    return {record.id, record.gid, record.pkey.value()};
  }
};

}  // namespace weft::sm
