// SPDX-License-Identifier: Apache-2.0
#include "phy/code/code_8b10b.h"

#include <gtest/gtest.h>

#include <bitset>
#include <map>
#include <vector>

#include "base/random.h"
#include "reference_8b10b.h"

namespace weft::phy {
namespace {

std::vector<Character> whole_code() {
  std::vector<Character> all;
  for (unsigned i = 0; i < 512; ++i) {
    const Character character{static_cast<std::uint8_t>(i), i >= 256};
    if (is_in_code(character)) all.push_back(character);
  }
  return all;
}

Disparity disparity_of(bool positive) {
  return positive ? Disparity::kPlus : Disparity::kMinus;
}

TEST(Code8b10b, HasTheCharactersOfTheTablesAndNoOthers) {
  unsigned count = 0;
  for (unsigned i = 0; i < 512; ++i) {
    const Character character{static_cast<std::uint8_t>(i), i >= 256};
    bool positive = false;
    EXPECT_EQ(is_in_code(character), reference::encode(character, positive).has_value()) << i;
    count += is_in_code(character) ? 1 : 0;
  }
  EXPECT_EQ(count, 268U);
}

TEST(Code8b10b, EncodesEachCharacterAtEachDisparityAsInTheTables) {
  for (const Character character : whole_code()) {
    for (const bool before : {false, true}) {
      bool positive = before;
      const std::uint16_t expected = reference::word(*reference::encode(character, positive));
      Encoder encoder(disparity_of(before));
      EXPECT_EQ(std::bitset<10>(encoder.encode(character)), std::bitset<10>(expected))
          << int{character.value} << " " << character.control << " " << before;
      EXPECT_EQ(encoder.disparity(), disparity_of(positive));
    }
  }
}

TEST(Code8b10b, HasTheControlSymbolsOfLinksAtTheirPlaces) {
  EXPECT_EQ(kCom.value, 0xBC);
  EXPECT_EQ(kSdp.value, 0xFB);
  EXPECT_EQ(kSlp.value, 0x5C);
  EXPECT_EQ(kEgp.value, 0xFD);
  EXPECT_EQ(kEbp.value, 0xFE);
  EXPECT_EQ(kPad.value, 0xF7);
  EXPECT_EQ(kSkp.value, 0x1C);
  for (const Character symbol : {kCom, kSdp, kSlp, kEgp, kEbp, kPad, kSkp}) {
    EXPECT_TRUE(symbol.control && is_in_code(symbol));
  }
}

TEST(Code8b10b, DecodesAllWordsAtBothDisparitiesAsTheTablesSay) {
  struct Meaning {
    Character character;
    bool at[2] = {false, false};
  };
  std::map<std::uint16_t, Meaning> meanings;
  for (const Character character : whole_code()) {
    for (const bool before : {false, true}) {
      bool positive = before;
      const std::uint16_t word = reference::word(*reference::encode(character, positive));
      Meaning& meaning = meanings[word];
      if (meaning.at[0] || meaning.at[1]) {
        ASSERT_EQ(meaning.character, character) << "a word of two meanings";
      }
      meaning.character = character;
      meaning.at[before ? 1 : 0] = true;
    }
  }
  for (std::uint16_t word = 0; word < 1024; ++word) {
    const auto meaning = meanings.find(word);
    for (const bool before : {false, true}) {
      Decoder decoder(disparity_of(before));
      const Decoder::Decoded decoded = decoder.decode(word);
      const bool known = meaning != meanings.end();
      EXPECT_EQ(decoded.code_error, !known) << word;
      const bool here = known && meaning->second.at[before ? 1 : 0];
      EXPECT_EQ(decoded.disparity_error, known && !here) << word;
      EXPECT_EQ(decoded.error(), !here) << word;
      EXPECT_EQ(decoded.character, known ? meaning->second.character : Character{}) << word;
    }
  }
}

TEST(Code8b10b, DecodesWhatIsEncodedAndNeverHasMoreThanFiveEqualBitsInARow) {
  Random random(1);
  const std::vector<Character> all = whole_code();
  for (const Disparity start : {Disparity::kMinus, Disparity::kPlus}) {
    Encoder encoder(start);
    Decoder decoder(start);
    unsigned run = 0;
    bool last = false;
    int surplus = start == Disparity::kPlus ? 1 : -1;
    for (int i = 0; i < 200'000; ++i) {
      Character character = all[random.below(all.size())];
      if (character == control_character(28, 7)) character = kCom;  // no link uses it
      const std::uint16_t word = encoder.encode(character);
      const Decoder::Decoded decoded = decoder.decode(word);
      ASSERT_FALSE(decoded.error());
      ASSERT_EQ(decoded.character, character);
      ASSERT_EQ(decoder.disparity(), encoder.disparity());
      for (unsigned bit = 0; bit < 10; ++bit) {
        const bool now = (word >> bit & 1) != 0;
        run = now == last ? run + 1 : 1;
        last = now;
        ASSERT_LE(run, 5U);
        surplus += now ? 1 : -1;
      }
      ASSERT_EQ(surplus, encoder.disparity() == Disparity::kPlus ? 1 : -1);
    }
  }
}

// A wrong bit changes the surplus of ones by two, which no valid continuation takes back: if not
// its own word then a later one has the wrong disparity.
TEST(Code8b10b, SeesEachSingleWrongBitInItsWordOrBeforeLong) {
  Random random(2);
  unsigned latest = 0;
  for (unsigned value = 0; value < 256; ++value) {
    for (const bool before : {false, true}) {
      for (unsigned bit = 0; bit < 10; ++bit) {
        Encoder encoder(disparity_of(before));
        Decoder decoder(disparity_of(before));
        const std::uint16_t word = encoder.encode({static_cast<std::uint8_t>(value), false});
        bool seen = decoder.decode(static_cast<std::uint16_t>(word ^ 1U << bit)).error();
        unsigned later = 0;
        while (!seen && later < 100) {
          const Character next{static_cast<std::uint8_t>(random.next()), false};
          seen = decoder.decode(encoder.encode(next)).error();
          ++later;
        }
        EXPECT_TRUE(seen) << value << " bit " << bit;
        latest = std::max(latest, later);
      }
    }
  }
  EXPECT_GE(latest, 1U);  // some are seen only later
}

TEST(Code8b10b, ComesToAgreeWithTheSenderAgainAfterErrors) {
  Random random(3);
  Encoder encoder;
  Decoder decoder;
  for (int round = 0; round < 2000; ++round) {
    (void)encoder.encode({static_cast<std::uint8_t>(random.next()), false});
    (void)decoder.decode(static_cast<std::uint16_t>(random.below(1024)));
    unsigned last_error = 0;
    for (unsigned i = 1; i <= 64; ++i) {
      const Character next{static_cast<std::uint8_t>(random.next()), false};
      const Decoder::Decoded decoded = decoder.decode(encoder.encode(next));
      EXPECT_EQ(decoded.character, next);
      if (decoded.error()) last_error = i;
    }
    EXPECT_LT(last_error, 64U);
    EXPECT_EQ(decoder.disparity(), encoder.disparity());
  }
}

}  // namespace
}  // namespace weft::phy
