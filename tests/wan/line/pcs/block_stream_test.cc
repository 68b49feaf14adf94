// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/block_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/random.h"

namespace weft::wan {
namespace {

// An example that went round among those who wrote the standard (P. Thaler, "10 Gigabit Ethernet
// PCS/PMA ...", ieee802.org/3/10GEPON_study/public/july06/thaler_1_0706.pdf; as a table also in the
// tests of github.com/ttchisholm/10g-low-latency-ethernet): an Ethernet frame between idle blocks.
struct ThalersBlock {
  XgmiiWord word;
  Block scrambled;
};
constexpr std::array<ThalersBlock, 11> kThalersBlocks{{
    {{0x0707070707070707, 0xFF}, {Block::kControl, 0x7bfff0800000001e}},
    {{0xd5555555555555fb, 0x01}, {Block::kControl, 0x623016aaaaad1578}},
    {{0x8b0e380577200008, 0x00}, {Block::kData, 0x6a767c6ec581e108}},
    {{0x0045000800000000, 0x00}, {Block::kData, 0x8df4aacc802830e6}},
    {{0x061b0000661c2800, 0x00}, {Block::kData, 0x2cdb936dae49ee83}},
    {{0x00004d590000d79e, 0x00}, {Block::kData, 0x74905a82db7046f3}},
    {{0x0000eb4a2839d168, 0x00}, {Block::kData, 0xc57a251a6b79511e}},
    {{0x12500c7a00007730, 0x00}, {Block::kData, 0x4aca440cd4bf1f41}},
    {{0x000000008462d21e, 0x00}, {Block::kData, 0x2c3f2db5d2122809}},
    {{0x79f7eb9300000000, 0x00}, {Block::kData, 0x320e33b3c8de9249}},
    {{0x07070707070707fd, 0xFF}, {Block::kControl, 0xb599add7c83aa32a}},
}};

TEST(BlockStream, IsThatOfThePublishedExample) {
  BlockScrambler scrambler;
  for (const ThalersBlock& example : kThalersBlocks) {
    Block block = encode_block(example.word).block;
    scrambler.scramble(std::span(&block.payload, 1), std::span(&block.payload, 1));
    EXPECT_EQ(block, example.scrambled);
  }
}

// As the standard draws it, with nothing shared with what is tested.
struct BitByBit {
  std::vector<bool> sent = std::vector<bool>(58, true);
  std::vector<bool> line;

