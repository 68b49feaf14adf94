// SPDX-License-Identifier: Apache-2.0
// The administrator on random fabrics whose cables and switches come and go, while nodes join and
// leave groups, offer services, subscribe and are given GUIDs, and service LIDs move: at the end
// all is as a model says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "administered_lab.h"
#include "sim/seeds.h"
#include "sm/routing/check.h"
#include "some_lab.h"
#include "wire/endian.h"
#include "wire/sa/inform_info.h"
#include "wire/sa/member_record.h"
#include "wire/sa/sa_layout.h"
#include "wire/sa/service_record.h"

namespace weft::sm {
namespace {

using wire::MadMethod;
using wire::MemberRecord;
using wire::SaAttribute;
using wire::ServiceRecord;

constexpr std::uint8_t kGroupsThereAre = 4;
constexpr std::uint16_t kFirstServiceLid = 500;  // no lab has so many ports
constexpr std::uint64_t kToJoin = MemberRecord::kHasMgid | MemberRecord::kHasPortGid |
                                  MemberRecord::kHasJoinState | MemberRecord::kHasQKey |
                                  MemberRecord::kHasTrafficClass | MemberRecord::kHasPKey |
                                  MemberRecord::kHasFlowLabel | MemberRecord::kHasSl;

template <class Record>
std::vector<std::byte> bytes_of(const Record& record) {
  std::vector<std::byte> data(200);
  record.write(data);
  return data;
}

Gid group_gid(std::uint64_t number) {
  return make_gid(0xFF12'401B'FFFF'0000, Guid{number});
}

// What is to be.
struct Model {
  std::map<Gid, std::map<Gid, std::uint8_t>> groups;  // join states by port
  std::map<std::pair<std::uint64_t, Gid>, Time> services;
  std::set<Gid> subscribers;
  std::map<std::string, std::map<std::size_t, Guid>> guids;  // by node and index
  std::map<Lid, std::string> service_lids;                   // and where they lead

  void end_empty_groups() {
    std::erase_if(groups, [](const auto& group) {
      return std::none_of(group.second.begin(), group.second.end(), [](const auto& member) {
        return (member.second & MemberRecord::kFullMember) != 0;
      });
    });
  }
  void forget(const Gid& gid) {
    for (auto& [mgid, members] : groups)
      members.erase(gid);
    end_empty_groups();
  }
};

class Story {
 public:
  explicit Story(std::uint64_t seed)
      : random_(seed),
        model_lab_(*fabric::some_lab(random_)),
        sa_(model_lab_, first_host(), options()) {
    sa_.runs_manager = true;
  }

  void run() {
    for (int event = 0; event < 12; ++event) {
      cables_change();
      for (std::uint64_t i = random_.below(6); i > 0; --i)
        somebody_asks();
      if (::testing::Test::HasFailure()) return;
    }
    sa_.sweep();
    check_routes();
    check_groups();
    check_forwarding();
    check_services();
    check_subscriptions();
    check_reports();
    check_guids();
    check_service_lids();
  }

 private:
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
              .mask = kToJoin,
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

  // From the subnet as the manager has found it.
  void check_routes() {
    const Subnet& subnet = sa_.lab.manager->subnet();
    SwitchGraph graph;
    std::map<std::uint32_t, SwitchIndex> index;
    for (std::uint32_t node = 0; node < subnet.nodes.size(); ++node) {
      const SubnetNode& at = subnet.nodes[node];
      if (at.is_switch()) index[node] = graph.add_switch(at.info.node_guid, at.info.ports);
    }
    for (const auto& [node, at] : index) {
      for (std::size_t port = 1; port < subnet.nodes[node].ports.size(); ++port) {
        const auto& peer = subnet.nodes[node].ports[port].peer;
        const PortRef here{node, static_cast<std::uint8_t>(port)};
        if (!peer || !subnet.nodes[peer->node].is_switch()) continue;
        if (std::pair(peer->node, peer->port) < std::pair(here.node, here.port)) continue;
        ASSERT_TRUE(graph.connect(at, here.port, index[peer->node], peer->port));
      }
    }
    for (const PortRef& end : subnet.end_ports()) {
      const bool is_switch = subnet.nodes[end.node].is_switch();
      const auto& peer = subnet.port(end).peer;
      ASSERT_TRUE(is_switch || peer);
      ASSERT_TRUE(graph.attach({.at = index[is_switch ? end.node : peer->node],
                                .port = is_switch ? std::uint8_t{0} : peer->port,
                                .lid = subnet.port(end).info->lid}));
    }
    graph.finish();
    const RoutingCheck found = check(graph, sa_.lab.manager->routes());
    EXPECT_TRUE(found.good()) << found.first_unreachable;
    EXPECT_EQ(sa_.lab.manager->report().problems, std::vector<std::string>{});
  }
  void check_groups() {
    std::map<Gid, std::map<Gid, std::uint8_t>> found;
    for (const auto& [mgid, group] : sa_.administrator->groups().groups()) {
      for (const auto& [gid, member] : group.members)
        found[mgid][gid] = member.join_state;
    }
    EXPECT_EQ(found, model_.groups);
  }
  std::uint64_t arrived(const std::string& host, fabric::NodeCounter counter) {
    return sa_.lab.running.count(host, counter);
  }
  std::string host_of(const Gid& gid) {
    for (const std::string& host : hosts_that_are_there()) {
      if (sa_.gid(host) == gid) return host;
      for (const auto& [index, guid] : model_.guids[host]) {
        if (make_gid(AdministeredLab::kPrefix, guid) == gid) return host;
      }
    }
    ADD_FAILURE() << gid.to_string();
    return {};
  }
  // What a member sends comes once to each of the others that receive, and to nobody else.
  void check_forwarding() {
    using enum fabric::NodeCounter;
    for (const auto& [mgid, members] : model_.groups) {
      std::set<std::string> receivers;
      for (const auto& [gid, state] : members) {
        if ((state & (MemberRecord::kFullMember | MemberRecord::kNonMember)) != 0) {
          receivers.insert(host_of(gid));
        }
      }
      const std::string from = host_of(members.begin()->first);
      receivers.erase(from);
      std::map<std::string, std::uint64_t> before;
      for (const std::string& host : hosts_that_are_there())
        before[host] = arrived(host, kNoQueuePair);
      sa_.lab.running.inject(from, {.slid = sa_.lab.lid(from),
                                    .dlid = sa_.administrator->groups().find(mgid)->like.mlid,
                                    .dest_qp = kMulticastQpn});
      for (const auto& [host, count] : before)
        EXPECT_EQ(arrived(host, kNoQueuePair), count + receivers.count(host)) << from << host;
    }
  }
  void check_services() {
    std::set<std::pair<std::uint64_t, Gid>> wanted;
    for (const auto& [name, end] : model_.services) {
      if (end > sa_.lab.running.now) wanted.insert(name);
    }
    std::set<std::pair<std::uint64_t, Gid>> found;
    for (const auto& bytes :
         sa_.ask(first_host(), {.attribute = SaAttribute::kServiceRecord}).records) {
      const auto record = *ServiceRecord::parse(bytes);
      found.emplace(record.id, record.gid);
    }
    EXPECT_EQ(found, wanted);
  }
  std::set<Gid> subscribers() {
    std::set<Gid> found;
    for (const auto& bytes :
         sa_.ask(first_host(), {.attribute = SaAttribute::kInformInfoRecord}).records)
      found.insert(wire::load_gid(bytes.data()));
    return found;
  }
  void check_subscriptions() { EXPECT_EQ(subscribers(), model_.subscribers); }
  // A trap comes once to each of them. At the administrator's own node, it has the reports itself.
  void check_reports() {
    const auto told = [&](const std::string& host) {
      const auto& notices = sa_.notices(host);
      return std::count_if(notices.begin(), notices.end(), [](const wire::Notice& notice) {
        return notice.trap == wire::TrapNumber::kBufferOverrun;
      });
    };
    fabric::Node& node = *fabric().find_node(first_host());
    node.management().buffer_overrun(1, sa_.lab.running.now);
    node.management_used();
    sa_.run_for(1s);
    for (const std::string& host : hosts_that_are_there()) {
      if (host == first_host()) continue;
      EXPECT_EQ(told(host), model_.subscribers.contains(sa_.gid(host)) ? 1 : 0) << host;
    }
  }
  void check_service_lids() {
    const std::set<std::string> here = hosts_that_are_there();
    const SubnetView& view = sa_.administrator->view();
    const std::string from = first_host();
    const ViewEnd& end = view.ends()[view.end_of(sa_.lab.lid(from))];
    for (const auto& [lid, host] : model_.service_lids) {
      EXPECT_EQ(view.way(end, lid).has_value(), here.contains(host)) << host;
      if (host == from || !here.contains(host)) continue;
      const std::uint64_t before = arrived(host, fabric::NodeCounter::kNotMine);
      sa_.lab.running.inject(from, {.slid = sa_.lab.lid(from), .dlid = lid});
      EXPECT_EQ(arrived(host, fabric::NodeCounter::kNotMine), before + 1) << host;
    }
  }
  // Those who are there have in their tables what they were given, and nothing else.
  void check_guids() {
    for (const std::string& who : hosts_that_are_there()) {
      const auto table = fabric().find_node(who)->guids(1, 0).guids;
      for (std::size_t index = 1; index < table.size(); ++index) {
        const auto given = model_.guids[who].find(index);
        EXPECT_EQ(table[index], given == model_.guids[who].end() ? Guid{} : given->second) << who;
      }
    }
  }

  Random random_;
  const fabric::Lab model_lab_;
  AdministeredLab sa_;
  Model model_;
};

TEST(SaSeeds, EndAsAModelSaysWhateverHappensMeanwhile) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(seed);
    Story(seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::sm
