// SPDX-License-Identifier: Apache-2.0
// What happens to a random fabric and its administrator, and a model of what is to come of it:
// cables and switches come and go, while nodes join and leave groups, offer services, subscribe and
// are given GUIDs, and service LIDs move.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "administered_lab.h"
#include "sa_records.h"
#include "some_lab.h"
#include "wire/endian.h"
#include "wire/sa/inform_info.h"
#include "wire/sa/member_record.h"
#include "wire/sa/service_record.h"

namespace weft::sm {

// What is to be.
struct SaModel {
  std::map<Gid, std::map<Gid, std::uint8_t>> groups;  // join states by port
  std::map<std::pair<std::uint64_t, Gid>, Time> services;
  std::set<Gid> subscribers;
  std::map<std::string, std::map<std::size_t, Guid>> guids;  // by node and index
  std::map<Lid, std::string> service_lids;                   // and where they lead

  void end_empty_groups() {
    std::erase_if(groups, [](const auto& group) {
      return std::none_of(group.second.begin(), group.second.end(), [](const auto& member) {
        return (member.second & wire::MemberRecord::kFullMember) != 0;
      });
    });
  }
  void forget(const Gid& gid) {
    for (auto& [mgid, members] : groups)
      members.erase(gid);
    end_empty_groups();
  }
};

class SaStory {
 public:
  explicit SaStory(std::uint64_t seed)
      : random_(seed),
        model_lab_(*fabric::some_lab(random_)),
        sa_(model_lab_, first_host(), options()) {
    sa_.runs_manager = true;
  }

  // Things happen, for as long as nothing fails.
  void run() {
    for (int event = 0; event < 12; ++event) {
      cables_change();
      for (std::uint64_t i = random_.below(6); i > 0; --i)
        somebody_asks();
      if (::testing::Test::HasFailure()) return;
    }
    sa_.sweep();
  }

 protected:
  using MadMethod = wire::MadMethod;
  using MemberRecord = wire::MemberRecord;
  using SaAttribute = wire::SaAttribute;
  using ServiceRecord = wire::ServiceRecord;
  static constexpr std::uint8_t kGroupsThereAre = 4;
  static constexpr std::uint16_t kFirstServiceLid = 500;  // no lab has so many ports

