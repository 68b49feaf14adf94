// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_doors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/lab/shared_labs.h"
#include "io/reactor.h"
#include "io/runtime_dir.h"
#include "io/unix_socket.h"
#include "io/user_names.h"

namespace weft::daemon {
namespace {

using fabric::LabAccess;
using fabric::LabUsers;
using ::testing::HasSubstr;

const LabUsers kEveryone{.who = LabUsers::Who::kEveryone, .group = {}};

class LabDoorsTest : public ::testing::Test {
 protected:
  LabDoorsTest() : name_(fmt::format("doors-{}", getpid())) {
    paths_ = lab_paths(testing::TempDir(), name_).value();
  }
  ~LabDoorsTest() override {
    for (const std::string& shared : io::shared_directories(geteuid()))
      std::filesystem::remove_all(shared + "/" + name_);
  }

  static unsigned mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }
  static LabUsers own_group() {
    return {.who = LabUsers::Who::kGroup, .group = std::to_string(getegid())};
  }

  const std::string name_;
  LabPaths paths_;
};

TEST_F(LabDoorsTest, AreNoneOfALabThatIsItsOwnersAlone) {
  const auto doors = open_doors(paths_, {});
  ASSERT_TRUE(doors);
  EXPECT_TRUE(doors->directory.empty());
  EXPECT_FALSE(doors->attach || doors->rdma_cm || doors->mads || doors->admin);
  EXPECT_EQ(doors->management_directory(paths_), paths_.directory);
}

TEST_F(LabDoorsTest, AreOpenForWhomTheyAreMeant) {
  const auto doors =
      open_doors(paths_, {.attach = kEveryone, .manage = {}, .administer = own_group()});
  ASSERT_TRUE(doors) << doors.error().message;
  EXPECT_EQ(mode_of(doors->directory), 0711u);
  EXPECT_EQ(mode_of(std::filesystem::path(doors->directory).parent_path()), 0755u);
  EXPECT_EQ(mode_of(doors->directory + "/lock"), 0600u);
  EXPECT_FALSE(doors->mads);
  EXPECT_EQ(doors->management_directory(paths_), paths_.directory);
  auto reactor = std::move(io::Reactor::create(0us).value());
  const auto listen = [&](const Entrance& door) {
    auto listeners = Listener::open_all(
        testing::TempDir() + name_ + ".own", door, *reactor,
        [](io::UniqueFd, const io::PeerCredentials&) {}, [](Listener::Refused) {});
    EXPECT_TRUE(listeners) << listeners.error().message;
    EXPECT_EQ(mode_of(testing::TempDir() + name_ + ".own"), 0600u);
    return mode_of(door.path);
  };
  EXPECT_EQ(listen(*doors->attach), 0666u);
  EXPECT_EQ(listen(*doors->rdma_cm), 0666u);
  EXPECT_EQ(listen(*doors->admin), 0660u);
}

TEST_F(LabDoorsTest, LetWhoeverMayManageAttach) {
  const auto doors = open_doors(paths_, {.attach = {}, .manage = kEveryone, .administer = {}});
  ASSERT_TRUE(doors) << doors.error().message;
  ASSERT_TRUE(doors->attach);
  EXPECT_EQ(doors->attach->admission.who, Admission::Who::kEveryone);
  EXPECT_FALSE(doors->admin);
  EXPECT_EQ(doors->management_directory(paths_), doors->directory);
}

TEST_F(LabDoorsTest, AreClearedOfWhatAKilledLabLeft) {
  std::string directory;
  {
    const auto doors = open_doors(paths_, {.attach = {}, .manage = {}, .administer = kEveryone});
    ASSERT_TRUE(doors);
    directory = doors->directory;
    std::ofstream(doors->admin->path) << "left";
  }
  const auto doors = open_doors(paths_, {.attach = kEveryone, .manage = {}, .administer = {}});
  ASSERT_TRUE(doors) << doors.error().message;
  EXPECT_EQ(doors->directory, directory);
  EXPECT_FALSE(std::filesystem::exists(directory + "/admin"));
}

TEST_F(LabDoorsTest, AreOneLabsAtATime) {
  const auto first = open_doors(paths_, {.attach = kEveryone, .manage = {}, .administer = {}});
  ASSERT_TRUE(first);
  const auto second = open_doors(paths_, {.attach = kEveryone, .manage = {}, .administer = {}});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, std::errc::device_or_resource_busy);
}

TEST_F(LabDoorsTest, AreRefusedToAGroupThatIsNotThere) {
  const LabUsers nobody{.who = LabUsers::Who::kGroup, .group = "no such group"};
  const auto doors = open_doors(paths_, {.attach = {}, .manage = nobody, .administer = {}});
  ASSERT_FALSE(doors);
  EXPECT_THAT(doors.error().message, HasSubstr("access.attach: there is no group no such group"));
}

TEST_F(LabDoorsTest, AreFoundByTheNameOfOwnerAndLabAsLongAsSomebodyListens) {
  const std::string full = io::user_name(geteuid()) + "/" + name_;
  EXPECT_FALSE(find_shared_lab(full));
  const auto doors = open_doors(paths_, {.attach = kEveryone, .manage = {}, .administer = {}});
  ASSERT_TRUE(doors);
  EXPECT_FALSE(find_shared_lab(full)) << "nobody listens";
  const auto listener = io::listen_unix(doors->attach->path, io::UnixKind::kSeqPacket);
  ASSERT_TRUE(listener);
  const auto found = find_shared_lab(full);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().title(), full);
  EXPECT_EQ(found->front().attach, doors->attach->path);
  EXPECT_FALSE(find_shared_lab(full + "x"));
  EXPECT_FALSE(find_shared_lab("no such user/" + name_));
}

// Somebody else may have been there first.
TEST_F(LabDoorsTest, AreBehindADirectoryThatNobodyElseCanWriteTo) {
  const auto shared = io::shared_directory();
  ASSERT_TRUE(shared);
  const unsigned before = mode_of(*shared);
  ASSERT_EQ(chmod(shared->c_str(), 0777), 0);
  for (const std::string& each : io::shared_directories(geteuid()))
    EXPECT_NE(each, *shared);
  ASSERT_EQ(chmod(shared->c_str(), before), 0);
  EXPECT_THAT(io::shared_directories(geteuid()), testing::Contains(*shared));
  EXPECT_THAT(io::sharing_users(), testing::Contains(geteuid()));
}

}  // namespace
}  // namespace weft::daemon
