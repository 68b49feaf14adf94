// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/block.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "wan/line/pcs/coding_states.h"

namespace weft::wan {
namespace {

// Idle but for some lanes.
XgmiiWord word(std::uint64_t octets, std::uint8_t control) {
  return {octets, control};
}

struct Example {
  XgmiiWord word;
  BlockKind kind;
  std::uint64_t payload;
};

// Written from Figure 49-7 by hand: what is in which bits of each of the fifteen.
const std::vector<Example>& examples() {
  static const std::vector<Example> all{
      {kIdleWord, BlockKind::kControl, 0x1E},
      {word(0x0605'0407'0707'0707, 0xFF), BlockKind::kError, 0},
      {word(0x0202'019C'0707'0707, 0x1F), BlockKind::kControl, 0x0202'0100'0000'002D},
      {word(0x0202'015C'0707'0707, 0x1F), BlockKind::kControl, 0x0202'01F0'0000'002D},
      {word(0x5555'55FB'0707'0707, 0x1F), BlockKind::kStart, 0x5555'5500'0000'0033},
      {word(0x5555'55FB'0200'009C, 0x11), BlockKind::kStart, 0x5555'5500'0200'0066},
      {word(0x5555'55FB'0200'005C, 0x11), BlockKind::kStart, 0x5555'550F'0200'0066},
      {word(0x0100'009C'0200'005C, 0x11), BlockKind::kControl, 0x0100'000F'0200'0055},
      {word(0x0100'005C'0200'009C, 0x11), BlockKind::kControl, 0x0100'00F0'0200'0055},
      {word(0xD555'5555'5555'55FB, 0x01), BlockKind::kStart, 0xD555'5555'5555'5578},
      {word(0x0707'0707'0100'009C, 0xF1), BlockKind::kControl, 0x0000'0000'0100'004B},
      {word(0xFE07'0707'0100'009C, 0xF1), BlockKind::kControl, 0x3C00'0000'0100'004B},
      {word(0x0707'0707'0707'07FD, 0xFF), BlockKind::kTerminate, 0x0000'0000'0000'0087},
      {word(0x0707'0707'0707'06FD, 0xFF), BlockKind::kTerminate, 0x0000'0000'0003'0087},
      {word(0x0707'0707'0707'FD11, 0xFE), BlockKind::kTerminate, 0x0000'0000'0000'1199},
      {word(0x0707'0707'07FD'2211, 0xFC), BlockKind::kTerminate, 0x0000'0000'0022'11AA},
      {word(0x0707'0707'FD33'2211, 0xF8), BlockKind::kTerminate, 0x0000'0000'3322'11B4},
      {word(0x0707'07FD'4433'2211, 0xF0), BlockKind::kTerminate, 0x0000'0044'3322'11CC},
      {word(0x0707'FD55'4433'2211, 0xE0), BlockKind::kTerminate, 0x0000'5544'3322'11D2},
      {word(0x07FD'6655'4433'2211, 0xC0), BlockKind::kTerminate, 0x0066'5544'3322'11E1},
      {word(0xFD77'6655'4433'2211, 0x80), BlockKind::kTerminate, 0x7766'5544'3322'11FF},
      {word(0xF7DC'BC7C'3C1C'0607, 0xFF), BlockKind::kControl,
       0x1EULL | 0x06ULL << 15 | 0x2DULL << 22 | 0x33ULL << 29 | 0x4BULL << 36 | 0x55ULL << 43 |
           0x66ULL << 50 | 0x78ULL << 57},
  };
  return all;
}

TEST(Block, IsOfTheStandardsTable) {
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.word.octets);
    const EncodedBlock encoded = encode_block(example.word);
    EXPECT_EQ(encoded.kind, example.kind);
    if (example.kind == BlockKind::kError) continue;
    EXPECT_EQ(encoded.block, (Block{Block::kControl, example.payload}));
    const DecodedBlock decoded = decode_block(encoded.block);
    EXPECT_EQ(decoded.kind, example.kind);
    EXPECT_EQ(decoded.word, example.word);
  }
}

TEST(Block, OfDataIsTheData) {
  const XgmiiWord data{0x0123'4567'89AB'CDEF, 0};
  EXPECT_EQ(encode_block(data).block, (Block{Block::kData, data.octets}));
  EXPECT_EQ(decode_block({Block::kData, data.octets}).word, data);
  EXPECT_EQ(decode_block({Block::kData, data.octets}).kind, BlockKind::kData);
}

TEST(Block, OfAnyOtherHeaderTypeOrCodeIsAnError) {
  for (const std::uint8_t header : {std::uint8_t{0}, std::uint8_t{3}})
    EXPECT_EQ(decode_block({header, 0x1E}).kind, BlockKind::kError);
  for (unsigned type = 0; type < 256; ++type) {
    const bool known = find_layout(static_cast<std::uint8_t>(type)) != nullptr;
    EXPECT_EQ(decode_block({Block::kControl, type}).kind != BlockKind::kError, known) << type;
  }
  EXPECT_EQ(decode_block({Block::kControl, 0x1E | 1 << 8}).kind, BlockKind::kError);
  EXPECT_EQ(decode_block({Block::kControl, 0x55 | 3ULL << 32}).kind, BlockKind::kError);
  EXPECT_EQ(decode_block({Block::kControl, 0x1E | 0x1E << 8}).kind, BlockKind::kError)
      << "an /E/ among idle";
  EXPECT_EQ(decode_block({Block::kControl, 0x55 | 3ULL << 32}).word, kErrorWord);
}

TEST(Block, OfAnErrorHasEightOfThem) {
  const Block block = encode_block(kErrorWord).block;
  EXPECT_EQ(block, (Block{Block::kControl, 0x3C78'F1E3'C78F'1E1E}));
  EXPECT_EQ(decode_block(block).word, kErrorWord);
}

// Whatever can be decoded is what would have been encoded, but for bits that no lane has.
TEST(Block, DecodesToWhatEncodesToIt) {
  Random random(5);
  int good = 0;
  for (int round = 0; round < 300'000; ++round) {
    const auto& layout = kBlockLayouts[random.below(kBlockLayouts.size())];
    // Codes that are in the table are not hit by chance.
    std::uint64_t payload = random.next() & random.next() & random.next();
    payload = (payload & ~std::uint64_t{0xFF}) | layout.type;
    const DecodedBlock decoded = decode_block({Block::kControl, payload});
    if (decoded.kind == BlockKind::kError) continue;
    ++good;
    const EncodedBlock encoded = encode_block(decoded.word);
    EXPECT_EQ(encoded.kind, decoded.kind);
    EXPECT_EQ(decode_block(encoded.block).word, decoded.word);
    EXPECT_EQ(encoded.block.payload & ~payload, 0U);
  }
  EXPECT_GT(good, 10'000);
}

using enum BlockKind;

TEST(CodingStates, SendWhatIsInItsTurnAndErrorsForTheRest) {
  const XgmiiWord start{0xD555'5555'5555'55FB, 0x01};
  const XgmiiWord data{0x1122, 0};
  const XgmiiWord finish{0x0707'0707'0707'07FD, 0xFF};
  const Block error = encode_block(kErrorWord).block;
  TransmitStates states;
  EXPECT_EQ(states.next(kIdleWord), encode_block(kIdleWord).block);
  EXPECT_EQ(states.next(data), error) << "data outside of a frame";
  EXPECT_EQ(states.next(kIdleWord), encode_block(kIdleWord).block);
  EXPECT_EQ(states.next(finish), error) << "the end of no frame";
  EXPECT_EQ(states.next(kIdleWord), encode_block(kIdleWord).block);
  EXPECT_EQ(states.next(start), encode_block(start).block);
  EXPECT_EQ(states.next(data), encode_block(data).block);
  EXPECT_EQ(states.next(start), error) << "a frame within a frame";
  EXPECT_EQ(states.next(data), encode_block(data).block);
  EXPECT_EQ(states.next(finish), encode_block(finish).block);
  EXPECT_EQ(states.next(start), encode_block(start).block) << "right behind another one";
  EXPECT_EQ(states.next(kIdleWord), error) << "a frame without an end";
}

struct Received : XgmiiSink {
  std::vector<XgmiiWord> words;
  ReceiveStates states;

  void data(std::span<const std::uint64_t> octets) override {
    for (const std::uint64_t word : octets)
      words.push_back({word, 0});
  }
  void control(const XgmiiWord& word) override {
    EXPECT_NE(word.control, 0);
    words.push_back(word);
  }

  void take(const std::vector<Block>& blocks) {
    std::vector<std::uint64_t> payloads;
    std::vector<std::uint8_t> headers;
    for (const Block& block : blocks) {
      payloads.push_back(block.payload);
      headers.push_back(block.header);
    }
    states.take(payloads, headers, *this);
  }
};

TEST(CodingStates, TakeAnEndForOneOnlyByWhatFollows) {
  const XgmiiWord start{0xD555'5555'5555'55FB, 0x01};
  const XgmiiWord data{0x1122, 0};
  const XgmiiWord finish{0x0707'0707'0707'07FD, 0xFF};
  const auto block = [](const XgmiiWord& word) { return encode_block(word).block; };
  Received good;
  good.take({block(start), block(data), block(finish)});
  EXPECT_EQ(good.words, (std::vector{start, data})) << "the end is kept";
  good.take({block(kIdleWord)});
  EXPECT_EQ(good.words, (std::vector{start, data, finish, kIdleWord}));
  EXPECT_EQ(good.states.take_errors(), 0U);

  Received bad;
  bad.take({block(start), block(finish), block(data), block(finish), block(finish), block(start),
            block(kIdleWord)});
  EXPECT_EQ(bad.words,
            (std::vector{start, kErrorWord, data, kErrorWord, finish, start, kErrorWord}));
  EXPECT_EQ(bad.states.take_errors(), 3U);
}

}  // namespace
}  // namespace weft::wan
