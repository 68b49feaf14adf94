// SPDX-License-Identifier: Apache-2.0
// What a decoder that was written from the standard's tables, in another language, reads of a line:
// tests/tools/check_pcs.py. And what is said of it for a person.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "lane_words.h"
#include "wan/line/pcs/explain.h"
#include "wan/line/pcs/set_message.h"

namespace weft::wan {
namespace {

using ::testing::HasSubstr;

std::string hex(Bytes octets) {
  std::string out;
  for (const std::byte octet : octets) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += kDigits[std::to_integer<unsigned>(octet) >> 4];
    out += kDigits[std::to_integer<unsigned>(octet) & 15];
  }
  return out;
}

std::vector<std::string> decoded(const Octets& line, const std::string& options) {
  std::string name = std::filesystem::temp_directory_path() / "weft-pcs.XXXXXX";
  const int fd = mkstemp(name.data());
  EXPECT_GE(fd, 0);
  close(fd);
  std::ofstream(name, std::ios::binary)
      .write(reinterpret_cast<const char*>(line.data()), static_cast<std::streamsize>(line.size()));
  const std::string command =
      "python3 " WEFT_TEST_DATA "/../tools/check_pcs.py " + options + " " + name;
  std::FILE* const output = popen(command.c_str(), "r");
  std::vector<std::string> lines;
  std::string text;
  for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) {
    if (c == '\n') {
      lines.push_back(std::exchange(text, {}));
    } else {
      text += static_cast<char>(c);
    }
  }
  pclose(output);
  std::filesystem::remove(name);
  return lines;
}

TEST(IndependentDecoder, ReadsEthernetAsItWasSent) {
  Random random(41);
  for (const BitOrder order : {BitOrder::kLeastFirst, BitOrder::kMostFirst}) {
    SendingEnd from(LineFrames::kEthernet, order);
    Octets line = from.octets(700);
    std::vector<std::string> sent;
    for (std::size_t size = 60; size < 76; ++size) {
      from.queue.packets.push_back(random_octets(random, size));
      sent.push_back("frame " + hex(from.queue.packets.back()));
    }
    from.frames.put({OrderedSet::Code::kSequence, kRemoteFaultValue});
    sent.insert(sent.begin(), "set 9C 000002");
    const Octets rest = from.octets(2400);
    line.insert(line.end(), rest.begin(), rest.end());
    EXPECT_EQ(
        decoded(line, order == BitOrder::kMostFirst ? "--ethernet --most-first" : "--ethernet"),
        sent);
    flip_bit(line, 8 * 1000);
    const auto damaged =
        decoded(line, order == BitOrder::kMostFirst ? "--ethernet --most-first" : "--ethernet");
    EXPECT_THAT(damaged, ::testing::Contains(HasSubstr("error")));
  }
}

TEST(Explanation, NamesTheLanesOfEachBlock) {
  SendingEnd from;
  Octets line = from.octets(33);
  from.frames.put({OrderedSet::Code::kSequence, kLocalFaultValue});
  from.queue.packets.emplace_back(60, std::byte{0xAB});
  const Octets rest = from.octets(132);
  line.insert(line.end(), rest.begin(), rest.end());
  const auto fields = explain_blocks(line, BitOrder::kLeastFirst);
  std::vector<std::string> said;
  for (const FrameField& field : fields)
    said.push_back(field.name + " = " + field.value);
  ASSERT_GT(said.size(), 20U);
  EXPECT_EQ(said[0], "block 0 header = 10: control");
  EXPECT_EQ(said[1], "block 1 header = 10: control");
  EXPECT_EQ(said[2], "block 1 type = 1E");
  EXPECT_EQ(said[3], "block 1 lanes = C C C C C C C C");
  EXPECT_THAT(said, ::testing::IsSupersetOf({"block 4 lanes = O(sequence) 00 00 01 S 55 55 55",
                                             "block 5 lanes = 55 55 55 D5 AB AB AB AB",
                                             "block 5 header = 01: data"}));
  EXPECT_EQ(fields[1].at, 8U);
  EXPECT_EQ(fields[1].size, 9U);
  // From anywhere.
  const auto later = explain_blocks(without_bits(line, 0, 13), BitOrder::kLeastFirst);
  ASSERT_FALSE(later.empty());
  EXPECT_EQ(later.front().at, 53U / 8);
  EXPECT_TRUE(explain_blocks(Octets(100), BitOrder::kLeastFirst).empty());
  EXPECT_TRUE(explain_blocks(Octets(3), BitOrder::kLeastFirst).empty());
}

TEST(SetMessage, IsThereWhenAllItsSetsAreAndTheCheckIsRight) {
  SetMessage message{.kind = 5};
  for (std::size_t i = 0; i < SetMessage::kSize; ++i)
    message.content[i] = static_cast<std::byte>(0x11 * i);
  const auto sets = message.sets();
  EXPECT_EQ(sets[0], (OrderedSet{OrderedSet::Code::kSignal, 0x50'0011}));
  EXPECT_EQ(sets[3], (OrderedSet{OrderedSet::Code::kSignal, 0x53'6677}));
  SetMessageReader reader;
  const auto push_all = [&](auto change) {
    std::optional<SetMessage> last;
    for (std::size_t n = 0; n < sets.size(); ++n) {
      OrderedSet set = sets[n];
      if (change(n, set)) last = reader.push(set);
    }
    return last;
  };
  EXPECT_EQ(push_all([](std::size_t, OrderedSet&) { return true; }), message);
  EXPECT_EQ(reader.lost(), 0U);
  for (std::size_t missing = 0; missing < sets.size(); ++missing) {
    EXPECT_EQ(push_all([&](std::size_t n, OrderedSet&) { return n != missing; }), std::nullopt);
    EXPECT_EQ(push_all([](std::size_t, OrderedSet&) { return true; }), message) << missing;
  }
  EXPECT_EQ(reader.lost(), 5 * 4U);
  for (std::uint32_t bit = 0; bit < 24; ++bit) {
    const auto damaged = push_all([&](std::size_t n, OrderedSet& set) {
      if (n == 2) set.value ^= 1U << bit;
      return true;
    });
    EXPECT_EQ(damaged, std::nullopt) << bit;
    EXPECT_EQ(push_all([](std::size_t, OrderedSet&) { return true; }), message);
  }
  EXPECT_EQ(reader.push({OrderedSet::Code::kSequence, sets[0].value}), std::nullopt);
}

}  // namespace
}  // namespace weft::wan
