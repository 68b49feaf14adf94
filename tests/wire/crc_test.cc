// SPDX-License-Identifier: Apache-2.0
#include "wire/crc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <vector>

#include "reference_crc.h"
#include "wire/endian.h"

namespace weft::wire {
namespace {

using test::reference_crc16;
using test::reference_crc32;

std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(random());
  return bytes;
}

Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

void expect_like_reference(const CrcKernel& kernel, CrcPair state, Bytes bytes) {
  const CrcPair expected{reference_crc32(state.icrc, bytes), reference_crc16(state.vcrc, bytes)};
  ASSERT_EQ(kernel.crc32(state.icrc, bytes), expected.icrc) << bytes.size() << " bytes";
  ASSERT_EQ(kernel.crc16(state.vcrc, bytes), expected.vcrc) << bytes.size() << " bytes";
  ASSERT_EQ(kernel.both(state, bytes), expected) << bytes.size() << " bytes";
}

// Of the place that it copies to, which may lie anywhere in a cache line, it touches no byte more.
void expect_copy_like_reference(const CrcKernel& kernel, std::uint32_t state, Bytes bytes,
                                std::size_t at) {
  constexpr std::byte kUntouched{0xA5};
  constexpr std::size_t kLine = 64;
  struct alignas(kLine) Line {
    std::array<std::byte, kLine> bytes;
  };
  std::vector<Line> lines((at + bytes.size()) / kLine + 1);
  const MutableBytes all(lines.front().bytes.data(), lines.size() * kLine);
  std::fill(all.begin(), all.end(), kUntouched);
  ASSERT_EQ(kernel.copy32(state, all.data() + at, bytes), reference_crc32(state, bytes))
      << bytes.size() << " bytes to " << at;
  const MutableBytes copy = all.subspan(at, bytes.size());
  ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), copy.begin())) << bytes.size();
  std::fill(copy.begin(), copy.end(), kUntouched);
  for (const std::byte byte : all)
    ASSERT_EQ(byte, kUntouched) << bytes.size() << " bytes to " << at;
}

class EveryKernel : public testing::TestWithParam<std::size_t> {
 protected:
  const CrcKernel& kernel() { return crc_kernels()[GetParam()]; }
  CrcPair random_state() {
    return {static_cast<std::uint32_t>(random_()), static_cast<std::uint16_t>(random_())};
  }
  std::mt19937_64 random_{2024};
};

INSTANTIATE_TEST_SUITE_P(Crc, EveryKernel, testing::Range<std::size_t>(0, crc_kernels().size()),
                         [](const auto& info) {
                           return std::string(crc_kernels()[info.param].name);
                         });

TEST_P(EveryKernel, GivesTheCheckValuesOfBothGenerators) {
  const Bytes digits = as_bytes("123456789");
  EXPECT_EQ(crc32_finish(kernel().crc32(kIcrcPreset, digits)), 0xCBF4'3926u);
  EXPECT_EQ(crc16_finish(kernel().crc16(kVcrcPreset, digits)), 0x0A3D);
}

TEST_P(EveryKernel, AgreesWithTheDefinitionAtEveryLengthUpTo700) {
  const std::vector<std::byte> bytes = random_bytes(random_, 700 + 64);
  for (std::size_t size = 0; size <= 700; ++size) {
    // A misaligned start, and every other time the presets that packets really use.
    const CrcPair state = size % 2 == 0 ? CrcPair{} : random_state();
    expect_like_reference(kernel(), state, Bytes(bytes).subspan(size % 64, size));
  }
}

TEST_P(EveryKernel, CopiesToAnyPlaceWhatItComputesTheRegisterOf) {
  const std::vector<std::byte> bytes = random_bytes(random_, 700);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    for (const std::size_t at : {size % 64, size * 4 % 64, size * 20 % 64}) {
      expect_copy_like_reference(kernel(), random_state().icrc, Bytes(bytes).first(size), at);
    }
  }
  for (std::size_t at = 0; at < 64; ++at) {
    expect_copy_like_reference(kernel(), kIcrcPreset, Bytes(bytes).first(512), at);
  }
}

