// SPDX-License-Identifier: Apache-2.0
// What a manager and its administrator remember: labs that end, and begin again by what was kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "administered_lab.h"
#include "memory_store.h"
#include "wire/endian.h"
#include "wire/sa/inform_info.h"

namespace weft::sm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::SizeIs;
using wire::MadMethod;
using wire::MemberRecord;
using wire::SaAttribute;
using wire::ServiceRecord;

constexpr std::uint64_t kToCreate = MemberRecord::kHasMgid | MemberRecord::kHasPortGid |
                                    MemberRecord::kHasJoinState | MemberRecord::kHasQKey |
                                    MemberRecord::kHasTrafficClass | MemberRecord::kHasPKey |
                                    MemberRecord::kHasFlowLabel | MemberRecord::kHasSl;

Gid group_number(std::uint64_t number) {
  return make_gid(0xFF12'401B'FFFF'0000, Guid{number});
}

// Another node, whose GUID is below all others: by itself it would get one of their LIDs.
std::string five_nodes() {
  std::string text = fabric::kFourNodes;
  text.insert(text.find("a = {}"), "e = { guid = \"0x0000000000000010\" }\n");
  return text + "[[link]]\nends = [\"e:1\", \"s1:3\"]\n";
}

std::string without_node_d() {
  std::string text = fabric::kFourNodes;
  text.erase(text.find("d = {}\n"), 7);
  const std::string link = "[[link]]\nends = [\"d:1\", \"s2:2\"]\n";
  text.erase(text.find(link), link.size());
  return text;
}

class Store : public ::testing::Test {
 protected:
  void begin(const std::string& text = fabric::kFourNodes) {
    sa.reset();
    sa = std::make_unique<AdministeredLab>(fabric::lab_of(text), "a", ManagerOptions{},
                                           AdministratorOptions{}, &store);
  }
  void join(const std::string& node, std::uint64_t number) { join(node, number, sa->gid(node)); }
  void join(const std::string& node, std::uint64_t number, const Gid& gid) {
    std::vector<std::byte> data(wire::SaHeader::kDataSize);
    MemberRecord{.mgid = group_number(number),
                 .port_gid = gid,
                 .qkey = QKey{0xB1B},
                 .pkey = PKey{0xFFFF},
                 .join_state = MemberRecord::kFullMember}
        .write(data);
    EXPECT_EQ(sa->ask(node, {.method = MadMethod::kSet,
                             .attribute = SaAttribute::kMemberRecord,
                             .mask = kToCreate,
                             .data = data})
                  .status,
              0);
  }
  void leave(const std::string& node, std::uint64_t number) {
    std::vector<std::byte> data(wire::SaHeader::kDataSize);
    MemberRecord{.mgid = group_number(number),
                 .port_gid = sa->gid(node),
                 .join_state = MemberRecord::kFullMember}
        .write(data);
    EXPECT_EQ(sa->ask(node, {.method = MadMethod::kDelete,
                             .attribute = SaAttribute::kMemberRecord,
                             .mask = MemberRecord::kHasMgid | MemberRecord::kHasPortGid |
                                     MemberRecord::kHasJoinState,
                             .data = data})
                  .status,
              0);
  }
  Answer service(MadMethod method, std::uint32_t lease) {
    std::vector<std::byte> data(wire::SaHeader::kDataSize);
    ServiceRecord{.id = 0x1234, .gid = sa->gid("b"), .lease = lease}.write(data);
    std::uint64_t mask = ServiceRecord::kHasId | ServiceRecord::kHasGid;
    if (method == MadMethod::kSet) mask |= ServiceRecord::kHasLease;
    return sa->ask(
        "b",
        {.method = method, .attribute = SaAttribute::kServiceRecord, .mask = mask, .data = data});
  }
  void say_interest(const std::string& node, bool subscribe, std::uint64_t sm_key = 0) {
    std::vector<std::byte> data(wire::SaHeader::kDataSize);
    wire::InformInfo{.subscribe = subscribe, .qpn = subscribe ? Qpn{} : kQp1}.write(data);
    EXPECT_EQ(sa->ask(node, {.method = MadMethod::kSet,
                             .attribute = SaAttribute::kInformInfo,
                             .data = data,
                             .sm_key = sm_key})
                  .status,
              0);
  }
  // What a node is told when the buffers of another one overrun.
  [[nodiscard]] std::vector<wire::TrapNumber> told(const std::string& node,
                                                   const std::string& about) {
    sa->notices(node).clear();
    fabric::Node& other = *sa->lab.running.fabric.find_node(about);
    other.management().buffer_overrun(1, sa->lab.running.now);
    other.management_used();
    sa->run_for(100ms);
    std::vector<wire::TrapNumber> traps;
    for (const wire::Notice& notice : sa->notices(node))
      traps.push_back(notice.trap);
    return traps;
  }
  // Gives a port a GUID, or takes the one there back (0).
  void set_guid(const std::string& node, unsigned index, Guid guid) {
    std::vector<std::byte> data(wire::SaHeader::kDataSize);
    wire::store_be16(data.data(), sa->lab.lid(node).value());
    wire::GuidBlock block;
    block.guids[index] = guid;
    block.write(MutableBytes(data).subspan(8));
    EXPECT_EQ(sa->ask(node, {.method = guid == Guid{} ? MadMethod::kDelete : MadMethod::kSet,
                             .attribute = SaAttribute::kGuidInfoRecord,
                             .mask = 3 | std::uint64_t{1} << (4 + index),
                             .data = data})
                  .status,
              0);
  }
  // As the port itself has it.
  [[nodiscard]] Guid guid_at(const std::string& node, std::size_t index) {
    return sa->lab.running.fabric.find_node(node)->guids(1, 0).guids[index];
  }
  [[nodiscard]] const GroupState* group(std::uint64_t number) {
    return sa->administrator->groups().find(group_number(number));
  }
  [[nodiscard]] std::map<std::string, Lid> lids() {
    std::map<std::string, Lid> out;
    for (const fabric::LabNode& node : sa->lab.running.fabric.lab().nodes)
      out[node.name] = sa->lab.lid(node.name);
    return out;
  }

  MemoryStore store;
  std::unique_ptr<AdministeredLab> sa;
};

TEST_F(Store, GivesPortsTheirLidsAgain) {
  begin();
  const auto before = lids();
  begin(five_nodes());
  for (const auto& [name, lid] : before)
    EXPECT_EQ(sa->lab.lid(name), lid) << name;
  EXPECT_THAT(store.lids, SizeIs(7));
  store = {};
  begin(five_nodes());
  EXPECT_NE(lids()["s1"], before.at("s1")) << "the order of GUIDs alone would have done it";
}

TEST_F(Store, KeepsTheLidOfWhoIsAway) {
  begin();
  const Lid lid = sa->lab.lid("d");
  begin(without_node_d());
  begin(five_nodes());
  EXPECT_EQ(sa->lab.lid("d"), lid);
  EXPECT_NE(sa->lab.lid("e"), lid);
}

TEST_F(Store, KeepsGroupsWithTheirMlidsAndMembers) {
  begin();
  join("b", 1);
  join("b", 2);
  join("d", 2);
  leave("b", 1);
  const GroupState before = *group(2);
  ASSERT_EQ(before.like.mlid, Lid{0xC001}) << "the one that it would get anew";
  begin();
  EXPECT_EQ(group(1), nullptr);
  ASSERT_NE(group(2), nullptr);
  EXPECT_EQ(*group(2), before);
  join("c", 3);
  EXPECT_EQ(group(3)->like.mlid, Lid{0xC000});
  EXPECT_EQ(sa->left_out, 0u);
}

TEST_F(Store, ForgetsMembersWhosePortsDoNotComeBack) {
  begin();
  join("b", 1);
  join("d", 1);
  join("d", 2);
  begin(without_node_d());
  ASSERT_NE(group(1), nullptr);
  EXPECT_THAT(group(1)->members, SizeIs(1));
  EXPECT_EQ(group(2), nullptr);
  EXPECT_THAT(store.groups, SizeIs(1));
  EXPECT_THAT(store.groups.at(group_number(1)).members, SizeIs(1));
}

TEST_F(Store, KeepsServicesWithTheRestOfTheirLease) {
  begin();
  ASSERT_EQ(service(MadMethod::kSet, 100).status, 0);
  for (auto& [name, state] : store.services)
    state.left = *state.left - 60s;  // so long nobody was there
  begin();
  const Answer found = service(MadMethod::kGet, 0);
  ASSERT_EQ(found.status, 0);
  EXPECT_LE(ServiceRecord::parse(found.records.at(0))->lease, 40u);
  EXPECT_GE(ServiceRecord::parse(found.records.at(0))->lease, 35u);
  sa->run_for(40s);
  EXPECT_NE(service(MadMethod::kGet, 0).status, 0);
  EXPECT_THAT(store.services, IsEmpty());
}

TEST_F(Store, ForgetsServicesThatWereEnded) {
  begin();
  service(MadMethod::kSet, ServiceRecord::kForEver);
  EXPECT_THAT(store.services, SizeIs(1));
  service(MadMethod::kDelete, 0);
  EXPECT_THAT(store.services, IsEmpty());
}

TEST_F(Store, KeepsSubscriptions) {
  begin();
  say_interest("b", true);
  say_interest("c", true, 1);
  say_interest("c", false);
  EXPECT_THAT(store.subscriptions, SizeIs(1));
  say_interest("c", true, 1);
  const std::vector<SubscriptionState> before = store.subscriptions;
  begin();
  EXPECT_EQ(sa->left_out, 0u);
  EXPECT_EQ(store.subscriptions, before);
  EXPECT_EQ(sa->administrator->subscriptions(), 2u);
  EXPECT_THAT(sa->notices("b"), IsEmpty()) << "ports are found, and have not come";
  EXPECT_THAT(told("b", "d"), ElementsAre(wire::TrapNumber::kBufferOverrun));
  say_interest("b", true);
  EXPECT_EQ(sa->administrator->subscriptions(), 2u) << "it has registered anew";
  say_interest("b", false);
  EXPECT_THAT(store.subscriptions, SizeIs(1));
}

TEST_F(Store, TellsSubscribersWhereTheyAreNow) {
  begin();
  say_interest("d", true);
  const Lid then = sa->lab.lid("d");
  store.lids.clear();
  begin(five_nodes());
  ASSERT_NE(sa->lab.lid("d"), then);
  EXPECT_THAT(told("d", "b"), ElementsAre(wire::TrapNumber::kBufferOverrun));
  EXPECT_EQ(store.subscriptions.at(0).to.lid, sa->lab.lid("d"));
}

TEST_F(Store, ForgetsWhatPortsHadThatDoNotComeBack) {
  begin();
  say_interest("d", true);
  say_interest("b", true);
  set_guid("d", 1, Guid{0x77});
  begin(without_node_d());
  EXPECT_THAT(store.subscriptions, SizeIs(1));
  EXPECT_THAT(store.aliases, IsEmpty());
  EXPECT_EQ(sa->left_out, 0u);
}

TEST_F(Store, KeepsGuidsAndWhatHasJoinedByThem) {
  begin();
  set_guid("b", 2, Guid{0x77});
  set_guid("b", 3, Guid{0x78});
  set_guid("b", 3, Guid{});
  join("b", 1, make_gid(AdministeredLab::kPrefix, Guid{0x77}));
  begin();
  EXPECT_EQ(guid_at("b", 2), Guid{0x77});
  EXPECT_EQ(guid_at("b", 3), Guid{});
  ASSERT_NE(group(1), nullptr);
  EXPECT_THAT(group(1)->members, SizeIs(1));
  set_guid("b", 2, Guid{});
  EXPECT_THAT(store.aliases, IsEmpty());
  EXPECT_EQ(group(1), nullptr);
}

// While it was away another manager was the master, and has given and taken GUIDs.
TEST_F(Store, TakesOverWhatPortsHaveByNowBesideTheGuidsOfBefore) {
  begin();
  set_guid("b", 1, Guid{0x77});
  set_guid("b", 2, Guid{0x78});
  set_guid("b", 3, Guid{0x79});
  set_guid("d", 1, Guid{0x7A});
  const auto leave = [&](const std::string& node, const std::vector<Guid>& guids) {
    wire::GuidBlock block = sa->lab.running.fabric.find_node(node)->guids(1, 0);
    std::copy(guids.begin(), guids.end(), block.guids.begin() + 1);
    sa->lab.running.fabric.find_node(node)->set_guids(1, 0, block);
  };
  leave("b", {Guid{0x77}, Guid{0x88}, Guid{}, Guid{0x89}});
  leave("c", {Guid{0x77}, Guid{0x8A}, guid_at("d", 0)});
  leave("d", {Guid{}, Guid{0x8B}});
  sa->restart(&store);
  const auto has = [&](const std::string& node) {
    const wire::GuidBlock block = sa->lab.running.fabric.find_node(node)->guids(1, 0);
    return std::vector<Guid>(block.guids.begin() + 1, block.guids.begin() + 5);
  };
  EXPECT_THAT(has("b"), ElementsAre(Guid{0x77}, Guid{0x88}, Guid{0x79}, Guid{0x89}));
  EXPECT_THAT(has("c"), ElementsAre(Guid{}, Guid{0x8A}, Guid{}, Guid{})) << "others' go";
  EXPECT_THAT(has("d"), ElementsAre(Guid{0x7A}, Guid{0x8B}, Guid{}, Guid{}));
  const Guid b = guid_at("b", 0), c = guid_at("c", 0), d = guid_at("d", 0);
  EXPECT_EQ(store.aliases, (decltype(store.aliases){{{b, 1}, Guid{0x77}},
                                                    {{b, 2}, Guid{0x88}},
                                                    {{b, 3}, Guid{0x79}},
                                                    {{b, 4}, Guid{0x89}},
                                                    {{c, 2}, Guid{0x8A}},
                                                    {{d, 1}, Guid{0x7A}},
                                                    {{d, 2}, Guid{0x8B}}}));
  sa->sweep();
  EXPECT_EQ(sa->lab.manager->report().writes, 0u);
}

TEST_F(Store, LeavesOutSubscriptionsAndGuidsThatMakeNoSense) {
  begin();
  say_interest("b", true);
  const Guid b = guid_at("b", 0);
  const Guid c = guid_at("c", 0);
  const SubscriptionState good = store.subscriptions.at(0);
  const auto add = [&](auto spoil) {
    store.subscriptions.push_back(good);
    store.subscriptions.back().number = 7;
    spoil(store.subscriptions.back());
  };
  add([](SubscriptionState&) {});  // the same wish
  add([](SubscriptionState& each) { each.subscriber = Gid{}; });
  add([](SubscriptionState& each) { each.info.subscribe = false; });
  add([](SubscriptionState& each) { each.info.qpn = Qpn{9}; });
  add([](SubscriptionState& each) { each.to.lid = Lid{}; });
  store.aliases = {{{b, 0}, Guid{1}}, {{b, 1}, Guid{2}}, {{b, 2}, Guid{}}, {{c, 1}, Guid{2}}};
  begin();
  EXPECT_EQ(sa->left_out, 8u);
  EXPECT_EQ(sa->administrator->subscriptions(), 1u);
  EXPECT_EQ(guid_at("b", 1), Guid{2});
  EXPECT_EQ(guid_at("c", 1), Guid{});
}

TEST_F(Store, FreesGuidsForWhichPortsHaveNoRoomOrWhichArePortsOwn) {
  begin();
  const Guid b = guid_at("b", 0);
  store.aliases = {{{b, 255}, Guid{1}}, {{b, 1}, guid_at("c", 0)}, {{b, 2}, Guid{3}}};
  begin();
  EXPECT_EQ(sa->left_out, 0u);
  EXPECT_THAT(store.aliases, SizeIs(1));
  EXPECT_EQ(guid_at("b", 1), Guid{});
  EXPECT_EQ(guid_at("b", 2), Guid{3});
}

TEST_F(Store, LeavesOutGroupsThatMakeNoSense) {
  begin();
  join("b", 1);
  const GroupState good = store.groups.begin()->second;
  store = {};
  const auto add = [&](std::uint64_t number, std::uint16_t mlid, std::uint8_t state) {
    GroupState& group = store.groups[group_number(number)] = good;
    group.like.mgid = group_number(number);
    group.like.mlid = Lid{mlid};
    group.members.begin()->second.join_state = state;
  };
  add(1, 0xC000, 1);
  add(2, 0xC000, 1);   // has the other's
  add(3, 0xBFFF, 1);   // no MLID
  add(4, 0xFFFF, 1);   // nor this
  add(5, 0xC005, 0);   // nobody is in it
  add(6, 0xC006, 16);  // no JoinState
  store.groups[Gid{}] = good;
  begin();
  EXPECT_THAT(sa->administrator->groups().groups(), SizeIs(1));
  EXPECT_EQ(sa->left_out, 6u);
}

TEST_F(Store, HasGroupsOfPartitionsAsTheFileSaysNow) {
  begin();
  const MemberRecord then{.mgid = group_number(7), .qkey = QKey{1}, .pkey = kDefaultPKey};
  join("b", 1);
  ASSERT_TRUE(sa->administrator->add_group(then));
  begin();
  MemberRecord now = then;
  now.qkey = QKey{2};
  ASSERT_TRUE(sa->administrator->add_group(now));
  EXPECT_EQ(group(7)->like.qkey, QKey{2});
  EXPECT_EQ(group(7)->like.mlid, Lid{0xC001});
  EXPECT_EQ(store.groups.at(group_number(7)), *group(7));
}

TEST_F(Store, HearsOfNodesAndLinksThatComeAndGo) {
  begin();
  EXPECT_THAT(store.nodes, SizeIs(6));
  EXPECT_THAT(store.links, SizeIs(5));
  auto& fabric = sa->lab.running.fabric;
  const Guid d = fabric.lab().find_node("d")->guid;
  EXPECT_THAT(store.nodes, Contains(Key(d)));
  fabric.link(*fabric.find_link("d:1")).set_plugged(false, sa->lab.running.now);
  sa->settle();
  sa->sweep();
  EXPECT_THAT(store.nodes, Not(Contains(Key(d))));
  EXPECT_THAT(store.links, SizeIs(4));
}

TEST_F(Store, HearsFromANewMasterWhatItSawBefore) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes),
                 {{.node = "a", .options = {.mastership = {.priority = 5}}},
                  {.node = "d", .options = {}, .store = &store}});
  lab.sweep();
  lab.managers[1]->sweep();
  lab.run_for(5s);
  ASSERT_EQ(lab.state(1), wire::SmState::kStandby);
  EXPECT_THAT(store.nodes, IsEmpty());
  EXPECT_THAT(store.lids, IsEmpty());
  lab.stop(0);
  lab.run_for(60s);
  ASSERT_EQ(lab.state(1), wire::SmState::kMaster);
  EXPECT_THAT(store.nodes, SizeIs(6));
  EXPECT_THAT(store.links, SizeIs(5));
  EXPECT_THAT(store.lids, SizeIs(6));
}

TEST_F(Store, CanBeToldAllAnew) {
  begin();
  join("b", 1);
  join("c", 1);
  service(MadMethod::kSet, ServiceRecord::kForEver);
  say_interest("c", true);
  set_guid("d", 4, Guid{0x77});
  MemoryStore other;
  sa->lab.manager->record_to(&other);
  sa->administrator->record_to(&other);
  sa->lab.manager->record_all();
  sa->administrator->record_all(sa->lab.running.now);
  EXPECT_EQ(other.lids, store.lids);
  EXPECT_EQ(other.groups, store.groups);
  EXPECT_EQ(other.services, store.services);
  EXPECT_EQ(other.subscriptions, store.subscriptions);
  EXPECT_EQ(other.aliases, store.aliases);
  EXPECT_EQ(other.nodes, store.nodes);
  EXPECT_EQ(other.links, store.links);
}

}  // namespace
}  // namespace weft::sm
