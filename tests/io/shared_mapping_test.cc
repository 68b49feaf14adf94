// SPDX-License-Identifier: Apache-2.0
#include "io/shared_mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace weft::io {
namespace {

constexpr std::size_t kSize = 8192;

TEST(SharedMapping, ShowsOneSideWhatTheOtherWrites) {
  const auto file = make_shared_file("weft-test", kSize);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const auto writer = SharedMapping::map(file->get(), kSize, Access::kWrite);
  const auto reader = SharedMapping::map(file->get(), kSize, Access::kRead);
  ASSERT_TRUE(writer && reader);
  std::strcpy(static_cast<char*>(writer->begin()) + 5000, "woven");
  EXPECT_STREQ(static_cast<const char*>(reader->begin()) + 5000, "woven");
}

TEST(SharedMapping, IsOfAFileWhoseSizeNobodyCanChange) {
  const auto file = make_shared_file("weft-test", kSize);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(ftruncate(file->get(), 100), -1);
  EXPECT_EQ(ftruncate(file->get(), kSize * 2), -1);
  EXPECT_FALSE(SharedMapping::map(file->get(), kSize + 1, Access::kRead).has_value());
  const UniqueFd loose(memfd_create("weft-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), kSize), 0);
  EXPECT_FALSE(SharedMapping::map(loose.get(), kSize, Access::kRead).has_value());
}

TEST(SharedMapping, LetsNobodyElseWriteWhenWritingHasEnded) {
  const auto file = make_shared_file("weft-test", kSize);
  ASSERT_TRUE(file.has_value());
  const auto writer = SharedMapping::map(file->get(), kSize, Access::kWrite);
  ASSERT_TRUE(end_writing(file->get()));
  EXPECT_FALSE(SharedMapping::map(file->get(), kSize, Access::kWrite).has_value());
  EXPECT_EQ(write(file->get(), "x", 1), -1);
  EXPECT_EQ(fallocate(file->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
  const auto reader = SharedMapping::map(file->get(), kSize, Access::kRead);
  ASSERT_TRUE(reader.has_value());
  *static_cast<char*>(writer->begin()) = 'w';
  EXPECT_EQ(*static_cast<const char*>(reader->begin()), 'w');
}

TEST(SharedMapping, CannotBeWrittenToThroughAFileReopenedToRead) {
  const auto file = make_shared_file("weft-test", kSize);
  ASSERT_TRUE(file.has_value());
  const auto read_only = reopen_to_read(file->get());
  ASSERT_TRUE(read_only.has_value()) << read_only.error().message;
  EXPECT_TRUE(SharedMapping::map(read_only->get(), kSize, Access::kRead).has_value());
  EXPECT_FALSE(SharedMapping::map(read_only->get(), kSize, Access::kWrite).has_value());
}

}  // namespace
}  // namespace weft::io
