// SPDX-License-Identifier: Apache-2.0
// The administrator on random fabrics, whatever happens to them (sa_story.h): at the end all is as
// a model says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sa_story.h"
#include "sim/seeds.h"
#include "sm/routing/check.h"
#include "wire/grh.h"

namespace weft::sm {
namespace {

class CheckedStory : public SaStory {
 public:
  using SaStory::SaStory;

  void check_all() {
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
};

TEST(SaSeeds, EndAsAModelSaysWhateverHappensMeanwhile) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(seed);
    CheckedStory story(seed);
    story.run();
    if (!::testing::Test::HasFailure()) story.check_all();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::sm
