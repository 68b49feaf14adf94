// SPDX-License-Identifier: Apache-2.0
#include "base/gid_prefix_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/gid_text.h"
#include "base/random.h"

namespace weft {
namespace {

GidPrefix table_prefix(std::string_view text) {
  return parse_gid_prefix(text).value();
}

Gid gid(std::string_view text) {
  return parse_gid(text).value();
}

TEST(PrefixTable, HasNothingAtFirst) {
  PrefixTable table;
  EXPECT_EQ(table.find(gid("fd00::1")), std::nullopt);
  EXPECT_FALSE(table.remove(table_prefix("::/0")));
  EXPECT_EQ(table.size(), 0u);
}

TEST(PrefixTable, FindsTheLongestPrefix) {
  PrefixTable table;
  table.insert(table_prefix("::/0"), 1);
  table.insert(table_prefix("fd00:0:0:2::/64"), 2);
  table.insert(table_prefix("fd00::/48"), 3);
  table.insert(table_prefix("fd00:0:0:2::7/128"), 4);
  EXPECT_EQ(table.find(gid("fd00:0:0:2::7")), 4u);
  EXPECT_EQ(table.find(gid("fd00:0:0:2::8")), 2u);
  EXPECT_EQ(table.find(gid("fd00:0:0:3::7")), 3u);
  EXPECT_EQ(table.find(gid("2001:db8::1")), 1u);
  table.insert(table_prefix("fd00::/48"), 5);
  EXPECT_EQ(table.size(), 4u) << "the same table_prefix again is not one more";
  EXPECT_EQ(table.find(gid("fd00:0:0:3::7")), 5u);
  EXPECT_TRUE(table.remove(table_prefix("fd00::/48")));
  EXPECT_FALSE(table.remove(table_prefix("fd00::/48")));
  EXPECT_EQ(table.find(gid("fd00:0:0:3::7")), 1u);
  EXPECT_EQ(table.find(gid("fd00:0:0:2::8")), 2u);
}

// A table_prefix that lies close to others: few addresses, so that they lie within one another and
// fork at every bit; and lengths of which some are at the ends.
GidPrefix drawn(Random& random) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[0] = 0xFD;
  for (const std::size_t at : {5u, 7u, 8u, 15u})
    bytes[at] = static_cast<std::uint8_t>(random.below(4) << random.below(7));
  constexpr std::array<unsigned, 6> kLengths{0, 48, 63, 64, 65, 128};
  const unsigned bits = random.chance(0.5) ? kLengths[random.below(kLengths.size())]
                                           : static_cast<unsigned>(random.below(129));
  return GidPrefix(Gid{bytes}, bits);
}

Gid drawn_gid(Random& random) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[0] = random.chance(0.95) ? 0xFD : 0x20;
  for (const std::size_t at : {5u, 7u, 8u, 15u})
    bytes[at] = static_cast<std::uint8_t>(random.below(4) << random.below(7));
  return Gid{bytes};
}

// What it should do, by looking at everything.
struct Model {
  std::vector<std::pair<GidPrefix, PrefixTable::Value>> entries;

  auto place(const GidPrefix& table_prefix) {
    return std::ranges::find(entries, table_prefix, [](const auto& entry) { return entry.first; });
  }
  std::optional<PrefixTable::Value> find(const Gid& gid) const {
    std::optional<PrefixTable::Value> best;
    unsigned bits = 0;
    for (const auto& [table_prefix, value] : entries) {
      if (!table_prefix.covers(gid) || (best && table_prefix.bits() < bits)) continue;
      best = value;
      bits = table_prefix.bits();
    }
    return best;
  }
};

TEST(PrefixTable, DoesWhatAListWouldWithThousandsOfPrefixes) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Random random(seed);
    PrefixTable table;
    Model model;
    // First it grows, then it shrinks to nothing.
    for (int step = 0; step < 8000; ++step) {
      const bool grows = step < 4000;
      if (random.chance(grows ? 0.8 : 0.1)) {
        const GidPrefix table_prefix = drawn(random);
        const auto value = static_cast<PrefixTable::Value>(random.below(100));
        if (const auto known = model.place(table_prefix); known != model.entries.end()) {
          known->second = value;
        } else {
          model.entries.emplace_back(table_prefix, value);
        }
        table.insert(table_prefix, value);
      } else {
        const bool known = !model.entries.empty() && random.chance(0.9);
        const GidPrefix table_prefix =
            known ? model.entries[random.below(model.entries.size())].first : drawn(random);
        const auto place = model.place(table_prefix);
        ASSERT_EQ(table.remove(table_prefix), place != model.entries.end());
        if (place != model.entries.end()) model.entries.erase(place);
      }
      ASSERT_EQ(table.size(), model.entries.size());
      if (step % 4 != 0) continue;
      const Gid wanted = drawn_gid(random);
      ASSERT_EQ(table.find(wanted), model.find(wanted)) << wanted.to_string() << " seed " << seed;
    }
    auto entries = table.entries();
    ASSERT_EQ(entries.size(), model.entries.size());
    for (const auto& [table_prefix, value] : entries) {
      ASSERT_EQ(model.place(table_prefix)->second, value);
      ASSERT_TRUE(table.remove(table_prefix));
    }
    EXPECT_EQ(table.size(), 0u);
    EXPECT_EQ(table.find(drawn_gid(random)), std::nullopt);
  }
}

}  // namespace
}  // namespace weft
