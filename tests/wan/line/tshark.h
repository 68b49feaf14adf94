// SPDX-License-Identifier: Apache-2.0
// What tshark, which nobody here wrote, reads in frames of a line.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "line_stage.h"
#include "wire/endian.h"

namespace weft::wan {

class LineTsharkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v tshark >/dev/null") != 0) GTEST_SKIP() << "tshark is missing";
    std::string name = std::filesystem::temp_directory_path() / "weft-line-tshark.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // What tshark prints with `arguments` of a capture of these frames.
  std::string read(unsigned link_type, const std::vector<Packet>& frames,
                   const std::string& arguments) {
    const std::string path = folder_ / "frames.pcap";
    std::ofstream file(path, std::ios::binary);
    const auto word = [&file](std::uint32_t value) {
      std::array<std::byte, 4> octets{};
      wire::store_le32(octets.data(), value);
      file.write(reinterpret_cast<const char*>(octets.data()), octets.size());
    };
    for (const std::uint32_t value : {0xA1B2C3D4U, 0x00040002U, 0U, 0U, 0x40000U, link_type})
      word(value);
    for (const Packet& frame : frames) {
      const auto size = static_cast<std::uint32_t>(frame.size());
      for (const std::uint32_t value : {1U, 0U, size, size})
        word(value);
      file.write(reinterpret_cast<const char*>(frame.data()), size);
    }
    file.close();
    return output_of("tshark -r " + path + " " + arguments);
  }
  static std::string output_of(const std::string& command) {
    std::FILE* const output = popen((command + " 2>/dev/null").c_str(), "r");
    std::string text;
    for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output))
      text += static_cast<char>(c);
    EXPECT_EQ(pclose(output), 0) << command;
    return text;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace weft::wan
