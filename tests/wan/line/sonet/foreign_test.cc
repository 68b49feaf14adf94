// SPDX-License-Identifier: Apache-2.0
// What others read in frames: tshark, for the levels that it knows, and for the highest one
// tests/tools/check_sonet.py, which was written apart from src/.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "sonet_stage.h"
#include "wan/line/sonet/add_drop.h"
#include "wan/line/sonet/scrambler.h"

namespace weft::wan::sonet {
namespace {

class SonetForeign : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "weft-sonet.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static void write(const std::string& name, Bytes octets) {
    std::ofstream file(name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(octets.data()),
               static_cast<std::streamsize>(octets.size()));
    ASSERT_TRUE(file.good());
  }
  static std::vector<std::byte> read(const std::string& name) {
    std::vector<std::byte> octets(std::filesystem::file_size(name));
    std::ifstream(name, std::ios::binary)
        .read(reinterpret_cast<char*>(octets.data()), static_cast<std::streamsize>(octets.size()));
    return octets;
  }
  static std::string output_of(const std::string& command, int& status) {
    std::FILE* const output = popen(command.c_str(), "r");
    std::string text;
    for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output))
      text += static_cast<char>(c);
    status = pclose(output);
    return text;
  }
  // The checker's words on a line, and the payload that it takes out of it.
  std::string check(Level level, Bytes line) {
    write(path("line"), line);
    int status = 0;
    const std::string text = output_of("python3 " WEFT_TEST_DATA "/../tools/check_sonet.py " +
                                           std::to_string(geometry(level).n) + ' ' + path("line") +
                                           ' ' + path("payload"),
                                       status);
    EXPECT_EQ(status, 0) << text;
    return text;
  }

  std::filesystem::path folder_;
};

TEST_F(SonetForeign, AnIndependentCheckerFindsStm64RightAndItsPayloadTheSame) {
  TerminalOptions options{.level = Level::kStm64, .label = label::kGfp};
  options.pointer = 300;
  End end(options);
  const std::string text =
      check(options.level, filled(end.terminal, 10 * geometry(options.level).frame()));
  EXPECT_NE(text.find("\"frames\": 10"), std::string::npos) << text;
  EXPECT_NE(text.find("\"c2\": 27"), std::string::npos) << text;
  const auto payload = read(path("payload"));
  EXPECT_GE(payload.size(), 8 * geometry(options.level).payload());
  EXPECT_TRUE(place_of(payload));
}

TEST_F(SonetForeign, ItFollowsThePointersOfAMultiplexerBothWays) {
  constexpr Level kLevel = Level::kStm4;
  constexpr std::size_t kFrame = geometry(kLevel).frame();
  for (const bool is_faster : {true, false}) {
    End west({.level = kLevel});
    AddDropMultiplexer middle({.level = kLevel});
    std::vector<std::byte> line;
    for (int i = 0; i < 1500; ++i) {
      middle.from(Side::kWest).take(filled(west.terminal, is_faster ? kFrame + 2 : kFrame - 2));
      const auto out = filled(middle.to(Side::kEast), kFrame);
      if (i >= 1460) line.insert(line.end(), out.begin(), out.end());
    }
    const std::string text = check(kLevel, line);
    // Two octets of 9,720 in 40 frames, and 12 of a container are a step.
    const std::string step = is_faster ? "\"decrements\": " : "\"increments\": ";
    const std::size_t at = text.find(step);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_NEAR(std::stoi(text.substr(at + step.size())), 40 * 2 * 261 / 270 / 12, 1) << text;
    EXPECT_TRUE(place_of(read(path("payload"))));
  }
}

// A capture of one packet, of a link type that users may give a meaning.
std::vector<std::byte> capture_of(Bytes packet) {
  constexpr std::uint32_t kUser0 = 147;
  const auto size = static_cast<std::uint32_t>(packet.size());
  const std::array<std::uint32_t, 10> head{0xA1B2C3D4, 4U << 16 | 2U, 0,   0, 1U << 18, kUser0, 0,
                                           0,          size,          size};
  const Bytes octets = std::as_bytes(std::span(head));
  std::vector<std::byte> file(octets.begin(), octets.end());
  file.insert(file.end(), packet.begin(), packet.end());
  return file;
}

TEST_F(SonetForeign, TsharkReadsTheOverheadOfTheLowerLevels) {
  if (std::system("command -v tshark >/dev/null") != 0) GTEST_SKIP() << "tshark is missing";
  const std::array<std::pair<Level, std::string_view>, 3> levels{
      {{Level::kStm1, "OC-3"}, {Level::kStm4, "OC-12"}, {Level::kStm16, "OC-48"}}};
  for (const auto& [level, rate] : levels) {
    TerminalOptions options{.level = level, .section_trace = trace_of(TraceFormat::k16, "x")};
    options.path_trace = trace_of(TraceFormat::k16, "xxxxxxxxxxxxxxx");
    End end(options);
    End other(options);
    (void)filled(end.terminal, 2 * geometry(level).frame());
    // Something to tell of: errors, and no signal.
    lead(other, end, 5, level);
    auto wrong = filled(other.terminal, geometry(level).frame());
    for (std::size_t i = 0; i < 3; ++i)
      wrong[geometry(level).at(5, 9) + i] ^= std::byte{1};
    end.terminal.take(wrong);
    lead(other, end, 1, level);
    end.terminal.lose_signal();
    const auto line = filled(end.terminal, geometry(level).frame());
    std::vector<std::byte> plain(line.size());
    scramble(line, scrambler_sequence(level), plain);
    write(path("frame.pcap"), capture_of(plain));
    int status = 0;
    const std::string text = output_of(
        "tshark -r " + path("frame.pcap") + " -o sdh.data.rate:" + std::string(rate) +
            " -o 'uat:user_dlts:\"User 0 (DLT=147)\",\"sdh\",\"0\",\"\",\"0\",\"\"'"
            " -T fields -E separator=/s -e sdh.a1 -e sdh.a2 -e sdh.j0 -e sdh.b1 -e sdh.h1 -e "
            "sdh.h2 -e sdh.au -e sdh.b2 -e sdh.k2 -e sdh.m1 -e sdh.s1 -e sdh.j1 2>/dev/null",
        status);
    EXPECT_EQ(status, 0);
    const Geometry g = geometry(level);
    const auto hex = [&](std::size_t place, std::size_t size) {
      std::string digits;
      for (const std::byte octet : Bytes(plain).subspan(place, size)) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        digits += kDigits[std::to_integer<std::size_t>(octet >> 4)];
        digits += kDigits[std::to_integer<std::size_t>(octet & std::byte{0xF})];
      }
      return digits;
    };
    const auto thirds = [&](std::string_view digits) {
      std::string text_of_all;
      for (std::size_t i = 0; i < g.thirds(); ++i)
        text_of_all += digits;
      return text_of_all;
    };
    EXPECT_EQ(text, thirds("f6") + ' ' + thirds("28") + " 0x20 0x" + hex(g.at(1, 0), 1) +
                        " 0x6a 0x0a 522 " + hex(g.at(4, 0), g.thirds()) + " 0x06 3 0x0f 120\n")
        << rate;
  }
}

}  // namespace
}  // namespace weft::wan::sonet