  static Gid group_gid(std::uint64_t number) {
    return make_gid(0xFF12'401B'FFFF'0000, Guid{number});
  }
  std::string first_host() const {
    for (const fabric::LabNode& node : model_lab_.nodes) {
      if (node.kind == fabric::NodeKind::kChannelAdapter) return node.name;
    }
    ADD_FAILURE() << "a lab without hosts";
    return {};
  }
  ManagerOptions options() {
    return {.engine = random_.chance(0.5) ? Engine::kUpDown : Engine::kLayered};
  }
  fabric::Fabric& fabric() { return sa_.lab.running.fabric; }

  // Some cables, or all of a switch, but for the manager's own. Who is cut off for a moment only
  // may have been missed by a sweep, or not.
  void cables_change() {
    const std::set<std::string> before = hosts_that_are_there();
    std::set<std::string> always = before;
    for (std::uint64_t count = random_.between(1, 4); count > 0; --count) {
      one_changes();
      const std::set<std::string> here = hosts_that_are_there();
      std::erase_if(always, [&](const std::string& host) { return !here.contains(host); });
      sa_.run_for(Duration(static_cast<std::int64_t>(random_.below(3'000'000'000))));
    }
    sa_.run_for(30s);
    const std::set<std::string> here = hosts_that_are_there();
    std::set<std::string> doubtful;
    for (const std::string& host : before) {
      if (!here.contains(host)) forget(host);
      if (here.contains(host) && !always.contains(host)) doubtful.insert(host);
    }
    for (const std::string& host : doubtful) {
      if (has_lost(host, MemberRecord::kFullMember)) forget(host);
    }
    // Who is no full member may have lost a group because of others, which is known by now.
    for (const std::string& host : doubtful) {
      if (has_lost(host, MemberRecord::kFullMember | MemberRecord::kNonMember |
                             MemberRecord::kSendOnlyNonMember)) {
        forget(host);
      }
    }
  }
  void one_changes() {
    const fabric::Lab& lab = fabric().lab();
    const std::size_t own = *fabric().find_link(first_host() + ":1");
    const auto& ends = lab.links[own].ends;
    const std::size_t own_switch =
        lab.nodes[ends[0].node].kind == fabric::NodeKind::kSwitch ? ends[0].node : ends[1].node;
    const auto one = static_cast<std::size_t>(random_.below(fabric().link_count()));
    const std::size_t node = lab.links[one].ends[random_.below(2)].node;
    const bool whole = random_.chance(0.3) && node != own_switch;
    const bool plugged = random_.chance(0.6);
    for (std::size_t link = 0; link < fabric().link_count(); ++link) {
      const bool meant =
          whole ? lab.links[link].ends[0].node == node || lab.links[link].ends[1].node == node
                : link == one;
      if (!meant || link == own || fabric().link(link).plugged() == plugged) continue;
      fabric().link(link).set_plugged(plugged, sa_.lab.running.now);
    }
  }

  void forget(const std::string& host) {
    model_.forget(sa_.gid(host));
    model_.subscribers.erase(sa_.gid(host));
    for (const auto& [index, guid] : model_.guids[host])
      model_.forget(make_gid(AdministeredLab::kPrefix, guid));
    model_.guids.erase(host);
  }
  // Something of what it is to have, of memberships those with one of these states: then all of it
  // has to be gone.
  bool has_lost(const std::string& host, std::uint8_t states) {
    std::set<Gid> gids{sa_.gid(host)};
    for (const auto& [index, guid] : model_.guids[host]) {
      gids.insert(make_gid(AdministeredLab::kPrefix, guid));
      if (!sa_.administrator->view().aliases().port_of(guid)) return true;
    }
    if (model_.subscribers.contains(sa_.gid(host)) && !subscribers().contains(sa_.gid(host))) {
      return true;
    }
    for (const auto& [mgid, members] : model_.groups) {
      const GroupTable::Group* const group = sa_.administrator->groups().find(mgid);
      for (const auto& [gid, state] : members) {
        if (!gids.contains(gid) || (state & states) == 0) continue;
        if (group == nullptr || !group->members.contains(gid)) return true;
      }
    }
    return false;
  }

  std::set<std::string> hosts_that_are_there() {
    const fabric::Lab& lab = fabric().lab();
    std::set<std::size_t> reached;
    std::vector<std::size_t> next;
    for (std::size_t i = 0; i < lab.nodes.size(); ++i) {
      if (lab.nodes[i].name == first_host()) next.push_back(i);
    }
    while (!next.empty()) {
      const std::size_t at = next.back();
      next.pop_back();
      if (!reached.insert(at).second) continue;
      for (std::size_t link = 0; link < fabric().link_count(); ++link) {
        const auto& ends = lab.links[link].ends;
        if (!fabric().link(link).plugged()) continue;
        if (ends[0].node == at) next.push_back(ends[1].node);
        if (ends[1].node == at) next.push_back(ends[0].node);
      }
    }
    std::set<std::string> hosts;
    for (const std::size_t i : reached) {
      if (lab.nodes[i].kind == fabric::NodeKind::kChannelAdapter) hosts.insert(lab.nodes[i].name);
    }
    return hosts;
  }

  void somebody_asks() {
    const std::set<std::string> here = hosts_that_are_there();
    const std::string who =
        *std::next(here.begin(), static_cast<std::ptrdiff_t>(random_.below(here.size())));
    switch (random_.below(7)) {
      case 0:
      case 1:
        return join(who);
      case 2:
        return leave(who);
      case 3:
        return offer(who);
      case 4:
        return subscribe(who);
      case 5:
        return move_service_lid();
      default:
        return change_guid(who);
    }
  }

  // Its own, or one of those that it was given.
  Gid some_gid(const std::string& who) {
    const auto& given = model_.guids[who];
    if (given.empty() || random_.chance(0.5)) return sa_.gid(who);
    const auto at = static_cast<std::ptrdiff_t>(random_.below(given.size()));
    return make_gid(AdministeredLab::kPrefix, std::next(given.begin(), at)->second);
  }

  Answer ask_about(const std::string& who, MadMethod method, const Gid& mgid, const Gid& port,
                   std::uint8_t state) {
    return sa_.ask(
        who, {.method = method,
              .attribute = SaAttribute::kMemberRecord,
              .mask = kToMakeGroup,
              .data = bytes_of(MemberRecord{
                  .mgid = mgid, .port_gid = port, .pkey = PKey{0xFFFF}, .join_state = state})});
  }
  void join(const std::string& who) {
    const Gid mgid = group_gid(random_.below(kGroupsThereAre));
    const Gid port = some_gid(who);
    const auto state = static_cast<std::uint8_t>(random_.between(1, 7));
    const bool is_new = !model_.groups.contains(mgid);
    const Answer answer = ask_about(who, MadMethod::kSet, mgid, port, state);
    const bool may = !is_new || (state & MemberRecord::kFullMember) != 0;
    ASSERT_TRUE(answer.came) << who;
    ASSERT_EQ(answer.status == 0, may) << who << " joins as " << int{state};
    if (!may) return;
    std::uint8_t& now = model_.groups[mgid][port];
    now = static_cast<std::uint8_t>(now | state);
  }
  void leave(const std::string& who) {
    const Gid mgid = group_gid(random_.below(kGroupsThereAre));
    const Gid port = some_gid(who);
    const auto state = static_cast<std::uint8_t>(random_.between(1, 7));
    const auto group = model_.groups.find(mgid);
    const bool is_member = group != model_.groups.end() && group->second.contains(port);
    const bool may = is_member && (group->second[port] & state) == state;
    const Answer answer = ask_about(who, MadMethod::kDelete, mgid, port, state);
    ASSERT_TRUE(answer.came) << who;
    ASSERT_EQ(answer.status == 0, may) << who << " leaves as " << int{state};
    if (!may) return;
    std::uint8_t& now = group->second[port];
    now = static_cast<std::uint8_t>(now & ~state);
    if (now == 0) group->second.erase(port);
    model_.end_empty_groups();
  }
  void offer(const std::string& who) {
    const Gid gid = sa_.gid(who);
    const std::uint64_t id = random_.below(3);
    const bool ends = random_.chance(0.3);
    const auto lease = static_cast<std::uint32_t>(random_.between(10, 400));
    const Time now = sa_.lab.running.now;
    const Answer answer = sa_.ask(
        who, {.method = ends ? MadMethod::kDelete : MadMethod::kSet,
              .attribute = SaAttribute::kServiceRecord,
              .mask = ServiceRecord::kHasId | ServiceRecord::kHasGid | ServiceRecord::kHasLease,
              .data = bytes_of(ServiceRecord{.id = id, .gid = gid, .lease = lease})});
    ASSERT_TRUE(answer.came) << who;
    if (ends) {
      const auto known = model_.services.find({id, gid});
      const bool may = known != model_.services.end() && known->second > now;
      ASSERT_EQ(answer.status == 0, may);
      model_.services.erase({id, gid});
    } else {
      ASSERT_EQ(answer.status, 0);
      model_.services[{id, gid}] = now + std::chrono::seconds(lease);
    }
  }
  void subscribe(const std::string& who) {
    const bool wants = !model_.subscribers.contains(sa_.gid(who));
    const Answer answer =
        sa_.ask(who, {.method = MadMethod::kSet,
                      .attribute = SaAttribute::kInformInfo,
                      .data = bytes_of(wire::InformInfo{.lid_begin = wire::InformInfo::kAnyLid,
                                                        .subscribe = wants})});
    ASSERT_EQ(answer.status, 0) << who;
    if (wants) {
      model_.subscribers.insert(sa_.gid(who));
    } else {
      model_.subscribers.erase(sa_.gid(who));
    }
  }
  void change_guid(const std::string& who) {
    const auto index = static_cast<std::size_t>(random_.between(1, 7));
    const bool ends = random_.chance(0.3);
    std::vector<std::byte> data(200);
    wire::store_be16(data.data(), sa_.lab.lid(who).value());
    const Answer answer = sa_.ask(who, {.method = ends ? MadMethod::kDelete : MadMethod::kSet,
                                        .attribute = SaAttribute::kGuidInfoRecord,
                                        .mask = std::uint64_t{3} | std::uint64_t{1} << (4 + index),
                                        .data = data});
    ASSERT_EQ(answer.status, 0) << who;
    const Guid now = wire::GuidBlock::parse(Bytes(answer.records.at(0)).subspan(8))->guids[index];
    EXPECT_EQ(now == Guid{}, ends);
    const auto before = model_.guids[who].find(index);
    if (ends && before != model_.guids[who].end()) {
      model_.forget(make_gid(AdministeredLab::kPrefix, before->second));
      model_.guids[who].erase(before);
    } else if (!ends) {
      model_.guids[who][index] = now;
    }
  }

  // To any host, be it there or not.
  void move_service_lid() {
    std::vector<std::string> hosts;
    for (const fabric::LabNode& node : fabric().lab().nodes) {
      if (node.kind == fabric::NodeKind::kChannelAdapter) hosts.push_back(node.name);
    }
    const Lid lid{static_cast<std::uint16_t>(kFirstServiceLid + random_.below(3))};
    model_.service_lids[lid] = hosts[random_.below(hosts.size())];
    std::vector<ServiceLid> lids;
    for (const auto& [each, host] : model_.service_lids)
      lids.push_back({.lid = each, .port = guid_of(sa_.gid(host))});
    ASSERT_TRUE(sa_.lab.manager->set_service_lids(lids));
    sa_.run_for(1s);
  }
  std::set<Gid> subscribers() {
    std::set<Gid> found;
    for (const auto& bytes :
         sa_.ask(first_host(), {.attribute = SaAttribute::kInformInfoRecord}).records)
      found.insert(wire::load_gid(bytes.data()));
    return found;
  }

  Random random_;
  const fabric::Lab model_lab_;
  AdministeredLab sa_;
  SaModel model_;
};

}  // namespace weft::sm
