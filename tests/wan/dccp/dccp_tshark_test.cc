// SPDX-License-Identifier: Apache-2.0
// What tshark, which nobody here wrote, reads in all that two ends say to each other.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "dccp_stage.h"
#include "io/pcapng_writer.h"
#include "wan/encapsulation/stack.h"

namespace weft::wan::dccp {
namespace {

// In Ethernet, as tshark reads it.
std::vector<std::byte> in_ethernet(std::size_t from, Bytes packet) {
  const Ends ends{.local = address(from),
                  .remote = address(1 - from),
                  .local_mac = {2, 0, 0, 0, 0, 1},
                  .remote_mac = {2, 0, 0, 0, 0, 2}};
  const auto stack = Stack::parse("dccp/ipv6/ethernet", ends);
  EXPECT_TRUE(stack);
  const std::array<Bytes, 1> pieces{packet};
  OutPacket out(pieces);
  EXPECT_TRUE(stack->wrap(out));
  std::vector<std::byte> bytes;
  for (const Bytes piece : out.pieces())
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

std::map<std::string, int> lines_of(const std::string& command) {
  std::FILE* const output = popen((command + " 2>/dev/null").c_str(), "r");
  std::map<std::string, int> lines;
  std::string line;
  for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    ++lines[std::exchange(line, {})];
  }
  EXPECT_EQ(pclose(output), 0) << command;
  return lines;
}

TEST(DccpTshark, ReadsAWholeConnectionWithoutComplaint) {
  if (std::system("command -v tshark >/dev/null") != 0) GTEST_SKIP() << "tshark is missing";
  std::string name = std::filesystem::temp_directory_path() / "weft-dccp.XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const std::filesystem::path folder = name;
  const std::string path = folder / "dccp.pcapng";
  auto file = io::PcapngFile::create(
      path, std::array{io::CaptureInterface{.name = "w", .description = {}}});
  ASSERT_TRUE(file);
  World world(31, {.loss = 0.02, .reorder = 0.05}, true);
  int written = 0;
  world.tap = [&](std::size_t from, Bytes packet) {
    const auto bytes = in_ethernet(from, packet);
    const std::array<Bytes, 1> data{bytes};
    EXPECT_TRUE(file->write({.timestamp = world.now - Time{}, .data = data, .comment = {}}));
    ++written;
  };
  ASSERT_TRUE(world.connect());
  world.run(2s, [&] {
    world.fill(0, 300);
    world.fill(1, 300);
  });
  world.path(1).stop(world.now);
  world.run(200ms);
  ASSERT_TRUE(file->flush());
  const auto rows = lines_of("tshark -r " + path +
                             " -T fields -E separator=/s -e dccp.checksum.status "
                             "-e _ws.malformed -e _ws.expert.severity");
  int good = 0;
  for (const auto& [row, count] : rows)
    good += row.starts_with("1") && row.find("8388608") == std::string::npos ? count : 0;
  EXPECT_EQ(good, written) << rows.begin()->first;
  const auto types = lines_of("tshark -r " + path + " -T fields -e dccp.type");
  for (const char* const type : {"0", "1", "2", "3", "4", "5", "6", "7"})
    EXPECT_TRUE(types.contains(type)) << type;
  const auto coverages = lines_of("tshark -r " + path + " -T fields -e dccp.cscov");
  EXPECT_EQ(coverages.size(), 2u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weft::wan::dccp
