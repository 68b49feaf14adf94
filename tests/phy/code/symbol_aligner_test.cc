// SPDX-License-Identifier: Apache-2.0
#include "phy/code/symbol_aligner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "phy/code/code_8b10b.h"
#include "phy/code/ordered_set.h"

namespace weft::phy {
namespace {

// Bits and the code words in them: data with a COM now and then.
struct CodeStream {
  BitVector bits;
  std::vector<std::uint16_t> words;

  void add(Encoder& encoder, Character character) {
    words.push_back(encoder.encode(character));
    bits.put_symbol(words.back());
  }
};

CodeStream make_stream(Random& random, std::size_t size, std::size_t com_every) {
  CodeStream stream;
  Encoder encoder;
  for (std::size_t i = 0; i < size; ++i) {
    stream.add(encoder,
               i % com_every == 0 ? kCom : Character{static_cast<std::uint8_t>(random.next())});
  }
  return stream;
}

// In pieces of random length.
std::vector<std::uint16_t> align(SymbolAligner& aligner, BitSpan bits, Random& random) {
  std::vector<std::uint16_t> words;
  for (std::size_t at = 0; at < bits.count;) {
    BitVector piece;
    const std::size_t size = std::min<std::size_t>(1 + random.below(70), bits.count - at);
    for (std::size_t i = 0; i < size; ++i)
      piece.put(bits.bit(at + i) ? 1 : 0, 1);
    aligner.push(piece.span(), words);
    at += size;
  }
  return words;
}

void append(BitVector& to, BitSpan from, std::size_t first = 0) {
  for (std::size_t i = first; i < from.count; ++i)
    to.put(from.bit(i) ? 1 : 0, 1);
}

TEST(SymbolAligner, FindsTheSymbolsFromTheFirstCommaOnWhereverTheyBegin) {
  Random random(1);
  for (unsigned garbage = 0; garbage < 40; ++garbage) {
    const CodeStream stream = make_stream(random, 500, 50);
    BitVector bits;
    for (unsigned i = 0; i < garbage; ++i)
      bits.put(i % 2, 1);
    append(bits, stream.bits.span());
    SymbolAligner aligner;
    EXPECT_EQ(align(aligner, bits.span(), random), stream.words) << garbage;
    EXPECT_TRUE(aligner.aligned());
    EXPECT_EQ(aligner.misplaced_commas(), 0U);
  }
}

TEST(SymbolAligner, FindsNothingWithoutAComma) {
  Random random(2);
  CodeStream stream;
  Encoder encoder;
  for (int i = 0; i < 20'000; ++i) {
    stream.add(encoder, {static_cast<std::uint8_t>(random.next())});
  }
  SymbolAligner aligner;
  EXPECT_TRUE(align(aligner, stream.bits.span(), random).empty());
  EXPECT_FALSE(aligner.aligned());
}

TEST(SymbolAligner, HandsOutASymbolAsSoonAsItsLastBitHasCome) {
  Random random(3);
  const CodeStream stream = make_stream(random, 50, 10);
  SymbolAligner aligner;
  std::vector<std::uint16_t> words;
  for (std::size_t i = 0; i < stream.bits.size(); ++i) {
    BitVector one;
    one.put(stream.bits.span().bit(i) ? 1 : 0, 1);
    aligner.push(one.span(), words);
    ASSERT_EQ(words.size(), (i + 1) / 10);
  }
}

TEST(SymbolAligner, FollowsASlipOfAnySizeAtTheSecondComma) {
  Random random(4);
  for (unsigned lost = 1; lost < 10; ++lost) {
    const CodeStream before = make_stream(random, 95, 20);
    const CodeStream after = make_stream(random, 200, 20);
    BitVector bits;
    append(bits, before.bits.span());
    append(bits, after.bits.span(), 10 + lost);  // without its first COM and some bits more
    SymbolAligner aligner;
    const std::vector<std::uint16_t> words = align(aligner, bits.span(), random);
    EXPECT_EQ(aligner.slips(), 1U) << lost;
    EXPECT_EQ(aligner.misplaced_commas(), 2U) << lost;
    // From the second whole COM of `after` on.
    const std::vector<std::uint16_t> tail(after.words.begin() + 40, after.words.end());
    ASSERT_GE(words.size(), tail.size());
    EXPECT_TRUE(std::equal(tail.rbegin(), tail.rend(), words.rbegin())) << lost;
  }
}

TEST(SymbolAligner, StaysWhereItIsPastASingleCommaAtAnotherPlace) {
  Random random(5);
  for (unsigned shift = 1; shift < 10; ++shift) {
    CodeStream stream = make_stream(random, 60, 30);
    // A comma made by wrong bits, in the middle of data.
    const std::size_t at = 15 * 10 + shift;
    for (unsigned i = 0; i < 7; ++i) {
      if (stream.bits.span().bit(at + i) != (i >= 2)) stream.bits.flip(at + i);
    }
    SymbolAligner aligner;
    const std::vector<std::uint16_t> words = align(aligner, stream.bits.span(), random);
    ASSERT_EQ(words.size(), stream.words.size());
    EXPECT_TRUE(std::equal(words.begin() + 20, words.end(), stream.words.begin() + 20));
    EXPECT_GE(aligner.misplaced_commas(), 1U);
    EXPECT_EQ(aligner.slips(), 0U);
  }
}

TEST(SymbolAligner, ACommaInPlaceClearsTheSuspicion) {
  for (unsigned shift = 1; shift < 10; ++shift) {
    CodeStream stream;
    Encoder encoder;
    for (int i = 0; i < 100; ++i)
      stream.add(encoder, i % 20 == 0 ? kCom : Character{0xB5, false});  // 1010101010
    // Twice a comma at the same wrong place, and a COM between.
    for (const std::size_t word : {30U, 50U}) {
      const std::size_t at = word * 10 + shift;
      for (unsigned i = 0; i < 7; ++i)
        if (stream.bits.span().bit(at + i) != (i >= 2)) stream.bits.flip(at + i);
    }
    SymbolAligner aligner;
    std::vector<std::uint16_t> words;
    aligner.push(stream.bits.span(), words);
    EXPECT_EQ(aligner.misplaced_commas(), 2U) << shift;
    EXPECT_EQ(aligner.slips(), 0U) << shift;
    EXPECT_EQ(words.size(), stream.words.size());
  }
}

TEST(SymbolAligner, TakesTheFirstCommaAfterItWasToldToHunt) {
  Random random(6);
  const CodeStream before = make_stream(random, 40, 10);
  const CodeStream after = make_stream(random, 100, 25);
  for (unsigned lost = 1; lost < 10; ++lost) {
    SymbolAligner aligner;
    (void)align(aligner, before.bits.span(), random);
    aligner.hunt();
    EXPECT_FALSE(aligner.aligned());
    BitVector bits;
    append(bits, after.bits.span(), 10 + lost);
    const std::vector<std::uint16_t> expected(after.words.begin() + 25, after.words.end());
    EXPECT_EQ(align(aligner, bits.span(), random), expected) << lost;
    EXPECT_EQ(aligner.misplaced_commas(), 0U);
  }
}

// The end of another signal and the beginning of this one may look like a comma together.
TEST(SymbolAligner, TakesNoBitsFromBeforeForTheFirstCommaOfANewSignal) {
  Random random(9);
  const CodeStream stream = make_stream(random, 100, 25);
  for (unsigned before = 1; before < 10; ++before) {
    SymbolAligner aligner;
    BitVector piece;
    append(piece, stream.bits.span(), stream.bits.size() - before);
    std::vector<std::uint16_t> words;
    aligner.push(piece.span(), words);
    aligner.restart();
    EXPECT_EQ(aligner.pending_bits(), 0U);
    EXPECT_EQ(align(aligner, stream.bits.span(), random), stream.words) << before;
    EXPECT_EQ(aligner.misplaced_commas(), 0U);
  }
  // A comma of which two bits came before.
  SymbolAligner aligner;
  BitVector before;
  before.put(0, 2);
  std::vector<std::uint16_t> words;
  aligner.push(before.span(), words);
  aligner.restart();
  BitVector ones;
  ones.put(0x1F, 5);
  aligner.push(ones.span(), words);
  EXPECT_FALSE(aligner.aligned());
}

TEST(SymbolAligner, TurnsAllBitsOfALaneWithCrossedWires) {
  Random random(7);
  const CodeStream stream = make_stream(random, 300, 16);
  BitVector crossed;
  for (std::size_t i = 0; i < stream.bits.size(); ++i) {
    crossed.put(stream.bits.span().bit(i) ? 0 : 1, 1);
  }
  SymbolAligner aligner;
  aligner.set_inverted(true);
  EXPECT_EQ(align(aligner, crossed.span(), random), stream.words);
}

TEST(SymbolAligner, TurnsTheSymbolThatIsUnderWayToo) {
  Random random(8);
  for (std::size_t cut = 0; cut < 40; ++cut) {
    const CodeStream stream = make_stream(random, 50, 10);
    SymbolAligner aligner;
    std::vector<std::uint16_t> words;
    const auto put = [&](std::size_t from, std::size_t to) {
      BitVector piece;
      for (std::size_t i = from; i < to; ++i)
        piece.put(stream.bits.span().bit(i) ? 0 : 1, 1);
      aligner.push(piece.span(), words);
    };
    put(0, 100 + cut);
    const std::size_t turned_from = words.size();
    aligner.set_inverted(true);
    put(100 + cut, stream.bits.size());
    for (std::size_t i = turned_from; i < words.size(); ++i) {
      ASSERT_EQ(words[i], stream.words[i]) << cut;
    }
    EXPECT_EQ(words.size(), stream.words.size());
  }
}

}  // namespace
}  // namespace weft::phy
