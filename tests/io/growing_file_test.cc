// SPDX-License-Identifier: Apache-2.0
#include "io/growing_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft::io {
namespace {

using ::testing::HasSubstr;

class GrowingFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / "weft-growing-XXXXXX").string();
    file_.reset(mkostemp(path_.data(), O_CLOEXEC | O_APPEND));
    ASSERT_TRUE(file_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void append(std::string_view text) const {
    ASSERT_EQ(write(file_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void open() {
    auto growing = GrowingFile::from_its_end(file_.get(), path_);
    ASSERT_TRUE(growing) << growing.error().message;
    growing_ = std::move(*growing);
  }
  [[nodiscard]] std::string read() const {
    std::string room(room_, ' ');
    const auto got = growing_->read({reinterpret_cast<std::byte*>(room.data()), room.size()});
    if (!got) return got.error().message;
    return *got ? room.substr(0, **got) : "nothing";
  }
  [[nodiscard]] bool noticed() const {
    pollfd notices{.fd = growing_->notices(), .events = POLLIN, .revents = 0};
    return poll(&notices, 1, 0) == 1;
  }
  [[nodiscard]] std::uint64_t held_bytes() const {
    struct stat what {};
    EXPECT_EQ(fstat(file_.get(), &what), 0);
    return static_cast<std::uint64_t>(what.st_blocks) * 512;
  }

  std::string path_;
  UniqueFd file_;
  std::unique_ptr<GrowingFile> growing_;
  std::size_t room_ = 4096;
};

TEST_F(GrowingFiles, AreReadFromTheirEndOnAsTheyGrow) {
  append("before");
  open();
  EXPECT_EQ(read(), "nothing");
  EXPECT_FALSE(noticed());
  append("one");
  append("two");
  EXPECT_TRUE(noticed());
  growing_->hear();
  EXPECT_FALSE(noticed());
  EXPECT_EQ(read(), "onetwo");
  EXPECT_EQ(read(), "nothing");
}

TEST_F(GrowingFiles, SayThatTheyHaveBecomeShorter) {
  append("before");
  open();
  ASSERT_EQ(ftruncate(file_.get(), 3), 0);
  EXPECT_THAT(read(), HasSubstr("shorter"));
}

TEST_F(GrowingFiles, TakeNoMemoryForWhatWasRead) {
  constexpr off_t kMebibyte = off_t{1} << 20;
  append(std::string(kMebibyte, 'x'));
  if (fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kMebibyte) != 0) {
    GTEST_SKIP() << "a file system without holes";
  }
  room_ = kMebibyte;
  append(std::string(kMebibyte, 'y'));
  open();
  EXPECT_LT(held_bytes(), 64u << 10) << "of what was there before";
  for (int i = 0; i < 8; ++i) {
    const std::string text(300'000, static_cast<char>('a' + i));
    append(text);
    EXPECT_EQ(read(), text);
  }
  EXPECT_LT(held_bytes(), 2u << 20);
}

}  // namespace
}  // namespace weft::io
