// SPDX-License-Identifier: Apache-2.0
// Multicast in whole fabrics: who gets what, as groups change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "managed_lab.h"
#include "sim/seeds.h"
#include "some_lab.h"

namespace weft::sm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Lid kGroup{0xC000};

Guid group_guid_of(ManagedLab& lab, const std::string& name) {
  return lab.running.fabric.find_node(name)->node_info(1).port_guid;
}

std::vector<std::string> hosts_of(const fabric::Lab& lab) {
  std::vector<std::string> hosts;
  for (const fabric::LabNode& node : lab.nodes) {
    if (node.kind == fabric::NodeKind::kChannelAdapter) hosts.push_back(node.name);
  }
  return hosts;
}

MulticastGroup group_of(ManagedLab& lab, const std::vector<std::string>& members,
                        const std::vector<std::string>& senders = {}, Lid mlid = kGroup) {
  MulticastGroup group{.mlid = mlid};
  for (const auto& name : members)
    group.members.push_back(group_guid_of(lab, name));
  for (const auto& name : senders)
    group.senders.push_back(group_guid_of(lab, name));
  return group;
}

// Who gets a packet that `from` sends, each as often as it does.
std::multiset<std::string> heard(ManagedLab& lab, const std::string& from, Lid mlid = kGroup) {
  const auto hosts = hosts_of(lab.running.fabric.lab());
  const auto counts = [&] {
    std::map<std::string, std::uint64_t> now;
    for (const auto& name : hosts)
      now[name] = lab.running.count(name, fabric::NodeCounter::kNoQueuePair);
    return now;
  };
  auto before = counts();
  lab.running.inject(from, {.slid = lab.lid(from), .dlid = mlid, .dest_qp = kMulticastQpn});
  std::multiset<std::string> found;
  for (const auto& [name, count] : counts()) {
    for (; before[name] < count; ++before[name])
      found.insert(name);
  }
  return found;
}

using Names = std::multiset<std::string>;

TEST(MulticastTables, AreWrittenWithoutASweep) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  EXPECT_EQ(heard(lab, "a"), Names{});
  lab.manager->set_groups({group_of(lab, {"a", "c", "d"})});
  lab.run_for(1ms);
  EXPECT_EQ(lab.manager->sweeps(), 1u);
  EXPECT_EQ(heard(lab, "a"), (Names{"c", "d"}));
  EXPECT_EQ(heard(lab, "d"), (Names{"a", "c"}));
  lab.manager->set_groups({group_of(lab, {"a", "b", "d"})});
  lab.run_for(1ms);
  EXPECT_EQ(heard(lab, "d"), (Names{"a", "b"}));
  lab.manager->set_groups({});
  lab.run_for(1ms);
  EXPECT_EQ(heard(lab, "d"), Names{});
  EXPECT_EQ(lab.sweep().writes, 0u);
}

TEST(MulticastTables, EndWhereNothingIsForwardedAnyMore) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  const auto tops = [&] {
    const auto top = [&](const char* node) {
      return lab.running.fabric.find_node(node)->switch_info().multicast_top.value();
    };
    return std::pair(top("s1"), top("s2"));
  };
  using Tops = std::pair<std::uint16_t, std::uint16_t>;
  EXPECT_EQ(tops(), Tops(0, 0));
  lab.sweep();
  EXPECT_EQ(tops(), Tops(0xBFFF, 0xBFFF));
  const MulticastGroup low = group_of(lab, {"a", "c"});
  const MulticastGroup high = group_of(lab, {"b", "d"}, {}, Lid{0xC020});
  lab.manager->set_groups({low});
  lab.run_for(1ms);
  EXPECT_EQ(tops(), Tops(0xC01F, 0xC01F));
  lab.manager->set_groups({low, high});
  lab.run_for(1ms);
  EXPECT_EQ(tops(), Tops(0xC03F, 0xC03F));
  EXPECT_EQ(heard(lab, "a"), Names{"c"});
  EXPECT_EQ(heard(lab, "b", Lid{0xC020}), Names{"d"});
  EXPECT_EQ(lab.sweep().writes, 0u);
  EXPECT_EQ(tops(), Tops(0xC03F, 0xC03F));
  lab.manager->set_groups({low});
  lab.run_for(1ms);
  EXPECT_EQ(tops(), Tops(0xC01F, 0xC01F));
  lab.manager->set_groups({});
  lab.run_for(1ms);
  EXPECT_EQ(tops(), Tops(0xBFFF, 0xBFFF));
}

TEST(MulticastTables, EndWithTheEntriesOfASwitch) {
  fabric::Lab model = fabric::lab_of(fabric::kFourNodes);
  for (fabric::LabNode& node : model.nodes)
    node.multicast_entries = 40;
  ManagedLab lab(model, "a");
  lab.sweep();
  lab.manager->set_groups({group_of(lab, {"a", "b"}, {}, Lid{0xC021})});
  lab.run_for(1ms);
  EXPECT_EQ(lab.running.fabric.find_node("s1")->switch_info().multicast_top, Lid{0xC027});
  EXPECT_EQ(heard(lab, "a", Lid{0xC021}), Names{"b"});
}

