// SPDX-License-Identifier: Apache-2.0
// Lab files of which one line says something else: each is a lab, or is refused with file, line and
// key.
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "fabric/lab_file.h"

namespace weft::fabric {
namespace {

const std::vector<std::string> kLines = {
    "name = \"lab\"",
    "[defaults]",
    "vls = 8",
    "mtu = 4096",
    "width = \"4x\"",
    "speed = \"qdr\"",
    "[switch.s1]",
    "ports = 4",
    "description = \"the first\"",
    "guid = \"0x0002c90300a20000\"",
    "linear_entries = 1024",
    "multicast_entries = 64",
    "enhanced_port0 = true",
    "[switch.s2]",
    "ports = 4",
    "port_guid = \"0x0002c90300a20004\"",
    "vendor = 0x2c9",
    "[node.a]",
    "ports = 2",
    "port_guids = [\"0x10\", \"0x20\"]",
    "revision = 7",
    "[node.b]",
    "mtu = 2048",
    "[[link]]",
    "ends = [\"a:1\", \"s1:1\"]",
    "delay = \"2ms\"",
    "loss = \"0.1%\"",
    "seed = 7",
    "[[link]]",
    "name = \"trunk\"",
    "ends = [\"s1:4\", \"s2:4\"]",
    "rate = \"2.5Gb/s\"",
    "bit_errors = 1e-12",
    "up = false",
    "[[link]]",
    "ends = [\"b\", \"s2:1\"]",
};

// Wrong at most places, and right at some.
constexpr std::array kValues = {"0",
                                "-1",
                                "1",
                                "15",
                                "16",
                                "255",
                                "254",
                                "65536",
                                "4096",
                                "1e99",
                                "nan",
                                "9223372036854775807",
                                "true",
                                "[]",
                                "{}",
                                "\"\"",
                                "\"x\"",
                                "\"4x\"",
                                "\"hdr\"",
                                "\"0x0\"",
                                "\"0x10\"",
                                "\"-2ms\"",
                                "\"101%\"",
                                "\"0Gb/s\"",
                                "[1, 2]",
                                "[\"a:1\"]",
                                "\"trunk\"",
                                "[\"a:1\", \"s1:4\"]",
                                "[\"a:1\", \"a:1\"]",
                                "[\"nobody:1\", \"s2:2\"]",
                                "[\"a:3\", \"s2:2\"]",
                                "[\"s1:0\", \"s2:2\"]",
                                "2026-11-21",
                                "\"a/b\"",
                                "[\"0x10\", \"0x10\"]"};

struct Variant {
  std::string text;
  std::size_t line = 0;  // that says something else, from 1
  std::string key;       // of it, the last word
};

Variant some_variant(std::uint64_t seed) {
  Random random(seed);
  std::size_t line = random.below(kLines.size());
  while (kLines[line].find(" = ") == std::string::npos)
    line = random.below(kLines.size());
  std::string key = kLines[line].substr(0, kLines[line].find(' '));
  std::string value = kLines[line].substr(kLines[line].find(" = ") + 3);
  if (random.chance(0.3)) {
    key[random.below(key.size())] = static_cast<char>('a' + random.below(26));
  } else {
    value = kValues[random.below(kValues.size())];
  }
  Variant variant{.text = {}, .line = line + 1, .key = key};
  for (std::size_t i = 0; i < kLines.size(); ++i)
    variant.text += (i == line ? key + " = " + value : kLines[i]) + "\n";
  return variant;
}

// "lab.toml:7: switch.leaf.ports: must be a number from 1 to 254"
struct Refusal {
  std::size_t line = 0;
  std::string_view key;  // the last of them: ports
};

std::optional<Refusal> parse_refusal(std::string_view message) {
  constexpr std::string_view kFile = "lab.toml:";
  if (!message.starts_with(kFile)) return std::nullopt;
  message.remove_prefix(kFile.size());
  Refusal out;
  const auto number = std::from_chars(message.data(), message.data() + message.size(), out.line);
  if (number.ec != std::errc{}) return std::nullopt;
  message.remove_prefix(static_cast<std::size_t>(number.ptr - message.data()));
  if (!message.starts_with(": ")) return std::nullopt;
  message.remove_prefix(2);
  const std::size_t end = message.find(": ");
  if (end == 0 || end == std::string_view::npos || end + 2 == message.size()) return std::nullopt;
  const std::string_view keys = message.substr(0, end);
  if (keys.find_first_of(" \t") != std::string_view::npos) return std::nullopt;
  out.key = keys.substr(keys.rfind('.') + 1);  // npos + 1 is 0: there is one only
  if (out.key.empty()) return std::nullopt;
  return out;
}

TEST(LabVariants, AreLabsOrRefusedWithFileLineAndKey) {
  std::size_t refused = 0, at_their_line = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Variant variant = some_variant(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", line " + std::to_string(variant.line));
    const auto lab = parse_lab(variant.text, "lab.toml");
    if (lab) {
      const auto again = parse_lab(write_lab(*lab), "lab.toml");
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, *lab);
      continue;
    }
    ++refused;
    const auto refusal = parse_refusal(lab.error().message);
    ASSERT_TRUE(refusal) << lab.error().message;
    // What is wrong may be what another line makes of it: a port that is no longer there.
    EXPECT_LE(refusal->line, kLines.size());
    if (refusal->line != variant.line) continue;
    ++at_their_line;
    EXPECT_EQ(refusal->key, variant.key) << lab.error().message;
  }
  EXPECT_GE(refused, 120u);
  EXPECT_GE(at_their_line, 100u);
}

}  // namespace
}  // namespace weft::fabric
