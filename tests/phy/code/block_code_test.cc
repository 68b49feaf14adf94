// SPDX-License-Identifier: Apache-2.0
#include "phy/code/block_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "phy/code/code_8b10b.h"
#include "reference_8b10b.h"

namespace weft::phy {
namespace {

std::vector<std::byte> random_bytes(Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(random.next());
  return bytes;
}

std::vector<std::uint16_t> one_by_one(Bytes data, Disparity& disparity) {
  Encoder encoder(disparity);
  std::vector<std::uint16_t> words;
  for (const std::byte byte : data) {
    words.push_back(encoder.encode({std::to_integer<std::uint8_t>(byte), false}));
  }
  disparity = encoder.disparity();
  return words;
}

// What decode_block has to do, with a Decoder.
std::vector<std::byte> leading_data(std::span<const std::uint16_t> words, Disparity& disparity) {
  std::vector<std::byte> bytes;
  for (const std::uint16_t word : words) {
    Decoder decoder(disparity);
    const Decoder::Decoded decoded = decoder.decode(word);
    if (decoded.error() || decoded.character.control) break;
    bytes.push_back(static_cast<std::byte>(decoded.character.value));
    disparity = decoder.disparity();
  }
  return bytes;
}

TEST(BlockCode, HasThePortableKernelAlwaysAndUsesTheLast) {
  ASSERT_FALSE(block_kernels().empty());
  EXPECT_EQ(block_kernels().front().name, "portable");
}

TEST(BlockCode, EncodesEachByteAtEachDisparityAndPlaceAsInTheTables) {
  for (const BlockKernel& kernel : block_kernels()) {
    for (const bool before : {false, true}) {
      for (std::size_t place = 0; place < 130; place += 13) {
        for (unsigned value = 0; value < 256; ++value) {
          // Bytes before it that leave the disparity as it was.
          std::vector<std::byte> data(place, std::byte{0x4A});
          data.push_back(static_cast<std::byte>(value));
          std::vector<std::uint16_t> words(data.size());
          const Disparity after = kernel.encode(data, words.data(), Disparity(before ? 1 : 0));
          bool positive = before;
          const auto bits = reference::encode({static_cast<std::uint8_t>(value), false}, positive);
          EXPECT_EQ(words.back(), reference::word(*bits)) << kernel.name << " " << value;
          EXPECT_EQ(after, Disparity(positive ? 1 : 0)) << kernel.name << " " << value;
        }
      }
    }
  }
}

TEST(BlockCode, EncodesAsAnEncoderDoesAtAnyLengthAndWritesNoFurther) {
  Random random(1);
  for (const BlockKernel& kernel : block_kernels()) {
    for (std::size_t size = 0; size <= 400; ++size) {
      const std::vector<std::byte> data = random_bytes(random, size);
      for (const Disparity before : {Disparity::kMinus, Disparity::kPlus}) {
        Disparity after = before;
        std::vector<std::uint16_t> expected = one_by_one(data, after);
        expected.resize(size + 70, 0xABCD);
        std::vector<std::uint16_t> words(size + 70, 0xABCD);
        EXPECT_EQ(kernel.encode(data, words.data(), before), after) << kernel.name << " " << size;
        EXPECT_EQ(words, expected) << kernel.name << " " << size;
      }
    }
  }
}

TEST(BlockCode, CarriesTheDisparityFromBlockToBlock) {
  Random random(2);
  const std::vector<std::byte> data = random_bytes(random, 4096);
  Disparity expected_after = Disparity::kMinus;
  const std::vector<std::uint16_t> expected = one_by_one(data, expected_after);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint16_t> words(data.size());
    Disparity disparity = Disparity::kMinus;
    for (std::size_t at = 0; at < data.size();) {
      const std::size_t size = std::min<std::size_t>(random.below(300), data.size() - at);
      disparity = encode_block(Bytes(data).subspan(at, size), std::span(words).subspan(at, size),
                               disparity);
      at += size;
    }
    EXPECT_EQ(words, expected);
    EXPECT_EQ(disparity, expected_after);
  }
}

TEST(BlockCode, DecodesWhatItEncodesAndLeavesBitsAboveTheTenthAlone) {
  Random random(3);
  for (const BlockKernel& kernel : block_kernels()) {
    for (std::size_t size = 0; size <= 300; ++size) {
      const std::vector<std::byte> data = random_bytes(random, size);
      Disparity disparity = Disparity(size % 2);
      Disparity after = disparity;
      std::vector<std::uint16_t> words = one_by_one(data, after);
      for (std::uint16_t& word : words) {
        word = static_cast<std::uint16_t>(word | random.below(64) << 10);
      }
      std::vector<std::byte> out(size);
      EXPECT_EQ(kernel.decode(words, out.data(), disparity), size) << kernel.name;
      EXPECT_EQ(out, data) << kernel.name;
      EXPECT_EQ(disparity, after) << kernel.name;
    }
  }
}

TEST(BlockCode, DecodesUpToEachOfTheWordsThatIsNoDataCharacter) {
  Random random(4);
  for (const BlockKernel& kernel : block_kernels()) {
    for (std::uint16_t wrong = 0; wrong < 1024; ++wrong) {
      for (const Disparity start : {Disparity::kMinus, Disparity::kPlus}) {
        const std::vector<std::byte> data = random_bytes(random, 100);
        Disparity after = start;
        std::vector<std::uint16_t> words = one_by_one(data, after);
        words[random.below(words.size())] = wrong;
        Disparity expected_after = start;
        const std::vector<std::byte> expected = leading_data(words, expected_after);
        std::vector<std::byte> out(words.size());
        Disparity disparity = start;
        const std::size_t done = kernel.decode(words, out.data(), disparity);
        out.resize(done);
        ASSERT_EQ(out, expected) << kernel.name << " " << wrong;
        ASSERT_EQ(disparity, expected_after) << kernel.name << " " << wrong;
      }
    }
  }
}

}  // namespace
}  // namespace weft::phy
