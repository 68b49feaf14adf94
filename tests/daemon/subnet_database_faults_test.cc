// SPDX-License-Identifier: Apache-2.0
// The subnet database with real files: what becomes of files that cannot be used, and of disks that
// take no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "daemon/lab/subnet_database_file.h"
#include "subnet_database_fixture.h"

namespace weft::daemon {
namespace {

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
        Damage{"OfNoVersion",
               [](const std::string& file) { damage(file, "PRAGMA user_version = 0"); },
               "it is of version 0", ".version-0-"},
        Damage{"Newer", [](const std::string& file) { damage(file, "PRAGMA user_version = 99"); },
               "it is of version 99", ".version-99-"},
        Damage{"OfNoOlderVersion",
               [](const std::string& file) { damage(file, "PRAGMA user_version = 1"); },
               "its tables are not those of its version", ".corrupt-"},
        Damage{"OtherTables", [](const std::string& file) { damage(file, "DROP TABLE lid"); },
               "its tables are not those of its version", ".corrupt-"}),
    [](const auto& each) { return each.param.name; });

// A file as version 1 had it.
class Older : public Database {
 protected:
  Older() {
    make_one();
    run_sql("DROP TABLE subscription; DROP TABLE alias_guid; PRAGMA user_version = 1");
  }
};

TEST_F(Older, IsReadAndBecomesOneOfThisVersion) {
  const std::string before = bytes_in(file);
  open();
  EXPECT_THAT(database->load().lids, SizeIs(1));
  EXPECT_THAT(database->load_events(), SizeIs(1));
  EXPECT_EQ(bytes_in(file), before) << "who only reads it leaves it alone";
  database->set_source([this] {
    database->record_lid(Guid{1}, {Lid{7}, 0});
    database->record_subscription(some_subscription(false));
    database->record_alias({.port = Guid{1}, .index = 1, .guid = Guid{7}});
  });
  run();
  const sm::StoredSubnet after = reopened();
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_THAT(kept_aside(), IsEmpty());
  EXPECT_THAT(after.lids, SizeIs(1));
  EXPECT_THAT(after.subscriptions, SizeIs(1));
  EXPECT_THAT(after.aliases, SizeIs(1));
  EXPECT_THAT(database->load_events(), SizeIs(1));
}

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
      "INSERT INTO alias_guid VALUES ('0x1', 256, '0x7'), ('0x1', -1, '0x7'), ('0x1', 1, 'x'), "
      "('x', 1, '0x7'); "
      "INSERT INTO subscription VALUES "
      "('x', zeroblob(36), 0, 0, 1, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL), "
      "('fe80::1', zeroblob(35), 0, 0, 1, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL), "
      "('fe80::2', zeroblob(36), 65536, 0, 1, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL), "
      "('fe80::3', zeroblob(36), 0, 0, 49152, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL), "
      "('fe80::4', zeroblob(36), 0, 0, 1, 16, 0, 0, 0, NULL, NULL, NULL, NULL, NULL), "
      "('fe80::5', zeroblob(36), 0, 0, 1, 0, 128, 0, 0, NULL, NULL, NULL, NULL, NULL), "
      "('fe80::6', zeroblob(36), 0, 0, 1, 0, 0, -1, 0, NULL, NULL, NULL, NULL, NULL), "
      "('fe80::7', zeroblob(36), 0, 0, 1, 0, 0, 0, 65536, NULL, NULL, NULL, NULL, NULL), "
      "('fe80::8', zeroblob(36), 0, 0, 1, 0, 0, 0, 0, 'x', 0, 0, 0, 0), "
      "('fe80::9', zeroblob(36), 0, 0, 1, 0, 0, 0, 0, 'fe80::1', 0, 1048576, 0, 0); "
      "INSERT INTO event (time, kind, text) VALUES (9223372036854775807, 'link', char(27, 10, "
      "200)), "
      "(0, 'nonsense', 'x')");
  open();
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("23 records make no sense"));
  const sm::StoredSubnet before = database->load();
  EXPECT_THAT(before.lids, SizeIs(2));
  EXPECT_THAT(before.groups, IsEmpty());
  EXPECT_THAT(before.services, IsEmpty());
  EXPECT_THAT(before.subscriptions, IsEmpty());
  EXPECT_THAT(before.aliases, IsEmpty());
  const auto events = database->load_events();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].what.text, "????") << "goes to terminals";
  run();
  (void)reopened();
  EXPECT_THAT(notes, IsEmpty()) << "it is said once";
}

// Whatever the bytes: it is used, or kept aside, or refused with a reason.
TEST_F(Database, SurvivesAnyByteThatIsWrong) {
  begin([this] {
    for (std::uint64_t i = 1; i < 300; ++i)
      database->record_lid(Guid{i}, {Lid{static_cast<std::uint16_t>(i)}, 0});
    database->record_group(some_group().like, true);
    database->record_service({.record = some_service(2, 100), .left = 90s});
    database->record_subscription(some_subscription(true));
    database->record_alias({.port = Guid{1}, .index = 1, .guid = Guid{7}});
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
      (*opened)->wait();
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
  (*second)->wait();
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

}  // namespace
}  // namespace weft::daemon
