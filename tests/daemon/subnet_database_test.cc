// SPDX-License-Identifier: Apache-2.0
// The subnet database with real files: what comes back of what was recorded, and when it is
// written.
#include "daemon/lab/subnet_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "subnet_database_fixture.h"

namespace weft::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Kind = sm::ManagerEvent::Kind;
namespace fs = std::filesystem;

TEST_F(Database, GivesBackWhatWasRecorded) {
  const sm::GroupState group = some_group();
  begin();
  database->record_lid(Guid{0x8000'0000'0000'0001}, {Lid{0xBFFF}, 0});
  database->record_lid(Guid{2}, {Lid{8}, 3});
  database->record_lid(Guid{3}, {Lid{9}, 0});
  database->record_lid(Guid{2}, {Lid{16}, 3});
  database->forget_lid(Guid{3});
  database->record_group(group.like, true);
  for (const auto& [port, member] : group.members)
    database->record_member(group.like.mgid, port, member);
  database->record_service({.record = some_service(1, 0xFFFF'FFFF)});
  database->record_service({.record = some_service(2, 100), .left = 90s});
  const sm::StoredSubnet before = reopened();
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(before.lids,
            (std::map<Guid, sm::LidRange>{{Guid{2}, {Lid{16}, 3}},
                                          {Guid{0x8000'0000'0000'0001}, {Lid{0xBFFF}, 0}}}));
  EXPECT_THAT(before.groups, ElementsAre(group));
  ASSERT_THAT(before.services, SizeIs(2));
  EXPECT_EQ(before.services[0], (sm::ServiceState{.record = some_service(1, 0xFFFF'FFFF)}));
  EXPECT_EQ(before.services[1].record, some_service(2, 100));
  EXPECT_LE(*before.services[1].left, 90s);
  EXPECT_GT(*before.services[1].left, 30s);
}

TEST_F(Database, ForgetsWhatIsNoMore) {
  const sm::GroupState group = some_group();
  const auto& [port, member] = *group.members.begin();
  begin();
  database->record_group(group.like, false);
  database->record_member(group.like.mgid, port, member);
  database->record_service({.record = some_service(1, 100), .left = 90s});
  database->record_service({.record = some_service(2, 100), .left = -1s});  // has ended
  run(1s);
  database->forget_service(some_service(1, 0));
  database->forget_group(group.like.mgid);
  database->record_group(group.like, false);
  const sm::StoredSubnet before = reopened();
  ASSERT_THAT(before.groups, SizeIs(1));
  EXPECT_THAT(before.groups[0].members, IsEmpty()) << "they were of the group before";
  EXPECT_THAT(before.services, IsEmpty());
}

TEST_F(Database, GivesBackSubscriptionsAndAdditionalGuids) {
  sm::SubscriptionState near = some_subscription(false);
  const sm::SubscriptionState far = some_subscription(true);
  begin();
  database->record_subscription(near);
  database->record_subscription(far);
  near.trusted = true;
  database->record_subscription(near);
  sm::SubscriptionState gone = near;
  gone.info.trap = 64;
  database->record_subscription(gone);
  database->forget_subscription(gone);
  database->record_alias({.port = Guid{2}, .index = 255, .guid = Guid{0x8000'0000'0000'0001}});
  database->record_alias({.port = Guid{2}, .index = 1, .guid = Guid{7}});
  database->record_alias({.port = Guid{2}, .index = 1, .guid = Guid{8}});
  database->record_alias({.port = Guid{3}, .index = 1, .guid = Guid{7}});
  database->forget_alias(Guid{3}, 1);
  const sm::StoredSubnet before = reopened();
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_THAT(before.subscriptions, UnorderedElementsAre(near, far));
  EXPECT_THAT(before.aliases,
              UnorderedElementsAre(sm::AliasGuid{Guid{2}, 1, Guid{8}},
                                   sm::AliasGuid{Guid{2}, 255, Guid{0x8000'0000'0000'0001}}));
}

TEST_F(Database, WritesAllAnewWhenALifeBegins) {
  begin([this] {
    database->record_lid(Guid{1}, {Lid{1}, 0});
    database->record_lid(Guid{2}, {Lid{2}, 0});
    database->record_subscription(some_subscription(true));
    database->record_alias({.port = Guid{2}, .index = 1, .guid = Guid{7}});
  });
  EXPECT_THAT(reopened().lids, SizeIs(2));
  database->set_source([this] { database->record_lid(Guid{2}, {Lid{2}, 0}); });
  run();
  const sm::StoredSubnet after = reopened();
  EXPECT_THAT(after.lids, SizeIs(1));
  EXPECT_THAT(after.subscriptions, IsEmpty());
  EXPECT_THAT(after.aliases, IsEmpty());
}

TEST_F(Database, KeepsEventsOfBeforeUpToANumber) {
  begin();
  for (std::size_t i = 0; i < SubnetDatabaseWriter::kMostEvents + 5; ++i) {
    database->record_event({.kind = Kind::kLink, .text = "event " + std::to_string(i)});
    if (i % 1000 == 0) run(1s);
  }
  (void)reopened();
  const std::vector<PastEvent> events = database->load_events();
  ASSERT_THAT(events, SizeIs(SubnetDatabaseWriter::kMostEvents));
  EXPECT_EQ(events.front().what.text, "event 5");
  EXPECT_EQ(events.front().what.kind, Kind::kLink);
  EXPECT_GT(events.front().when, 1'700'000'000s);
}

TEST_F(Database, WritesALittleAfterTheFirstChangeWithoutHoldingItsOwnerUp) {
  begin();
  const auto rows = [&] { return database->counters().get(DatabaseCounter::kRows); };
  EXPECT_EQ(database->deadline(), std::nullopt);
  for (std::uint64_t i = 1; i <= 1200; ++i)
    database->record_lid(Guid{i}, {Lid{static_cast<std::uint16_t>(i)}, 0});
  ASSERT_TRUE(database->deadline());
  run();
  EXPECT_EQ(rows(), 0u);
  ASSERT_EQ(database->deadline(), now + 250ms);
  now += 250ms;
  database->run(now);
  EXPECT_EQ(rows(), 0u) << "a thread has it in hand";
  EXPECT_EQ(database->deadline(), now + 250ms) << "to see what has become of it";
  database->record_lid(Guid{1}, {Lid{9}, 0});
  database->wait();
  database->run(now);
  EXPECT_EQ(rows(), 1200u);
  EXPECT_EQ(database->deadline(), now + 250ms) << "of what has come meanwhile";
  run(250ms);
  EXPECT_EQ(rows(), 1201u);
  EXPECT_EQ(database->deadline(), std::nullopt);
}

TEST_F(Database, AnswersWithWhatIsInHandAndWhatWaits) {
  begin();
  database->record_node({.guid = Guid{1}, .description = "a"}, true);
  run();
  now += 250ms;
  database->run(now);
  database->record_node({.guid = Guid{2}, .description = "b"}, true);
  const auto past = database->topology(now, 100);
  ASSERT_TRUE(past) << past.error().message;
  EXPECT_THAT(past->nodes, SizeIs(2));
}

TEST_F(Database, WritesAllAnewThoughTooMuchCameWhileSomeWasInHand) {
  auto opened = SubnetDatabase::open({.file = file, .most_changes = 10});
  database = std::move(*opened);
  std::uint16_t lid = 1;
  database->set_source([&] { database->record_lid(Guid{1}, {Lid{lid}, 0}); });
  run();
  database->record_lid(Guid{2}, {Lid{2}, 0});
  run();
  now += 250ms;
  database->run(now);
  for (int i = 0; i < 100; ++i)
    database->record_lid(Guid{100}, {Lid{100}, 0});
  lid = 7;
  database->wait();
  database->run(now);
  run();
  EXPECT_EQ(reopened().lids, (std::map<Guid, sm::LidRange>{{Guid{1}, {Lid{7}, 0}}}));
}

TEST_F(Database, HasTheTopologyAndItsHistory) {
  const sm::TopologyNode node{.guid = Guid{5}, .type = wire::NodeType::kSwitch, .description = "s"};
  const sm::TopologyLink link{.from = {Guid{5}, 1}, .to = {Guid{6}, 2}};
  begin([&] { database->record_node(node, true); });
  database->record_node(node, true);  // it is there already
  database->record_link(link, true);
  database->record_link(link, false);
  database->record_link(link, true);
  auto past = database->topology(now, 100);
  ASSERT_TRUE(past) << past.error().message;
  ASSERT_THAT(past->nodes, SizeIs(1));
  EXPECT_EQ(past->nodes[0].node, node);
  EXPECT_FALSE(past->nodes[0].gone);
  ASSERT_THAT(past->links, SizeIs(2));
  EXPECT_EQ(past->links[0].link, link);
  EXPECT_FALSE(past->links[0].down);
  EXPECT_TRUE(past->links[1].down);
  (void)reopened();  // with which all of them went
  run();
  past = database->topology(now, 100);
  ASSERT_THAT(past->nodes, SizeIs(1));
  ASSERT_TRUE(past->nodes[0].gone);
  EXPECT_GE(*past->nodes[0].gone, past->nodes[0].appeared);
  EXPECT_THAT(past->links, SizeIs(2));
  EXPECT_TRUE(past->links[0].down);
}

TEST_F(Database, IsReadableForTheUserAlone) {
  make_one();
  struct stat status {};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(Database, KnowsWhatAKilledProcessHadWritten) {
  begin();
  database->record_lid(Guid{1}, {Lid{7}, 0});
  run();
  run(1s);
  // As the disk has it at this moment.
  const std::string copy = directory + "/copy.db";
  fs::copy_file(file, copy);
  fs::copy_file(file + "-wal", copy + "-wal");
  database.reset();
  file = copy;
  open();
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_THAT(database->load().lids, SizeIs(1));
}

TEST_F(Database, RecordsAllAnewWhenTooMuchWaits) {
  auto opened = SubnetDatabase::open({.file = file, .most_changes = 10});
  database = std::move(*opened);
  database->set_source([this] {
    for (std::uint64_t i = 1; i <= 20; ++i)
      database->record_lid(Guid{i}, {Lid{static_cast<std::uint16_t>(i)}, 0});
  });
  run();
  for (int i = 0; i < 100; ++i)
    database->record_lid(Guid{100}, {Lid{100}, 0});
  run();
  EXPECT_THAT(reopened().lids, SizeIs(20));
}

}  // namespace
}  // namespace weft::daemon
