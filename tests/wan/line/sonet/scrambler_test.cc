// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/scrambler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "genuine_frame.h"
#include "wan/line/sonet/section.h"

namespace weft::wan::sonet {
namespace {

std::vector<std::byte> random_octets(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> octets(size);
  for (std::byte& octet : octets)
    octet = static_cast<std::byte>(random.next());
  return octets;
}

TEST(SonetScrambler, SequenceBeginsAfterTheFirstRowOfOverhead) {
  constexpr std::array kFirst{0xFE, 0x04, 0x18, 0x51, 0xE4, 0x59, 0xD4, 0xFA,
                              0x1C, 0x49, 0xB5, 0xBD, 0x8D, 0x2E, 0xE6, 0x55};
  for (const Level level : kAllLevels) {
    const Geometry g = geometry(level);
    const Bytes sequence = scrambler_sequence(level);
    ASSERT_EQ(sequence.size(), g.frame());
    const Bytes row = sequence.first(g.overhead());
    EXPECT_TRUE(std::ranges::all_of(row, [](std::byte octet) { return octet == std::byte{}; }));
    for (std::size_t i = 0; i < kFirst.size(); ++i)
      EXPECT_EQ(sequence[g.overhead() + i], std::byte(kFirst[i])) << i;
  }
}

TEST(SonetScrambler, SequenceRepeatsAfter127Octets) {
  const Bytes sequence =
      scrambler_sequence(Level::kStm16).subspan(geometry(Level::kStm16).overhead());
  EXPECT_TRUE(std::ranges::equal(sequence.first(sequence.size() - 127), sequence.subspan(127)));
  std::size_t ones = 0;
  for (const std::byte octet : sequence.first(127))
    ones += static_cast<std::size_t>(std::popcount(std::to_integer<unsigned>(octet)));
  EXPECT_EQ(ones, 64 * 8);  // of a maximum-length sequence, eight times
}

TEST(SonetScrambler, EveryKernelIsThePlainDefinition) {
  const auto octets = random_octets(4000, 1);
  const Bytes sequence = scrambler_sequence(Level::kStm16);
  for (const ScramblerKernel& kernel : scrambler_kernels()) {
    for (const std::size_t size : {0, 1, 15, 16, 63, 64, 65, 127, 128, 191, 192, 1000, 3999}) {
      std::vector<std::byte> out(size);
      kernel.add(octets.data(), sequence.data() + 500, out.data(), size);
      std::byte parity{};
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(out[i], octets[i] ^ sequence[500 + i]) << kernel.name << ' ' << size;
        parity ^= octets[i];
      }
      EXPECT_EQ(kernel.bip8(octets.data(), size), parity) << kernel.name << ' ' << size;
    }
    std::vector<std::byte> out(20 * kParityLanes);
    Parity parity{};
    kernel.add_with_parity(octets.data(), sequence.data() + 500, out.data(), 20, parity);
    Parity expected{};
    for (std::size_t i = 0; i < out.size(); ++i) {
      expected[i % kParityLanes] ^= octets[i];
      ASSERT_EQ(out[i], octets[i] ^ sequence[500 + i]) << kernel.name;
    }
    EXPECT_EQ(parity, expected) << kernel.name;
  }
}

TEST(SonetScrambler, ScramblingTwiceGivesWhatWas) {
  for (const Level level : kAllLevels) {
    const auto frame = random_octets(geometry(level).frame(), 2);
    auto octets = frame;
    const Parity plain = scramble_with_parity(octets, scrambler_sequence(level), octets);
    EXPECT_NE(octets, frame);
    const Parity scrambled = scramble_with_parity(octets, scrambler_sequence(level), octets);
    EXPECT_EQ(octets, frame);
    EXPECT_EQ(sum(plain, sequence_parity(level)), scrambled);
  }
}

TEST(SonetScrambler, BipsAreThoseOfAGenuineFrame) {
  const Geometry g = geometry(Level::kStm1);
  const std::vector<std::byte> first = genuine_frame(0);
  const std::vector<std::byte> second = genuine_frame(1);
  std::vector<std::byte> line(g.frame());
  const Parity plain = scramble_with_parity(first, scrambler_sequence(Level::kStm1), line);
  EXPECT_EQ(bip8(Bytes(line)), second[g.at(1, 0)]);
  EXPECT_EQ(bip8(sum(plain, sequence_parity(Level::kStm1))), second[g.at(1, 0)]);
  EXPECT_EQ(b2_errors(line_parity(plain, first, g), second, g), 0);
  std::byte b3{};
  for (std::size_t row = 0; row < kRows; ++row)
    b3 ^= bip8(Bytes(first).subspan(g.at(row, 9), g.vc_row()));
  EXPECT_EQ(b3, second[g.at(1, 9)]);
}

}  // namespace
}  // namespace weft::wan::sonet
