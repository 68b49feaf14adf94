// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "genuine_frame.h"
#include "sonet_stage.h"

namespace weft::wan::sonet {
namespace {

std::map<std::string, FrameField> by_name(const std::vector<FrameField>& fields) {
  std::map<std::string, FrameField> named;
  for (const FrameField& field : fields)
    EXPECT_TRUE(named.emplace(field.name, field).second) << field.name;
  return named;
}

TEST(SonetExplain, AGenuineFrameIsNamedOctetByOctet) {
  const auto fields = explain(Level::kStm1, genuine_frame(0));
  EXPECT_TRUE(std::ranges::is_sorted(fields, {}, &FrameField::at));
  EXPECT_EQ(fields.size(), 27 + 9);
  auto named = by_name(fields);
  EXPECT_EQ(named["A1"].value, "f6 f6 f6");
  EXPECT_EQ(named["J0"].value, "0d");
  EXPECT_EQ(named["H1"].value, "6a 93 93: pointer 522");
  EXPECT_EQ(named["B2"].value, "5d 26 f7");
  EXPECT_EQ(named["B2"].size, 3);
  EXPECT_EQ(named["S1"].value, "0b");
  EXPECT_EQ(named["J1"].value, "6e");
  EXPECT_EQ(named["J1"].at, 9);
  EXPECT_EQ(named["B3"].value, "dc");
  EXPECT_EQ(named["C2"].value, "fe: test signal");
  EXPECT_EQ(named["G1"].value, "00: REI-P 0");
  EXPECT_EQ(named["H4"].value, "ff");
}

TEST(SonetExplain, PathOverheadIsWhereThePointerSays) {
  TerminalOptions options{.level = Level::kStm64, .label = label::kGfp};
  options.pointer = 100;
  End end(options);
  std::vector<std::byte> line;
  for (int i = 0; i < 2; ++i)
    line = filled(end.terminal, geometry(options.level).frame());
  auto named = by_name(explain_line(options.level, line));
  EXPECT_EQ(named["H1"].size, 192);
  EXPECT_EQ(named["H1"].value.substr(0, 17), "68 9b 9b 9b 9b 9b");
  EXPECT_EQ(named["C2"].value, "1b: GFP");
  EXPECT_EQ(named["M1"].at, 8 * 17280 + 194);
  // 100 units of 192 octets after H3: one row of 16,704 and 2,496 more.
  EXPECT_EQ(named["J1"].at, 4 * 17280 + 576 + 2496);
}

TEST(SonetExplain, DefectsOfAFrameAreNamed) {
  auto frame = genuine_frame(0);
  frame[4 * 270 + 6] = std::byte{0x06};
  frame[3 * 270 + 9] = std::byte{0x08};
  auto named = by_name(explain(Level::kStm1, frame));
  EXPECT_EQ(named["K2"].value, "06: RDI-L");
  EXPECT_EQ(named["G1"].value, "08: REI-P 0, RDI-P");
  frame[3 * 270] = std::byte{0x9B};
  EXPECT_EQ(by_name(explain(Level::kStm1, frame))["H1"].value,
            "9b 93 93: pointer 778, new data flag");
  frame[3 * 270 + 3] = std::byte{0xFF};
  EXPECT_EQ(by_name(explain(Level::kStm1, frame))["H1"].value, "9b 93 93: no pointer (1023)");
}

TEST(SonetExplain, AnAisHasNoPath) {
  const std::vector<std::byte> ones(geometry(Level::kStm1).frame(), std::byte{0xFF});
  const auto fields = explain(Level::kStm1, ones);
  EXPECT_EQ(fields.size(), 27);
  auto named = by_name(fields);
  EXPECT_EQ(named["H1"].value, "ff ff ff: AIS-P");
  EXPECT_EQ(named["K2"].value, "ff: AIS-L");
}

}  // namespace
}  // namespace weft::wan::sonet