// What a port has sent may still be under way when it leaves, and the tables overtake that.
TEST(MulticastTables, LeadOnWhatALeaverHasSent) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "c");
  lab.sweep();
  lab.manager->set_groups({group_of(lab, {"a", "b", "d"})});
  lab.run_for(1ms);
  lab.manager->set_groups({group_of(lab, {"b", "d"})});
  lab.run_for(MulticastTables::kLinger / 2);
  lab.manager->set_groups({group_of(lab, {"d"})});
  lab.run_for(1ms);
  EXPECT_EQ(heard(lab, "a"), Names{"d"});
  EXPECT_EQ(heard(lab, "b"), Names{"d"});
  lab.run_for(MulticastTables::kLinger / 2);
  EXPECT_EQ(heard(lab, "b"), Names{"d"});
  lab.run_for(MulticastTables::kLinger / 2);
  EXPECT_EQ(heard(lab, "a"), Names{});
  EXPECT_EQ(heard(lab, "b"), Names{});
  // Who comes back stays.
  lab.manager->set_groups({group_of(lab, {"b", "d"})});
  lab.run_for(1ms);
  lab.manager->set_groups({group_of(lab, {"d"})});
  lab.manager->set_groups({group_of(lab, {"b", "d"})});
  lab.run_for(2 * MulticastTables::kLinger);
  EXPECT_EQ(heard(lab, "b"), Names{"d"});
  EXPECT_EQ(heard(lab, "d"), Names{"b"});
}

TEST(MulticastTables, LetThoseSendWhoAreNoMembers) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.manager->set_groups({group_of(lab, {"c"}, {"b"})});
  lab.sweep();
  EXPECT_EQ(heard(lab, "b"), Names{"c"});
  EXPECT_EQ(heard(lab, "c"), Names{});
}

TEST(MulticastTables, WriteOnlyWhatHasChanged) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  lab.manager->set_groups({group_of(lab, {"a", "b"})});
  lab.run_for(1ms);
  const auto before = lab.manager->smps().sent;
  lab.manager->set_groups({group_of(lab, {"a", "b"})});
  lab.run_for(1ms);
  EXPECT_EQ(lab.manager->smps().sent, before);
  // The switch next to both, and the other one as it joins in.
  lab.manager->set_groups({group_of(lab, {"a", "b", "c"})});
  lab.run_for(1ms);
  EXPECT_EQ(lab.manager->smps().sent, before + 2);
}

TEST(MulticastTables, AreRightAgainWhenAMemberHasMoved) {
  const auto ring = fabric::generate_torus({4}, 1, "ring");
  const auto hosts = hosts_of(*ring);
  ManagedLab lab(*ring, hosts[0]);
  lab.manager->set_groups({group_of(lab, hosts)});
  lab.sweep();
  const Names others(hosts.begin() + 1, hosts.end());
  EXPECT_EQ(heard(lab, hosts[0]), others);
  for (std::size_t i = 0; i < ring->links.size(); ++i) {
    if (ring->links[i].ends[0].node >= 4 || ring->links[i].ends[1].node >= 4) continue;
    lab.running.fabric.link(i).set_plugged(false, lab.running.now);
    lab.run_for(1s);
    EXPECT_EQ(heard(lab, hosts[0]), others) << "without link " << i;
    lab.running.fabric.link(i).set_plugged(true, lab.running.now);
    lab.run_for(1s);
    EXPECT_EQ(heard(lab, hosts[0]), others);
  }
}

TEST(MulticastTables, AreWrittenAgainWhereASwitchDidNotTakeThem) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a", {.look_every = 1000s});
  lab.sweep();
  const std::size_t trunk = *lab.running.fabric.find_link("trunk");
  lab.running.fabric.link(trunk).set_emulation({.loss = 1}, lab.running.now);
  lab.manager->set_groups({group_of(lab, {"a", "c"})});
  lab.run_for(2s);
  lab.running.fabric.link(trunk).set_emulation({}, lab.running.now);
  lab.run_for(30s);
  EXPECT_EQ(heard(lab, "a"), Names{"c"});
}

TEST(MulticastTables, SayWhenASwitchHasNoRoomForAGroup) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.manager->set_groups({group_of(lab, {"a", "c"}, {}, Lid{0xFFF0})});
  const SweepReport& report = lab.sweep();
  EXPECT_THAT(report.problems, IsEmpty());
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_THAT(report.warnings.front(), HasSubstr("multicast LID 0xfff0 is not routed"));
}

// Groups and links change at any time, and packets are lost.
TEST(MulticastTables, AreRightAtTheEndWhateverHappensMeanwhile) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const fabric::Lab lab = *fabric::some_lab(random);
    const auto hosts = hosts_of(lab);
    ManagedLab managed(lab, hosts.back());
    fabric::Fabric& fabric = managed.running.fabric;
    std::map<Lid, std::set<std::string>> members;
    managed.manager->sweep();
    for (int event = 0; event < 30; ++event) {
      const Lid mlid{static_cast<std::uint16_t>(0xC000 + random.below(3) * 31)};
      auto& group = members[mlid];
      const std::string& host = hosts[random.below(hosts.size())];
      if (group.erase(host) == 0) group.insert(host);
      std::vector<MulticastGroup> groups;
      for (const auto& [lid, names] : members)
        groups.push_back(group_of(managed, {names.begin(), names.end()}, {}, lid));
      managed.manager->set_groups(groups);
      link::Link& cable = fabric.link(random.below(fabric.link_count()));
      if (random.chance(0.2)) {
        cable.set_emulation({.loss = 0.2, .seed = random.next()}, managed.running.now);
      } else if (random.chance(0.5)) {
        cable.set_plugged(!cable.plugged(), managed.running.now);
      }
      managed.run_for(Duration(static_cast<std::int64_t>(random.below(1'000'000'000))));
    }
    for (std::size_t i = 0; i < fabric.link_count(); ++i) {
      fabric.link(i).set_emulation({}, managed.running.now);
      if (!fabric.link(i).plugged()) fabric.link(i).set_plugged(true, managed.running.now);
    }
    managed.run_for(60s);
    for (const auto& [mlid, names] : members) {
      for (const auto& from : names) {
        Names others(names.begin(), names.end());
        others.erase(from);
        EXPECT_EQ(heard(managed, from, mlid), others) << from;
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::sm
