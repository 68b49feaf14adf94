// SPDX-License-Identifier: Apache-2.0
#include "io/pcapng_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace weft::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class WrittenCapture : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "weft-pcapng-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = pattern + "/capture.pcapng";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
  std::string path_;
};

const std::vector<CaptureInterface> kInterfaces{
    {"weft_lo", "loopback", LinkType::kEthernet},
    {"a:1", "port 1 of node a", LinkType::kErf},
};

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values)
    bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  std::vector<std::byte> bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

std::uint32_t u32(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  }
  return value;
}

struct RawBlock {
  std::uint32_t type = 0;
  std::vector<std::byte> body;
};

// A reader of its own, so that the writer is not its own judge. Fails on any misplaced length.
std::vector<RawBlock> blocks_of(const std::vector<std::byte>& file) {
  std::vector<RawBlock> blocks;
  std::size_t at = 0;
  while (at < file.size()) {
    const std::size_t length = at + 12 <= file.size() ? u32(file, at + 4) : 0;
    if (length < 12 || length % 4 != 0 || at + length > file.size() ||
        u32(file, at + length - 4) != length) {
      ADD_FAILURE() << "no whole block at offset " << at;
      break;
    }
    const Bytes body = Bytes(file).subspan(at + 8, length - 12);
    blocks.push_back({u32(file, at), {body.begin(), body.end()}});
    at += length;
  }
  return blocks;
}

// Standard output of tshark over the capture, one line per packet, fields parted by '|'.
std::vector<std::string> tshark(const std::string& path, const std::string& fields) {
  const std::string command = "tshark -r '" + path + "' -T fields -E separator='|' " + fields;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  EXPECT_NE(pipe, nullptr);
  std::vector<std::string> lines;
  char line[4096];
  while (pipe && fgets(line, sizeof line, pipe.get()) != nullptr) {
    lines.emplace_back(line);
    if (lines.back().ends_with('\n')) lines.back().pop_back();
  }
  return lines;
}

// Ethernet, IPv4, UDP from port 4660 to 22136 with 4 bytes of payload.
std::vector<std::byte> ethernet_frame() {
  return bytes_of({0x02, 0,    0,    0,    0,   2,  0x02, 0, 0,  0,  0,    1,
                   0x08, 0,                                                       // MACs, IPv4
                   0x45, 0,    0,    32,   0,   0,  0,    0, 64, 17, 0x3C, 0xCB,  // 20-byte header
                   127,  0,    0,    1,    127, 0,  0,    1,                      // addresses
                   0x12, 0x34, 0x56, 0x78, 0,   12, 0,    0, 1,  2,  3,    4});
}

// UD SEND-only on VL 0 from LID 3 to LID 5, QP 0x12, PSN 0x345678; the CRCs are not checked.
std::vector<std::byte> infiniband_packet() {
  return bytes_of({0x00, 0x02, 0,    5,    0, 9, 0, 3,                             // LRH
                   0x64, 0x00, 0xFF, 0xFF, 0, 0, 0, 0x12, 0,    0x34, 0x56, 0x78,  // BTH
                   0x80, 0x01, 0,    0,    0, 0, 0, 7,                             // DETH
                   0xDE, 0xAD, 0xBE, 0xEF, 1, 2, 3, 4,    0xAA, 0xBB});            // data, CRCs
}

TEST_F(WrittenCapture, IsReadByTsharkWithNamesTimesCommentsAndBothLinkTypes) {
  auto file = PcapngFile::create(path_, kInterfaces, "made by a test");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const auto frame = ethernet_frame();
  const Duration time = 1'700'000'000s + 123'456'789ns;
  const std::vector<Bytes> pieces{Bytes(frame).first(14), Bytes(frame).subspan(14)};
  ASSERT_TRUE(file->write({0, time, pieces, "first packet"}).has_value());
  const auto packet = infiniband_packet();
  const auto header = erf_infiniband_header(time + 1ns, packet.size());
  const std::vector<Bytes> erf{header, packet};
  ASSERT_TRUE(file->write({1, time + 1ns, erf, {}}).has_value());
  ASSERT_TRUE(file->flush().has_value());

  EXPECT_THAT(tshark(path_,
                     "-e frame.interface_name -e frame.time_epoch -e frame.comment "
                     "-e udp.srcport -e data.data"),
              ElementsAre("weft_lo|1700000000.123456789|first packet|4660|01020304",
                          testing::StartsWith("a:1|1700000000.12345679")));
  EXPECT_THAT(tshark(path_,
                     "-Y infiniband -e infiniband.lrh.dlid -e infiniband.lrh.slid "
                     "-e infiniband.bth.destqp -e infiniband.bth.psn -e erf.types.type"),
              ElementsAre("5|3|0x000012|3430008|21"));
}