TEST_P(EveryKernel, AgreesWithTheDefinitionOnLongRandomBytes) {
  const std::vector<std::byte> bytes = random_bytes(random_, 70'000);
  for (int round = 0; round < 40; ++round) {
    const std::size_t from = random_() % 64;
    const std::size_t size = random_() % (bytes.size() - from);
    expect_like_reference(kernel(), random_state(), Bytes(bytes).subspan(from, size));
  }
}

TEST_P(EveryKernel, ReadsNothingOutsideTheBytesGiven) {
  // Sanitizers watch the heap's edges; the values must not depend on the neighbours either.
  for (std::size_t size = 0; size <= 300; ++size) {
    const std::vector<std::byte> exact = random_bytes(random_, size);
    expect_like_reference(kernel(), CrcPair{}, exact);
    expect_copy_like_reference(kernel(), kIcrcPreset, exact, 12);
  }
}

TEST_P(EveryKernel, MultipliesAsPolynomials) {
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t a = random_();
    const CrcPair b = random_state();
    // By shift and add from the highest power of b down; x^1 times a register is one zero bit more.
    std::uint32_t expected32 = 0;
    std::uint16_t expected16 = 0;
    for (int bit = 0; bit < 64; ++bit) {
      const bool term = (a >> bit & 1) != 0;
      expected32 = (expected32 >> 1) ^ ((expected32 & 1) != 0 ? 0xEDB8'8320u : 0u);
      if (term) expected32 ^= b.icrc;
      const bool carry = (expected16 & 1) != 0;
      expected16 = static_cast<std::uint16_t>((expected16 >> 1) ^ (carry ? 0xD008 : 0));
      if (term) expected16 = static_cast<std::uint16_t>(expected16 ^ b.vcrc);
    }
    ASSERT_EQ(kernel().multiply32(a, b.icrc), expected32);
    ASSERT_EQ(kernel().multiply16(a, b.vcrc), expected16);
  }
}

TEST(Crc, LeavesTheKnownResidueAfterItsOwnBytes) {
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes = random_bytes(random, 100 + 4);
  store_le32(bytes.data() + 100, crc32_finish(crc32_update(kIcrcPreset, Bytes(bytes).first(100))));
  EXPECT_EQ(crc32_update(kIcrcPreset, bytes), 0xDEBB'20E3u);
  store_le16(bytes.data() + 100, crc16_finish(crc16_update(kVcrcPreset, Bytes(bytes).first(100))));
  EXPECT_EQ(crc16_update(kVcrcPreset, Bytes(bytes).first(102)), 0x556F);
}

TEST(Crc, CarriesItsStateFromSpanToSpan) {
  std::mt19937_64 random(2);
  const std::vector<std::byte> bytes = random_bytes(random, 1000);
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 13) {
    const Bytes head = Bytes(bytes).first(cut);
    const Bytes tail = Bytes(bytes).subspan(cut);
    EXPECT_EQ(crc32_update(crc32_update(kIcrcPreset, head), tail),
              crc32_update(kIcrcPreset, bytes));
    EXPECT_EQ(crc_both_update(crc_both_update({}, head), tail), crc_both_update({}, bytes));
  }
}

TEST(Crc, CombinesPartsTakenSeparately) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    // Beyond the length of a packet, where powers are computed rather than looked up, too.
    const std::vector<std::byte> a = random_bytes(random, random() % 200);
    const std::vector<std::byte> b = random_bytes(random, random() % (round < 250 ? 5000 : 70'000));
    EXPECT_EQ(crc32_combine(crc32_update(kIcrcPreset, a), crc32_update(0, b), b.size()),
              crc32_update(crc32_update(kIcrcPreset, a), b));
    EXPECT_EQ(crc16_combine(crc16_update(kVcrcPreset, a), crc16_update(0, b), b.size()),
              crc16_update(crc16_update(kVcrcPreset, a), b));
  }
}

TEST(Crc, ShiftsByZeroBytesAndBack) {
  std::mt19937_64 random(4);
  const std::vector<std::byte> zeros(65'535);
  for (const std::size_t count : {0u, 1u, 2u, 255u, 256u, 4223u, 4224u, 4225u, 5000u, 65'535u}) {
    const auto state = static_cast<std::uint32_t>(random());
    const Bytes run = Bytes(zeros).first(count);
    EXPECT_EQ(crc32_shift(state, count), reference_crc32(state, run)) << count;
    const auto state16 = static_cast<std::uint16_t>(state);
    EXPECT_EQ(crc16_shift(state16, count), reference_crc16(state16, run)) << count;
    EXPECT_EQ(crc32_unshift(crc32_shift(state, count), count), state) << count;
  }
}

TEST(Crc, FollowsAChangeOfSomeBytesWithoutTheRest) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> bytes = random_bytes(random, 64 + random() % 4300);
    const std::size_t at = random() % 24;
    const std::size_t size = 1 + random() % 40;
    const std::size_t distance = bytes.size() - at - size;
    const CrcPair before = crc_both_update({}, bytes);
    const std::vector<std::byte> difference = random_bytes(random, size);
    for (std::size_t i = 0; i < size; ++i)
      bytes[at + i] ^= difference[i];
    const CrcPair after = crc_both_update({}, bytes);
    EXPECT_EQ(before.icrc ^ crc32_change(difference, distance), after.icrc);
    EXPECT_EQ(before.vcrc ^ crc16_change(difference, distance), after.vcrc);
  }
}

TEST(Crc, FollowsAChangeOfOneWord) {
  std::mt19937_64 random(6);
  for (const std::size_t distance : {0u, 1u, 20u, 282u, 2074u, 4212u, 4216u, 4217u, 9000u}) {
    std::vector<std::byte> bytes = random_bytes(random, 8 + distance);
    const CrcPair before = crc_both_update({}, bytes);
    const std::uint64_t difference = random();
    store_le64(bytes.data(), load_le64(bytes.data()) ^ difference);
    const CrcPair after = crc_both_update({}, bytes);
    EXPECT_EQ(before.icrc ^ crc32_change(difference, distance), after.icrc) << distance;
    EXPECT_EQ(before.vcrc ^ crc16_change(difference, distance), after.vcrc) << distance;
  }
}

}  // namespace
}  // namespace weft::wire
