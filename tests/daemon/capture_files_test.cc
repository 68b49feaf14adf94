// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/capture_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "io/capture_reader.h"
#include "packets.h"

namespace weft::daemon {
namespace {

using service::test::Buffer;
using ::testing::HasSubstr;

Buffer packet(std::uint32_t psn) {
  service::test::Made made;
  made.payload = Buffer(100);
  made.bth.psn = Psn{psn};
  return service::test::make(made);
}

class CaptureFile : public ::testing::Test {
 protected:
  CaptureFile() {
    std::string name = ::testing::TempDir() + "capture-XXXXXX";
    directory_ = mkdtemp(name.data());
    auto files = CaptureFiles::open(directory_ + "/x.pcapng", "a:1", "of a test");
    EXPECT_TRUE(files) << files.error().message;
    files_ = std::move(*files);
  }
  ~CaptureFile() override { std::filesystem::remove_all(directory_); }

  // The packets of a file.
  std::vector<Buffer> packets(std::size_t number) {
    std::ifstream in(CaptureFiles::name_of(directory_ + "/x.pcapng", number), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto read = io::read_capture(std::as_bytes(std::span(text)));
    std::vector<Buffer> out;
    EXPECT_TRUE(read) << read.error().message;
    if (!read) return out;
    EXPECT_EQ(read->others, 0u);
    for (const io::CaptureRecord& record : read->records)
      out.emplace_back(record.packet.begin(), record.packet.end());
    return out;
  }

  std::string directory_;
  std::unique_ptr<CaptureFiles> files_;
};

TEST_F(CaptureFile, IsThereBeforeTheFirstPacket) {
  EXPECT_EQ(CaptureFiles::name_of("/d/x.pcapng", 3), "/d/x-3.pcapng");
  EXPECT_EQ(packets(0), std::vector<Buffer>{});
}

TEST_F(CaptureFile, HasWhatWasWrittenAfterAFlush) {
  ASSERT_TRUE(files_->begin(0));
  ASSERT_TRUE(files_->write(packet(1), {}, Time{}));
  ASSERT_TRUE(files_->write(packet(2), {}, Time{}));
  ASSERT_TRUE(files_->flush());
  EXPECT_EQ(packets(0), (std::vector<Buffer>{packet(1), packet(2)}));
  ASSERT_TRUE(files_->begin(1));
  ASSERT_TRUE(files_->write(packet(3), {}, Time{}));
  // The first one anew.
  ASSERT_TRUE(files_->begin(0));
  EXPECT_EQ(packets(0), std::vector<Buffer>{});
  EXPECT_EQ(packets(1), std::vector<Buffer>{packet(3)});
}

TEST_F(CaptureFile, HasCrcsOfPacketsThatCameWithout) {
  Buffer bare = packet(1);
  std::fill(bare.end() - 6, bare.end(), std::byte{0});
  ASSERT_TRUE(files_->begin(0));
  ASSERT_TRUE(files_->write(bare, {.sealed = false}, Time{}));
  ASSERT_TRUE(files_->flush());
  EXPECT_EQ(packets(0), std::vector<Buffer>{packet(1)});
}

TEST_F(CaptureFile, CannotBeWhereThereIsNoDirectory) {
  const auto files = CaptureFiles::open(directory_ + "/none/x.pcapng", "a:1", "");
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().message, HasSubstr(directory_ + "/none/x-0.pcapng"));
}

TEST_F(CaptureFile, IsNotWrittenWhenItCannotBegin) {
  std::filesystem::remove_all(directory_);
  ASSERT_TRUE(files_->begin(0));  // it is open already
  EXPECT_FALSE(files_->begin(1));
  EXPECT_FALSE(files_->write(packet(1), {}, Time{}));
}

}  // namespace
}  // namespace weft::daemon