TEST_F(WrittenCapture, ConsistsOfWholeBlocksWithPaddedDataAndTrueLengths) {
  {
    auto file = PcapngFile::create(path_, kInterfaces);
    ASSERT_TRUE(file.has_value());
    for (std::size_t size = 0; size < 9; ++size) {
      const std::vector<std::byte> data(size, std::byte{0x5A});
      const std::vector<Bytes> pieces{data};
      ASSERT_TRUE(file->write({1, Duration{5'000'000'007}, pieces, {}}).has_value());
    }
  }  // the destructor flushes
  const auto blocks = blocks_of(read_file(path_));
  ASSERT_EQ(blocks.size(), 3u + 9u);
  EXPECT_EQ(blocks[0].type, 0x0A0D0D0Au);
  EXPECT_EQ(u32(blocks[0].body, 0), 0x1A2B3C4Du);
  EXPECT_EQ(blocks[1].type, 1u);
  EXPECT_EQ(u32(blocks[1].body, 0), 1u);
  EXPECT_EQ(u32(blocks[2].body, 0), 197u);
  for (std::size_t size = 0; size < 9; ++size) {
    const RawBlock& block = blocks[3 + size];
    EXPECT_EQ(block.type, 6u);
    EXPECT_EQ(u32(block.body, 0), 1u);
    EXPECT_EQ(u32(block.body, 4), 1u);  // 5,000,000,007 = 1 * 2^32 + 705,032,711
    EXPECT_EQ(u32(block.body, 8), 705'032'711u);
    EXPECT_EQ(u32(block.body, 12), size);
    EXPECT_EQ(u32(block.body, 16), size);
    EXPECT_EQ(block.body.size(), 20 + (size + 3) / 4 * 4);
  }
}

TEST_F(WrittenCapture, KeepsTheTrueLengthOfAPacketThatItCuts) {
  auto file = PcapngFile::create(path_, kInterfaces);
  const std::vector<std::byte> half(40'000, std::byte{1});
  const std::vector<Bytes> pieces{half, half};
  ASSERT_TRUE(file->write({0, 1s, pieces, {}}).has_value());
  ASSERT_TRUE(file->flush().has_value());
  const auto blocks = blocks_of(read_file(path_));
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(u32(blocks[3].body, 12), kCaptureSnapLength);
  EXPECT_EQ(u32(blocks[3].body, 16), 80'000u);
}

TEST_F(WrittenCapture, TellsAnAppenderTheInterfacesByName) {
  ASSERT_TRUE(PcapngFile::create(path_, kInterfaces, "x").has_value());
  const auto file = PcapngFile::open_append(path_);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_EQ(file->interfaces().size(), 2u);
  EXPECT_EQ(file->interfaces()[1].description, "port 1 of node a");
  EXPECT_EQ(file->interfaces()[1].link_type, LinkType::kErf);
  EXPECT_EQ(file->interface_id("weft_lo"), 0u);
  EXPECT_EQ(file->interface_id("a:1"), 1u);
  EXPECT_EQ(file->interface_id("b:1"), std::nullopt);
}

TEST_F(WrittenCapture, TakesWholeBlocksFromSeveralProcessesAtOnce) {
  ASSERT_TRUE(PcapngFile::create(path_, kInterfaces).has_value());
  constexpr int kProcesses = 4;
  constexpr int kPackets = 500;
  std::vector<pid_t> children;
  for (int who = 0; who < kProcesses; ++who) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto file = PcapngFile::open_append(path_);
      bool good = file.has_value();
      for (int i = 0; good && i < kPackets; ++i) {
        const std::vector<std::byte> data(static_cast<std::size_t>(200 + i),
                                          static_cast<std::byte>(who));
        const std::vector<Bytes> pieces{data};
        good = file->write({0, Duration{i}, pieces, {}}).has_value();
      }
      _exit(good && file->flush().has_value() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto blocks = blocks_of(read_file(path_));
  EXPECT_EQ(blocks.size(), 3u + kProcesses * kPackets);
  for (std::size_t i = 3; i < blocks.size(); ++i) {
    const Bytes data = Bytes(blocks[i].body).subspan(20, u32(blocks[i].body, 12));
    EXPECT_TRUE(std::all_of(data.begin(), data.end(), [&](std::byte b) { return b == data[0]; }));
  }
}

TEST_F(WrittenCapture, RefusesToAppendToWhatIsNoCapture) {
  EXPECT_EQ(PcapngFile::open_append(path_).error().code, std::errc::no_such_file_or_directory);
  ASSERT_TRUE(PcapngFile::create(path_, kInterfaces).has_value());
  const auto whole = read_file(path_);
  // Cut anywhere, or with any byte of the block lengths changed: an error or fewer interfaces, and
  // never a read beyond the end.
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(whole.data()), static_cast<std::streamsize>(size));
    const auto file = PcapngFile::open_append(path_);
    if (file) {
      EXPECT_LT(file->interfaces().size(), 2u);
    } else {
      EXPECT_THAT(file.error().message, HasSubstr(path_ + ": offset "));
    }
  }
}

TEST_F(WrittenCapture, RefusesInterfacesWithoutNameOrWithTheSameName) {
  EXPECT_FALSE(PcapngFile::create(path_, {}).has_value());
  const std::vector<CaptureInterface> twins{{"a", "", LinkType::kErf}, {"a", "", LinkType::kErf}};
  const auto file = PcapngFile::create(path_, twins);
  ASSERT_FALSE(file.has_value());
  EXPECT_THAT(file.error().message, HasSubstr("two interfaces named 'a'"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(WrittenCapture, RefusesAPacketOfAnUnknownInterface) {
  auto file = PcapngFile::create(path_, kInterfaces);
  EXPECT_FALSE(file->write({2, 1s, {}, {}}).has_value());
}

TEST(CaptureDevice, SaysWhenTheDiskIsFullAndKeepsItsMemoryBounded) {
  const auto file = PcapngFile::create("/dev/full", kInterfaces);
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, std::errc::no_space_on_device);
  EXPECT_THAT(file.error().message, HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace weft::io
