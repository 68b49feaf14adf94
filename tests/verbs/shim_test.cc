// SPDX-License-Identifier: Apache-2.0
// Runs with libweft_shim.so preloaded; WEFT_SYSROOT is set by each test.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weft::verbs {
namespace {

namespace fs = std::filesystem;

class Shim : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "weft-shim-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    fs::create_directories(root_ / "sys/class/infiniband/weft_lo");
    std::ofstream(root_ / "sys/class/infiniband/weft_lo/node_type") << "1: CA\n";
    fs::create_directories(root_ / "dev/infiniband");
    fs::create_symlink("/dev/null", root_ / "dev/infiniband/uverbs0");
    setenv("WEFT_SYSROOT", root_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("WEFT_SYSROOT");
    fs::remove_all(root_);
  }
  static constexpr const char* kFile = "/sys/class/infiniband/weft_lo/node_type";
  static constexpr const char* kDirectory = "/sys/class/infiniband";
  static constexpr const char* kNode = "/dev/infiniband/uverbs0";
  fs::path root_;
};

TEST_F(Shim, AnswersEveryWayOfLookingAtAPath) {
  struct stat status {};
  EXPECT_EQ(stat(kNode, &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_EQ(lstat(kNode, &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  EXPECT_EQ(fstatat(AT_FDCWD, kFile, &status, 0), 0);
  struct statx extended {};
  EXPECT_EQ(statx(AT_FDCWD, kFile, 0, STATX_SIZE, &extended), 0);
  EXPECT_EQ(extended.stx_size, 6U);
  EXPECT_EQ(access(kNode, R_OK | W_OK), 0);
  EXPECT_EQ(faccessat(AT_FDCWD, kNode, R_OK, 0), 0);
  char target[PATH_MAX]{};
  EXPECT_EQ(readlink(kNode, target, sizeof target), 9);
  EXPECT_STREQ(realpath(kNode, target), "/dev/null");
}

TEST_F(Shim, OpensFilesAndDirectories) {
  const int fd = open(kFile, O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  close(fd);
  const int other = openat(AT_FDCWD, kFile, O_RDONLY | O_CLOEXEC);
  ASSERT_GE(other, 0);
  close(other);
  FILE* file = fopen(kFile, "re");
  ASSERT_NE(file, nullptr);
  fclose(file);
  DIR* directory = opendir(kDirectory);
  ASSERT_NE(directory, nullptr);
  closedir(directory);
  dirent** entries = nullptr;
  const int count = scandir(kDirectory, &entries, nullptr, alphasort);
  EXPECT_EQ(count, 3);  // . .. weft_lo
  for (int i = 0; i < count; ++i)
    free(entries[i]);
  free(entries);
}

TEST_F(Shim, FollowsAScriptIntoTheDirectory) {
  char before[PATH_MAX]{};
  ASSERT_NE(getcwd(before, sizeof before), nullptr);
  ASSERT_EQ(chdir(kDirectory), 0);
  EXPECT_EQ(access("weft_lo/node_type", R_OK), 0);
  EXPECT_EQ(chdir(before), 0);
}

TEST_F(Shim, LeavesOtherPathsAndOtherProcessesAlone) {
  struct stat status {};
  EXPECT_EQ(stat("/sys/class", &status), stat("/sys/class/", &status));
  EXPECT_EQ(access((root_ / "nothing").c_str(), F_OK), -1);
  EXPECT_EQ(errno, ENOENT);
  const fs::path made = root_ / "made";
  const int fd = open(made.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0640);
  ASSERT_GE(fd, 0);
  close(fd);
  ASSERT_EQ(stat(made.c_str(), &status), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(status.st_mode & 0777, 0640 & ~mask);
  unsetenv("WEFT_SYSROOT");
  EXPECT_EQ(access(kFile, F_OK), -1);
}

}  // namespace
}  // namespace weft::verbs
