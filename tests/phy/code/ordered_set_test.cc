// SPDX-License-Identifier: Apache-2.0
#include "phy/code/ordered_set.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "phy/code/code_8b10b.h"
#include "phy/code/idle_data.h"

namespace weft::phy {
namespace {

using Seen = OrderedSetReader::Seen;

std::vector<Seen> read_all(OrderedSetReader& reader, std::span<const Character> characters) {
  std::vector<Seen> all;
  for (const Character character : characters) {
    if (const auto seen = reader.push(character, false)) all.push_back(*seen);
  }
  return all;
}

// Through a pair of wires that are crossed.
std::vector<Character> crossed(std::span<const Character> characters) {
  Encoder encoder;
  Decoder decoder(Disparity::kPlus);
  std::vector<Character> out;
  for (const Character character : characters) {
    const auto word = static_cast<std::uint16_t>(~encoder.encode(character));
    const Decoder::Decoded decoded = decoder.decode(word);
    EXPECT_FALSE(decoded.error());
    out.push_back(decoded.character);
  }
  return out;
}

TEST(OrderedSet, HasSixteenSymbolsWithTheLanesIdentifier) {
  const auto ts1 = training_set(OrderedSet::kTs1, 3);
  const auto ts2 = training_set(OrderedSet::kTs2, 11);
  EXPECT_EQ(ts1.size(), 16U);
  EXPECT_EQ(ts1[0], kCom);
  EXPECT_EQ(ts1[1], (Character{0x04, false}));
  EXPECT_EQ(ts2[1], (Character{0x1E, false}));
  for (std::size_t i = 2; i < ts1.size(); ++i) {
    EXPECT_EQ(ts1[i], (Character{0x4A, false}));
    EXPECT_EQ(ts2[i], (Character{0x45, false}));
  }
}

TEST(OrderedSet, FindsTheSetsOfEachLaneAndCountsThemInARow) {
  for (std::uint8_t lane = 0; lane < kMaxLanes; ++lane) {
    for (const OrderedSet set : {OrderedSet::kTs1, OrderedSet::kTs2}) {
      OrderedSetReader reader;
      const auto characters = training_set(set, lane);
      for (std::uint32_t count = 1; count <= 9; ++count) {
        const std::vector<Seen> seen = read_all(reader, characters);
        EXPECT_EQ(seen, (std::vector<Seen>{{set, lane, false, count}}));
      }
    }
  }
}

TEST(OrderedSet, SeesThatWiresAreCrossedWhateverTheLane) {
  for (std::uint8_t lane = 0; lane < kMaxLanes; ++lane) {
    for (const OrderedSet set : {OrderedSet::kTs1, OrderedSet::kTs2}) {
      OrderedSetReader reader;
      const std::vector<Seen> seen = read_all(reader, crossed(training_set(set, lane)));
      EXPECT_EQ(seen, (std::vector<Seen>{{set, lane, true, 1}}));
    }
  }
}

TEST(OrderedSet, GoesOnCountingAfterASkipSetOfAnyLength) {
  for (unsigned skips = 1; skips <= 5; ++skips) {
    OrderedSetReader reader;
    const auto set = training_set(OrderedSet::kTs2, 0);
    read_all(reader, set);
    std::vector<Character> skip(skips + 1, kSkp);
    skip[0] = kCom;
    EXPECT_EQ(read_all(reader, skip), (std::vector<Seen>{{OrderedSet::kSkip}}));
    EXPECT_EQ(read_all(reader, set), (std::vector<Seen>{{OrderedSet::kTs2, 0, false, 2}}));
  }
}

TEST(OrderedSet, IsNoneWithAnyOfItsCharactersWrong) {
  const auto set = training_set(OrderedSet::kTs1, 5);
  for (std::size_t wrong = 0; wrong < set.size(); ++wrong) {
    OrderedSetReader by_error;
    OrderedSetReader by_character;
    for (std::size_t i = 0; i < set.size(); ++i) {
      EXPECT_FALSE(by_error.push(set[i], i == wrong));
      EXPECT_FALSE(by_character.push(i == wrong ? data_character(3, 3) : set[i], false));
    }
    // The next one counts, from the beginning.
    EXPECT_EQ(read_all(by_error, set), (std::vector<Seen>{{OrderedSet::kTs1, 5, false, 1}}));
    EXPECT_EQ(read_all(by_character, set), (std::vector<Seen>{{OrderedSet::kTs1, 5, false, 1}}));
  }
}

TEST(OrderedSet, CountsAnewAfterAnotherSetAnErrorDataOrHalfASet) {
  const auto ts1 = training_set(OrderedSet::kTs1, 0);
  const auto ts2 = training_set(OrderedSet::kTs2, 0);
  const auto other = training_set(OrderedSet::kTs1, 1);
  const auto count_after = [&](std::span<const Character> between, bool error) {
    OrderedSetReader reader;
    read_all(reader, ts1);
    for (const Character character : between)
      (void)reader.push(character, error);
    return read_all(reader, ts1).front().in_a_row;
  };
  EXPECT_EQ(count_after({}, false), 2U);
  EXPECT_EQ(count_after(ts2, false), 1U);
  EXPECT_EQ(count_after(other, false), 1U);
  EXPECT_EQ(count_after(std::span(ts1).first(7), false), 1U);
  EXPECT_EQ(count_after(std::vector<Character>{data_character(1, 1)}, false), 1U);
  EXPECT_EQ(count_after(std::vector<Character>{kSkp}, true), 1U);
}

TEST(OrderedSet, KnowsLanesByTheirIdentifierOnly) {
  for (std::uint8_t lane = 0; lane < kMaxLanes; ++lane) {
    EXPECT_EQ(lane_of(kLaneIdentifiers[lane]), lane);
  }
  EXPECT_EQ(lane_of(data_character(3, 0)), std::nullopt);
  EXPECT_EQ(lane_of(kSkp), std::nullopt);
}

TEST(IdleData, GoesThroughAllStatesOfItsRegisterBeforeItComesAgain) {
  IdleData idle(1);
  std::vector<std::uint8_t> sequence;
  for (int i = 0; i < 2 * 2047; ++i) {
    const Character character = idle.next();
    ASSERT_FALSE(character.control);
    sequence.push_back(character.value);
  }
  for (std::size_t i = 0; i < 2047; ++i)
    ASSERT_EQ(sequence[i], sequence[i + 2047]);
  const std::set<std::uint8_t> values(sequence.begin(), sequence.end());
  EXPECT_EQ(values.size(), 256U);
  // 8 does not divide 2047: a shorter period would have to be of its only divisors, 23 and 89.
  EXPECT_FALSE(std::equal(sequence.begin(), sequence.begin() + 100, sequence.begin() + 23));
  EXPECT_FALSE(std::equal(sequence.begin(), sequence.begin() + 100, sequence.begin() + 89));
}

TEST(IdleData, IsTheSequenceOfItsPolynomialAndOfASeedThatIsNotZero) {
  IdleData idle(0x7FF & ~1);
  IdleData none(0);
  IdleData one(1);
  std::vector<bool> bits;
  for (int i = 0; i < 300; ++i) {
    const std::uint8_t value = idle.next().value;
    for (unsigned bit = 0; bit < 8; ++bit)
      bits.push_back((value >> bit & 1) != 0);
    EXPECT_EQ(none.next(), one.next());
  }
  for (std::size_t i = 0; i + 11 < bits.size(); ++i) {
    ASSERT_EQ(bits[i + 11], bits[i] != bits[i + 2]) << i;
  }
}

}  // namespace
}  // namespace weft::phy
