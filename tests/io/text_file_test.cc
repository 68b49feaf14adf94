// SPDX-License-Identifier: Apache-2.0
#include "io/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft::io {
namespace {

using ::testing::HasSubstr;

class TextFile : public ::testing::Test {
 protected:
  TextFile() : path_(::testing::TempDir() + "weft-text-" + std::to_string(getpid())) {}
  ~TextFile() override { std::filesystem::remove(path_); }
  void write(const std::string& text) { std::ofstream(path_) << text; }

  const std::string path_;
};

TEST_F(TextFile, IsReadWhole) {
  const std::string text(200'000, 'x');
  write(text);
  const auto read = read_text_file(path_, text.size());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, text);
}

TEST_F(TextFile, IsRefusedWhenItIsTooLong) {
  write("four");
  EXPECT_TRUE(read_text_file(path_, 4));
  const auto read = read_text_file(path_, 3);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, std::errc::file_too_large);
  EXPECT_THAT(read.error().message, HasSubstr(path_ + ": longer than 3 bytes"));
  // One that never ends, too.
  EXPECT_FALSE(read_text_file("/dev/zero", 1 << 20));
}

TEST_F(TextFile, IsNamedWhereItCannotBeRead) {
  const auto missing = read_text_file(path_, 1000);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, std::errc::no_such_file_or_directory);
  EXPECT_THAT(missing.error().message, HasSubstr(path_));
  const auto directory = read_text_file("/tmp", 1000);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, std::errc::is_a_directory);
}

}  // namespace
}  // namespace weft::io