  void put(const Block& block) {
    line.push_back((block.header & 1) != 0);
    line.push_back((block.header & 2) != 0);
    for (int bit = 0; bit < 64; ++bit) {
      const std::size_t end = sent.size();
      const bool out = (((block.payload >> bit & 1) != 0) != sent[end - 39]) != sent[end - 58];
      sent.push_back(out);
      line.push_back(out);
    }
  }
};

std::vector<Block> random_blocks(Random& random, std::size_t count) {
  std::vector<Block> blocks(count);
  for (Block& block : blocks)
    block = {random.below(2) == 0 ? Block::kData : Block::kControl, random.next()};
  return blocks;
}

struct Columns {
  explicit Columns(const std::vector<Block>& blocks) {
    for (const Block& block : blocks) {
      payloads.push_back(block.payload);
      headers.push_back(block.header);
    }
  }
  std::vector<std::uint64_t> payloads;
  std::vector<std::uint8_t> headers;
};

bool bit_of(const std::vector<std::byte>& octets, std::size_t at) {
  return (std::to_integer<unsigned>(octets[at / 8]) >> (at % 8) & 1) != 0;
}

TEST(BlockStream, OfEachKernelIsTheOneOfTheStandardBitByBit) {
  Random random(11);
  for (const BlockStreamKernel& kernel : block_stream_kernels()) {
    SCOPED_TRACE(kernel.name);
    for (int round = 0; round < 60; ++round) {
      BitByBit definition;
      std::vector<std::byte> line;
      std::uint64_t sent = ~std::uint64_t{0};
      std::uint64_t scrambled = sent;
      // In pieces that the kernels do otherwise.
      for (int piece = 0; piece < 3; ++piece) {
        const std::size_t groups = random.below(40);
        const auto blocks = random_blocks(random, groups * kGroupBlocks);
        for (const Block& block : blocks)
          definition.put(block);
        Columns columns(blocks);
        std::vector<std::byte> octets(groups * kGroupOctets);
        sent = kernel.pack(columns.payloads.data(), columns.headers.data(), groups, octets.data(),
                           sent);
        line.insert(line.end(), octets.begin(), octets.end());
        scrambled = kernel.scramble(columns.payloads.data(), columns.payloads.data(),
                                    columns.payloads.size(), scrambled);
        ASSERT_EQ(scrambled, sent);
      }
      ASSERT_EQ(definition.line.size(), 8 * line.size());
      for (std::size_t at = 0; at < definition.line.size(); ++at)
        ASSERT_EQ(bit_of(line, at), definition.line[at]) << "bit " << at;
    }
  }
}

// Any number of payloads after any line, in place and not.
TEST(BlockStream, OfAnyNumberOfPayloadsIsTheOneOfTheStandardByEachKernel) {
  Random random(12);
  for (std::size_t count = 0; count < 100; ++count) {
    const auto blocks = random_blocks(random, count);
    const Columns columns(blocks);
    const std::uint64_t before = random.next();
    BitByBit definition;
    for (std::size_t bit = 0; bit < definition.sent.size(); ++bit)
      definition.sent[bit] = (before >> (bit + 6) & 1) != 0;
    std::vector<std::uint64_t> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
      definition.put(blocks[i]);
      for (std::size_t bit = 0; bit < 64; ++bit) {
        if (definition.line[i * kBlockBits + 2 + bit]) expected[i] |= std::uint64_t{1} << bit;
      }
    }
    const std::uint64_t after = count == 0 ? before : expected.back();
    for (const BlockStreamKernel& kernel : block_stream_kernels()) {
      SCOPED_TRACE(kernel.name);
      std::vector<std::uint64_t> out(count);
      EXPECT_EQ(kernel.scramble(columns.payloads.data(), out.data(), count, before), after);
      EXPECT_EQ(out, expected);
      out = columns.payloads;
      EXPECT_EQ(kernel.scramble(out.data(), out.data(), count, before), after);
      EXPECT_EQ(out, expected);
    }
  }
}

TEST(BlockStream, IsUnpackedFromAnyBitOnAndDescrambledAfter58Bits) {
  Random random(13);
  for (std::size_t skipped = 0; skipped < 2 * kBlockBits; ++skipped) {
    const auto blocks = random_blocks(random, 64);
    const Columns columns(blocks);
    std::vector<std::byte> line(blocks.size() / kGroupBlocks * kGroupOctets);
    const std::uint64_t before = random.next();
    const std::uint64_t sent =
        block_stream_kernels().front().pack(columns.payloads.data(), columns.headers.data(),
                                            line.size() / kGroupOctets, line.data(), before);
    // The same with some bits before.
    std::vector<std::byte> octets(line.size() + skipped / 8 + 1);
    for (std::size_t at = 0; at < 8 * line.size(); ++at) {
      if (bit_of(line, at))
        octets[(at + skipped) / 8] |= static_cast<std::byte>(1U << (at + skipped) % 8);
    }
    std::vector<std::uint64_t> payloads(blocks.size());
    std::vector<std::uint8_t> headers(blocks.size());
    for (const BlockStreamKernel& kernel : block_stream_kernels()) {
      SCOPED_TRACE(kernel.name);
      std::ranges::fill(payloads, 0);
      const std::size_t first = skipped % 20;
      const std::uint64_t heard =
          kernel.unpack(octets, skipped, first, payloads.data(), headers.data(), before);
      const std::uint64_t last =
          kernel.unpack(octets, skipped + first * kBlockBits, blocks.size() - first,
                        payloads.data() + first, headers.data() + first, heard);
      EXPECT_EQ(headers, columns.headers);
      EXPECT_EQ(payloads, columns.payloads);
      EXPECT_EQ(last, sent);
    }
    BlockDescrambler().unpack(octets, skipped, payloads, headers);
    EXPECT_EQ(headers, columns.headers);
    EXPECT_TRUE(std::equal(payloads.begin() + 1, payloads.end(), columns.payloads.begin() + 1));
  }
}

TEST(BlockStream, TurnsOctetsRound) {
  const std::array from{std::byte{0x01}, std::byte{0x80}, std::byte{0xE2}};
  std::array<std::byte, 3> to;
  reverse_bits(from, to);
  EXPECT_EQ(to, (std::array{std::byte{0x80}, std::byte{0x01}, std::byte{0x47}}));
  // Any number of them, in place.
  std::vector<std::byte> octets(300);
  for (std::size_t i = 0; i < octets.size(); ++i)
    octets[i] = static_cast<std::byte>(i);
  reverse_bits(octets, octets);
  for (std::size_t i = 0; i < 8 * octets.size(); ++i)
    ASSERT_EQ(bit_of(octets, i), (i / 8 >> (7 - i % 8) & 1) != 0) << i;
}

}  // namespace
}  // namespace weft::wan
