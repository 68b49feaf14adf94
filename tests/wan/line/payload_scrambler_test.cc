// SPDX-License-Identifier: Apache-2.0
#include "wan/line/payload_scrambler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace weft::wan {
namespace {

std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

bool bit(const std::vector<std::byte>& bytes, std::size_t at) {
  return (std::to_integer<unsigned>(bytes[at / 8]) >> (7 - at % 8) & 1U) != 0;
}

// Bit by bit, as the standard draws it, after `sent`, whose last bit is bit 0.
std::vector<std::byte> scrambled_bit_by_bit(const std::vector<std::byte>& bytes,
                                            std::uint64_t sent = 0) {
  std::vector<std::byte> out(bytes.size());
  for (std::size_t at = 0; at < 8 * bytes.size(); ++at) {
    const bool before = at >= 43 ? bit(out, at - 43) : (sent >> (42 - at) & 1) != 0;
    if (bit(bytes, at) != before) out[at / 8] |= static_cast<std::byte>(0x80U >> at % 8);
  }
  return out;
}

TEST(PayloadScrambler, IsTheOneOfTheStandardInAnyPieces) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    const auto bytes = random_bytes(random, random() % 300);
    std::vector<std::byte> out(bytes.size());
    PayloadScrambler scrambler;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 40, bytes.size() - at);
      scrambler.scramble(Bytes(bytes).subspan(at, size), MutableBytes(out).subspan(at, size));
      at += size;
    }
    EXPECT_EQ(out, scrambled_bit_by_bit(bytes));
  }
}

// Some of any size, also in place, and as many as are done at once.
TEST(PayloadScrambler, IsTheOneOfTheStandardByEachKernel) {
  std::mt19937 random(4);
  for (const PayloadScramblerKernel& kernel : payload_scrambler_kernels()) {
    SCOPED_TRACE(kernel.name);
    for (std::size_t round = 0; round < 120; ++round) {
      const auto bytes = random_bytes(random, 4 * round + random() % 4);
      const std::size_t first = random() % (bytes.size() + 1);
      const std::size_t rest = bytes.size() - first;
      const bool in_place = round % 2 == 0;
      std::vector<std::byte> out = in_place ? bytes : std::vector<std::byte>(bytes.size());
      const std::byte* const from = in_place ? out.data() : bytes.data();
      std::uint64_t sent = kernel.scramble(from, out.data(), first, 0);
      sent = kernel.scramble(from + first, out.data() + first, rest, sent);
      ASSERT_EQ(out, scrambled_bit_by_bit(bytes)) << bytes.size() << " in two, " << first;
      for (std::size_t i = 0; i < std::min<std::size_t>(8, out.size()); ++i)
        ASSERT_EQ(static_cast<std::byte>(sent >> (8 * i)), out[out.size() - 1 - i]);
      std::uint64_t heard = kernel.descramble(out.data(), out.data(), first, 0);
      heard = kernel.descramble(out.data() + first, out.data() + first, rest, heard);
      ASSERT_EQ(out, bytes);
      ASSERT_EQ(heard, sent);
    }
  }
}

// As many as fall into runs, of all lengths, after any line, from anywhere to anywhere; and nothing
// beside them is touched.
TEST(PayloadScrambler, IsTheOneOfTheStandardByEachKernelForLongPieces) {
  constexpr std::size_t kBeside = 64;
  std::mt19937 random(5);
  for (std::size_t round = 0; round < 60; ++round) {
    const auto bytes = random_bytes(random, random() % 12'000);
    const std::uint64_t before = std::uint64_t{random()} << 32 | random();
    const auto expected = scrambled_bit_by_bit(bytes, before);
    for (const PayloadScramblerKernel& kernel : payload_scrambler_kernels()) {
      SCOPED_TRACE(kernel.name);
      const auto beside = random_bytes(random, bytes.size() + 2 * kBeside);
      const std::size_t first = random() % kBeside;
      auto room = beside;
      const MutableBytes out = MutableBytes(room).subspan(first, bytes.size());
      const bool in_place = round % 2 == 0;
      if (in_place) std::ranges::copy(bytes, out.begin());
      const std::byte* const from = in_place ? out.data() : bytes.data();
      const std::uint64_t sent = kernel.scramble(from, out.data(), bytes.size(), before);
      ASSERT_TRUE(std::ranges::equal(out, expected)) << bytes.size();
      std::uint64_t last = before;
      for (const std::byte octet : expected)
        last = last << 8 | std::to_integer<std::uint64_t>(octet);
      ASSERT_EQ(sent, last);
      ASSERT_EQ(kernel.descramble(out.data(), out.data(), out.size(), before), sent);
      ASSERT_TRUE(std::ranges::equal(out, bytes));
      std::ranges::copy(Bytes(beside).subspan(first, out.size()), out.begin());
      ASSERT_EQ(room, beside);
    }
  }
}

TEST(PayloadScrambler, IsUndoneInAnyPieces) {
  std::mt19937 random(2);
  const auto bytes = random_bytes(random, 5000);
  auto line = bytes;
  PayloadScrambler().scramble(line);
  PayloadDescrambler descrambler;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 90, line.size() - at);
    descrambler.descramble(MutableBytes(line).subspan(at, size));
    at += size;
  }
  EXPECT_EQ(line, bytes);
}

TEST(PayloadScrambler, IsUnderstoodAfter43BitsByWhoJoinsLate) {
  std::mt19937 random(3);
  const auto bytes = random_bytes(random, 200);
  auto line = bytes;
  PayloadScrambler().scramble(line);
  std::vector<std::byte> heard(line.begin() + 50, line.end());
  PayloadDescrambler().descramble(heard);
  EXPECT_TRUE(std::equal(heard.begin() + 6, heard.end(), bytes.begin() + 56));
}

TEST(PayloadScrambler, MakesTwoWrongBitsOfOne) {
  auto line = std::vector<std::byte>(64);
  line[10] = std::byte{0x80};
  PayloadDescrambler().descramble(line);
  for (std::size_t at = 0; at < 8 * line.size(); ++at)
    EXPECT_EQ(bit(line, at), at == 80 || at == 123) << at;
}

}  // namespace
}  // namespace weft::wan
