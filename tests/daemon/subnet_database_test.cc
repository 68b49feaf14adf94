// SPDX-License-Identifier: Apache-2.0
// The subnet database with real files: what comes back, what becomes of files that cannot be used,
// and of disks that take no more.
#include "daemon/lab/subnet_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "daemon/lab/subnet_database_file.h"
#include "sm/sa/subnet_view.h"

namespace weft::daemon {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = sm::ManagerEvent::Kind;
namespace fs = std::filesystem;

std::string bytes_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put_bytes(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

class Database : public ::testing::Test {
 protected:
  Database() {
    std::string name = (fs::temp_directory_path() / "weft-database.XXXXXX").string();
    directory = mkdtemp(name.data());
    file = directory + "/subnet.db";
  }
  ~Database() override {
    database.reset();
    fs::permissions(directory, fs::perms::owner_all);
    fs::remove_all(directory);
  }

  // A life begins. What it recorded is what the source tells when all is asked for.
  void open() {
    auto opened = SubnetDatabase::open({.file = file});
    ASSERT_TRUE(opened) << opened.error().message;
    database = std::move(*opened);
    notes = database->take_notes();
  }
  void begin(std::function<void()> all = [] {}) {
    open();
    database->set_source(std::move(all));
    run();
  }
  void run(Duration later = 0ns) {
    now += later;
    database->run(now);
    for (std::string& note : database->take_notes())
      notes.push_back(std::move(note));
  }
  void end() {
    database->close(now);
    database.reset();
  }
  [[nodiscard]] sm::StoredSubnet reopened() {
    end();
    open();
    return database->load();
  }
  // The files beside it, by the ends of their names.
  [[nodiscard]] std::vector<std::string> kept_aside() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("subnet.db.")) names.push_back(name);
    }
    return names;
  }
  void make_one() {
    begin([this] { database->record_lid(Guid{1}, {Lid{7}, 0}); });
    database->record_event({.kind = Kind::kState, .text = "of before"});
    end();
  }
  void run_sql(const std::string& statements) const {
    auto connection = Sqlite::open(file);
    ASSERT_TRUE(connection) << connection.error().message;
    const auto done = connection->run(statements);
    ASSERT_TRUE(done) << done.error().message;
  }

  std::string directory;
  std::string file;
  std::unique_ptr<SubnetDatabase> database;
  std::vector<std::string> notes;
  Time now{1000s};
};

