// SPDX-License-Identifier: Apache-2.0
#include "io/capture_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "io/pcapng_writer.h"
#include "io/text_file.h"

namespace weft::io {
namespace {

using testing::HasSubstr;

std::string file_of(const std::string& path) {
  auto text = read_text_file(path, 1 << 24);
  EXPECT_TRUE(text) << text.error().message;
  return text ? *text : "";
}

TEST(CaptureReader, ReadsAGenuineCaptureOfALink) {
  const std::string file = file_of(WEFT_TEST_DATA "/ib/infiniband.pcap");
  const auto capture = read_capture(std::as_bytes(std::span(file)));
  ASSERT_TRUE(capture) << capture.error().message;
  ASSERT_EQ(capture->records.size(), 43u);
  EXPECT_EQ(capture->others, 0u);
  for (const CaptureRecord& record : capture->records) {
    // PktLen of the LRH, in words, and the VCRC.
    ASSERT_GE(record.packet.size(), 8u);
    const auto words = (static_cast<std::size_t>(record.packet[4]) & 7) << 8 |
                       static_cast<std::size_t>(record.packet[5]);
    EXPECT_EQ(record.packet.size(), words * 4 + 2);
    EXPECT_TRUE(record.whole);
  }
}

TEST(CaptureReader, ReadsWhatTheWriterWrites) {
  const std::string path = testing::TempDir() + "capture_reader_test.pcapng";
  const std::array<CaptureInterface, 2> interfaces{
      {{"eth", "", LinkType::kEthernet}, {"ib", "", LinkType::kErf}}};
  auto writer = PcapngFile::create(path, interfaces, "a comment");
  ASSERT_TRUE(writer);
  const std::array<std::byte, 30> packet{std::byte{7}};
  const Duration time = 1'700'000'000s + 123'456'789ns;
  const auto erf = erf_infiniband_header(time, packet.size());
  const std::array<Bytes, 2> pieces{Bytes(erf), Bytes(packet)};
  const std::array<Bytes, 1> frame{Bytes(packet)};
  ASSERT_TRUE(writer->write({.interface_id = 0, .timestamp = time, .data = frame, .comment = {}}));
  ASSERT_TRUE(writer->write({.interface_id = 1, .timestamp = time, .data = pieces, .comment = {}}));
  ASSERT_TRUE(writer->flush());
  const std::string file = file_of(path);
  std::remove(path.c_str());
  const auto capture = read_capture(std::as_bytes(std::span(file)));
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(capture->others, 1u);
  EXPECT_EQ(capture->interfaces, (std::vector<std::string>{"eth", "ib"}));
  ASSERT_EQ(capture->records.size(), 1u);
  EXPECT_EQ(capture->records[0].interface, 1u);
  EXPECT_EQ(capture->records[0].timestamp, time);
  EXPECT_TRUE(std::equal(packet.begin(), packet.end(), capture->records[0].packet.begin(),
                         capture->records[0].packet.end()));
}

TEST(CaptureReader, SaysWhereAFileIsWrong) {
  const std::string file = file_of(WEFT_TEST_DATA "/ib/infiniband.pcap");
  const auto error = [](std::string_view text) {
    const auto capture = read_capture(std::as_bytes(std::span(text)));
    EXPECT_FALSE(capture);
    return capture ? "" : capture.error().message;
  };
  EXPECT_EQ(error("ab"), "byte 0: neither pcapng nor pcap: it is too short");
  EXPECT_EQ(error("some text"), "byte 0: neither pcapng nor pcap");
  EXPECT_EQ(error(std::string_view(file).substr(0, 20)), "byte 0: the file ends inside its header");
  EXPECT_EQ(error(std::string_view(file).substr(0, 50)), "byte 24: the file ends inside a record");
}

}  // namespace
}  // namespace weft::io