sm::GroupState some_group() {
  sm::GroupState group;
  group.like = {.mgid = sm::make_gid(0xFF12'401B'FFFF'0000, Guid{1}),
                .qkey = QKey{0xB1B},
                .mlid = Lid{0xC003},
                .mtu = {.selector = wire::SaValue::Selector::kExactly, .value = 4},
                .pkey = PKey{0xFFFF},
                .sl = Sl{3},
                .flow_label = 0x12345};
  group.lasting = true;
  group.members[sm::make_gid(0xFE80'0000'0000'0000, Guid{1})] = {.join_state = 1, .port = Guid{1}};
  group.members[sm::make_gid(0xFE80'0000'0000'0000, Guid{2})] = {
      .join_state = 4, .by_proxy = true, .port = Guid{7}};
  return group;
}

wire::ServiceRecord some_service(std::uint64_t id, std::uint32_t lease) {
  wire::ServiceRecord record{.id = id,
                             .gid = sm::make_gid(0xFE80'0000'0000'0000, Guid{2}),
                             .pkey = PKey{0xFFFF},
                             .lease = lease};
  record.name[0] = std::byte{'x'};
  record.key[5] = std::byte{1};
  return record;
}

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

TEST_F(Database, WritesAllAnewWhenALifeBegins) {
  begin([this] {
    database->record_lid(Guid{1}, {Lid{1}, 0});
    database->record_lid(Guid{2}, {Lid{2}, 0});
  });
  EXPECT_THAT(reopened().lids, SizeIs(2));
  database->set_source([this] { database->record_lid(Guid{2}, {Lid{2}, 0}); });
  run();
  EXPECT_THAT(reopened().lids, SizeIs(1));
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

TEST_F(Database, WritesALittleAfterTheFirstChangeAndSomeAtATime) {
  begin();
  const auto rows = [&] { return database->counters().get(DatabaseCounter::kRows); };
  EXPECT_EQ(database->deadline(), std::nullopt);
  for (std::uint64_t i = 1; i <= 1200; ++i)
    database->record_lid(Guid{i}, {Lid{static_cast<std::uint16_t>(i)}, 0});
  ASSERT_TRUE(database->deadline());
  run();
  EXPECT_EQ(rows(), 0u);
  ASSERT_EQ(database->deadline(), now + 250ms);
  run(250ms);
  EXPECT_EQ(rows(), 500u);
  run();
  run();
  EXPECT_EQ(rows(), 1200u);
  EXPECT_EQ(database->deadline(), std::nullopt);
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

// What is wrong with the file, and what is said of it.
struct Damage {
  const char* name;
  void (*inflict)(const std::string& file);
  const char* reason;
  const char* kept_as;
};

class Damaged : public Database, public ::testing::WithParamInterface<Damage> {};

TEST_P(Damaged, IsKeptAsideAndBegunAnew) {
  make_one();
  GetParam().inflict(file);
  const std::string damaged = bytes_in(file);
  begin([this] { database->record_lid(Guid{2}, {Lid{9}, 0}); });
  ASSERT_THAT(notes, SizeIs(1)) << "said once";
  EXPECT_THAT(notes[0], HasSubstr(GetParam().reason));
  EXPECT_THAT(database->load().lids, IsEmpty());
  ASSERT_THAT(kept_aside(), SizeIs(1));
  EXPECT_THAT(kept_aside()[0], HasSubstr(GetParam().kept_as));
  EXPECT_THAT(notes[0], HasSubstr(kept_aside()[0]));
  EXPECT_EQ(bytes_in(directory + "/" + kept_aside()[0]), damaged);
  const sm::StoredSubnet after = reopened();
  EXPECT_THAT(after.lids, SizeIs(1));
  EXPECT_TRUE(after.lids.contains(Guid{2}));
}

void damage(const std::string& file, const std::string& sql) {
  auto connection = Sqlite::open(file);
  ASSERT_TRUE(connection->run(sql)) << sql;
}

INSTANTIATE_TEST_SUITE_P(
    Each, Damaged,
    ::testing::Values(
        Damage{"NoDatabase",
               [](const std::string& file) { put_bytes(file, std::string(5000, 'x')); },
               "file is not a database", ".corrupt-"},
        Damage{"Empty", [](const std::string& file) { put_bytes(file, ""); }, "it is empty",
               ".corrupt-"},
        Damage{"Truncated",
               [](const std::string& file) { fs::resize_file(file, fs::file_size(file) / 2); },
               "malformed", ".corrupt-"},
        Damage{"PageOfZeros",
               [](const std::string& file) {
                 std::string bytes = bytes_in(file);
                 bytes.replace(4096, 4096, std::string(4096, '\0'));
                 put_bytes(file, bytes);
               },
               "its integrity check fails", ".corrupt-"},
        Damage{"Older", [](const std::string& file) { damage(file, "PRAGMA user_version = 0"); },
               "it is of version 0", ".version-0-"},
        Damage{"Newer", [](const std::string& file) { damage(file, "PRAGMA user_version = 2"); },
               "it is of version 2", ".version-2-"},
        Damage{"OtherTables", [](const std::string& file) { damage(file, "DROP TABLE lid"); },
               "its tables are not those of its version", ".corrupt-"}),
    [](const auto& each) { return each.param.name; });

TEST_F(Database, TakesNoFileOfAnotherProgram) {
  make_one();
  run_sql("PRAGMA application_id = 7");
  const std::string before = bytes_in(file);
  const auto opened = SubnetDatabase::open({.file = file});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, std::errc::invalid_argument);
  EXPECT_THAT(opened.error().message, HasSubstr("is a database of another program"));
  EXPECT_EQ(bytes_in(file), before);
  EXPECT_THAT(kept_aside(), IsEmpty());
}

TEST_F(Database, LeavesOutRowsThatMakeNoSense) {
  make_one();
  run_sql(
      "INSERT INTO lid VALUES ('0x2', 0, 0), ('0x3', 49152, 0), ('0x4', 4, 8), ('0x5', 4, -1), "
      "('five', 4, 0), ('0x6', 5, 0); "
      "INSERT INTO multicast_group VALUES ('ff12::1', 49152, 0, x'00'); "
      "INSERT INTO member VALUES ('ff12::2', 'fe80::1', '0x1', 1, 0); "
      "INSERT INTO service VALUES ('0x1', 'fe80::1', 1, NULL, x'0000'); "
      "INSERT INTO event (time, kind, text) VALUES (9223372036854775807, 'link', char(27, 10, "
      "200)), "
      "(0, 'nonsense', 'x')");
  open();
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("9 records make no sense"));
  const sm::StoredSubnet before = database->load();
  EXPECT_THAT(before.lids, SizeIs(2));
  EXPECT_THAT(before.groups, IsEmpty());
  EXPECT_THAT(before.services, IsEmpty());
  const auto events = database->load_events();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].what.text, "????") << "goes to terminals";
}

// Whatever the bytes: it is used, or kept aside, or refused with a reason.
TEST_F(Database, SurvivesAnyByteThatIsWrong) {
  begin([this] {
    for (std::uint64_t i = 1; i < 300; ++i)
      database->record_lid(Guid{i}, {Lid{static_cast<std::uint16_t>(i)}, 0});
    database->record_group(some_group().like, true);
    database->record_service({.record = some_service(2, 100), .left = 90s});
  });
  end();
  const std::string sound = bytes_in(file);
  std::mt19937 random(1);
  std::size_t unusable = 0;
  for (int round = 0; round < 80; ++round) {
    std::string bytes = sound;
    for (int flips = 0; flips < 1 + round % 20; ++flips) {
      const std::size_t at = round < 40 ? random() % 200 : random() % bytes.size();
      bytes[at] = static_cast<char>(random());
    }
    put_bytes(file, bytes);
    auto opened = SubnetDatabase::open({.file = file});
    if (opened) {
      (*opened)->set_source([] {});
      (*opened)->run(now);
      unusable += (*opened)->take_notes().empty() ? 0 : 1;
    }
    for (const std::string& name : kept_aside())
      fs::remove(directory + "/" + name);
  }
  EXPECT_GT(unusable, 20u);
}

TEST_F(Database, LetsNoTwoLivesHaveOneFile) {
  begin([this] { database->record_lid(Guid{1}, {Lid{7}, 0}); });
  auto second = SubnetDatabase::open({.file = file});
  ASSERT_TRUE(second);
  EXPECT_THAT((*second)->take_notes(), ElementsAre(HasSubstr("another process has it open")));
  EXPECT_THAT((*second)->load().lids, IsEmpty());
  (*second)->run(now);
  EXPECT_THAT((*second)->trouble(), HasSubstr("another process has it open"));
  EXPECT_THAT(reopened().lids, SizeIs(1));
}

TEST_F(Database, GoesOnWithoutADirectory) {
  file = directory + "/nowhere/subnet.db";
  begin([this] { database->record_lid(Guid{1}, {Lid{7}, 0}); });
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("No such file or directory"));
  for (int i = 0; i < 10; ++i) {
    run(60s);
    EXPECT_EQ(database->deadline(), now + std::min<Duration>(60s, (2 << i) * 1s)) << i;
  }
  EXPECT_THAT(notes, SizeIs(1)) << "said once";
  EXPECT_EQ(database->counters().get(DatabaseCounter::kFailures), 12u);
  fs::create_directory(directory + "/nowhere");
  run(60s);
  ASSERT_THAT(notes, SizeIs(2));
  EXPECT_THAT(notes[1], HasSubstr("is written again"));
  EXPECT_THAT(reopened().lids, SizeIs(1));
}

TEST_F(Database, GoesOnWithAFileThatHasBeenTakenAway) {
  begin([this] { database->record_lid(Guid{1}, {Lid{7}, 0}); });
  fs::remove(file);
  fs::remove(file + "-wal");
  database->record_lid(Guid{2}, {Lid{8}, 0});
  run();
  run(1s);
  ASSERT_THAT(notes, ElementsAre(HasSubstr("it has been moved or removed")));
  run(1s);
  EXPECT_THAT(notes, SizeIs(2));
  EXPECT_THAT(reopened().lids, SizeIs(1));
}

// A file that may not grow any more stands for a disk that is full.
class FullDisk : public Database {
 protected:
  FullDisk() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &usual_);
  }
  ~FullDisk() override { give_room(); }
  void take_room() {
    const rlimit none{.rlim_cur = 1, .rlim_max = usual_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  void give_room() { setrlimit(RLIMIT_FSIZE, &usual_); }

 private:
  rlimit usual_{};
};

TEST_F(FullDisk, IsSaidOnceAndTriedAgain) {
  std::uint16_t lid = 7;
  begin([&] { database->record_lid(Guid{1}, {Lid{lid}, 0}); });
  end();
  begin([&] { database->record_lid(Guid{1}, {Lid{lid}, 0}); });
  take_room();
  lid = 8;
  database->record_lid(Guid{1}, {Lid{lid}, 0});
  database->record_event({.kind = Kind::kLid, .text = "got LID 8"});
  run();
  run(1s);
  ASSERT_THAT(notes, ElementsAre(HasSubstr("cannot be written, and is tried again later")));
  EXPECT_FALSE(database->trouble().empty());
  run(1s);
  run(2s);
  EXPECT_THAT(notes, SizeIs(1));
  EXPECT_EQ(database->counters().get(DatabaseCounter::kFailures), 3u);
  lid = 9;
  database->record_lid(Guid{1}, {Lid{lid}, 0});
  give_room();
  run(4s);
  EXPECT_THAT(notes, SizeIs(2));
  EXPECT_TRUE(database->trouble().empty());
  const sm::StoredSubnet before = reopened();
  EXPECT_EQ(before.lids.at(Guid{1}).first, Lid{9});
  EXPECT_THAT(database->load_events(), SizeIs(1)) << "it waited";
  EXPECT_THAT(kept_aside(), IsEmpty());
}

TEST_F(FullDisk, LeavesNothingHalfBehind) {
  take_room();
  begin([&] { database->record_lid(Guid{1}, {Lid{7}, 0}); });
  EXPECT_THAT(notes, SizeIs(1));
  give_room();
  run(1s);
  EXPECT_THAT(reopened().lids, SizeIs(1));
  EXPECT_THAT(kept_aside(), IsEmpty());
}

TEST_F(FullDisk, KeepsTheLatestEventsUntilThereIsRoom) {
  begin();
  take_room();
  for (std::size_t i = 0; i < SubnetDatabaseWriter::kMostEvents + 2; ++i)
    database->record_event({.kind = Kind::kState, .text = std::to_string(i)});
  run();
  run(1s);
  EXPECT_FALSE(database->trouble().empty());
  give_room();
  (void)reopened();
  const auto events = database->load_events();
  ASSERT_THAT(events, SizeIs(SubnetDatabaseWriter::kMostEvents));
  EXPECT_EQ(events[0].what.text, "2");
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
