// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/block.h"

namespace weft::wan {
namespace {

struct CodePair {
  std::uint8_t character;
  std::uint8_t code;
};

// Table 49-1. The reserved ones have no meaning, but pass.
constexpr std::array<CodePair, 9> kControlCodes{{{Xgmii::kIdle, 0x00},
                                                 {Xgmii::kLowPowerIdle, 0x06},
                                                 {Xgmii::kError, 0x1E},
                                                 {0x1C, 0x2D},
                                                 {0x3C, 0x33},
                                                 {0x7C, 0x4B},
                                                 {0xBC, 0x55},
                                                 {0xDC, 0x66},
                                                 {0xF7, 0x78}}};
constexpr std::array<CodePair, 2> kSetCodes{{{Xgmii::kSequence, 0x0}, {Xgmii::kSignal, 0xF}}};

constexpr int kNoCode = -1;

template <class Pairs>
int code_of(const Pairs& pairs, std::uint8_t character) {
  for (const CodePair& pair : pairs) {
    if (pair.character == character) return pair.code;
  }
  return kNoCode;
}

template <class Pairs>
int character_of(const Pairs& pairs, std::uint8_t code) {
  for (const CodePair& pair : pairs) {
    if (pair.code == code) return pair.character;
  }
  return kNoCode;
}

bool in(std::uint8_t lanes, unsigned lane) {
  return (lanes >> lane & 1U) != 0;
}

constexpr BlockKind kind_of(const BlockLayout& layout) {
  if (layout.start != 0) return BlockKind::kStart;
  return layout.finish != 0 ? BlockKind::kTerminate : BlockKind::kControl;
}

BlockKind kind_of(const BlockLayout& layout, const XgmiiWord& word) {
  if (layout.codes != 0xFF) return kind_of(layout);
  // Only here an /E/ makes it an error (49.2.13.2.3).
  for (unsigned lane = 0; lane < 8; ++lane) {
    if (word.octet(lane) == Xgmii::kError) return BlockKind::kError;
  }
  return BlockKind::kControl;
}

// What the lane has, or kNoCode; where it is a control character, its bit is set in the word.
int decode_lane(const BlockLayout& layout, std::uint64_t payload, unsigned lane) {
  if (in(layout.data, lane)) return static_cast<std::uint8_t>(payload >> layout.data_at(lane));
  if (in(layout.start, lane)) return Xgmii::kStart;
  if (in(layout.finish, lane)) return Xgmii::kTerminate;
  if (in(layout.sets, lane)) {
    return character_of(kSetCodes,
                        static_cast<std::uint8_t>(payload >> BlockLayout::set_at(lane) & 0xF));
  }
  return character_of(kControlCodes,
                      static_cast<std::uint8_t>(payload >> BlockLayout::code_at(lane) & 0x7F));
}

// The bits of the lane in a block's payload; nothing: the layout has no place for that.
std::optional<std::uint64_t> encode_lane(const BlockLayout& layout, const XgmiiWord& word,
                                         unsigned lane) {
  const std::uint8_t octet = word.octet(lane);
  if (in(layout.data, lane)) return std::uint64_t{octet} << layout.data_at(lane);
  if (in(layout.start, lane) || in(layout.finish, lane)) {
    const auto wanted = in(layout.start, lane) ? Xgmii::kStart : Xgmii::kTerminate;
    return octet == wanted ? std::optional<std::uint64_t>(0) : std::nullopt;
  }
  const bool is_set = in(layout.sets, lane);
  const int code = is_set ? code_of(kSetCodes, octet) : code_of(kControlCodes, octet);
  if (code == kNoCode) return std::nullopt;
  const unsigned at = is_set ? BlockLayout::set_at(lane) : BlockLayout::code_at(lane);
  return static_cast<std::uint64_t>(code) << at;
}

std::optional<std::uint64_t> encode_as(const BlockLayout& layout, const XgmiiWord& word) {
  if (word.control != static_cast<std::uint8_t>(~layout.data)) return std::nullopt;
  std::uint64_t payload = layout.type;
  for (unsigned lane = 0; lane < 8; ++lane) {
    const auto bits = encode_lane(layout, word, lane);
    if (!bits) return std::nullopt;
    payload |= *bits;
  }
  return payload;
}

// A layout that has no ordered set, where all its control characters are idle.
struct IdleShape {
  std::uint64_t codes = 0;  // bits of the payload which then are zero
  std::uint64_t data = 0;   // bits of the word that are data
  std::uint64_t fixed = 0;  // the others
};

constexpr IdleShape idle_shape(const BlockLayout& layout) {
  IdleShape shape;
  for (unsigned lane = 0; lane < 8; ++lane) {
    std::uint64_t octet = Xgmii::kIdle;
    if ((layout.codes >> lane & 1U) != 0) {
      shape.codes |= std::uint64_t{0x7F} << BlockLayout::code_at(lane);
    } else if ((layout.start >> lane & 1U) != 0) {
      octet = Xgmii::kStart;
    } else if ((layout.finish >> lane & 1U) != 0) {
      octet = Xgmii::kTerminate;
    } else {
      octet = 0;
      shape.data |= std::uint64_t{0xFF} << (8 * lane);
    }
    shape.fixed |= octet << (8 * lane);
  }
  return shape;
}

constexpr auto kIdleShapes = [] {
  std::array<IdleShape, kBlockLayouts.size()> shapes;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    shapes[i] = idle_shape(kBlockLayouts[i]);
  return shapes;
}();

constexpr std::uint8_t kNoLayout = kBlockLayouts.size();
// By the type; kNoLayout: no block has it.
constexpr auto kLayoutOfType = [] {
  std::array<std::uint8_t, 256> numbers{};
  numbers.fill(kNoLayout);
  for (std::uint8_t i = 0; i < kNoLayout; ++i)
    numbers[kBlockLayouts[i].type] = i;
  return numbers;
}();

constexpr std::uint64_t all_error_codes() {
  std::uint64_t payload = 0x1E;
  for (unsigned lane = 0; lane < 8; ++lane)
    payload |= std::uint64_t{0x1E} << BlockLayout::code_at(lane);
  return payload;
}

}  // namespace

const BlockLayout* find_layout(std::uint8_t type) {
  const std::uint8_t number = kLayoutOfType[type];
  return number == kNoLayout ? nullptr : &kBlockLayouts[number];
}

DecodedBlock decode_block(const Block& block) {
  if (block.header == Block::kData) return {BlockKind::kData, {block.payload, 0}};
  if (block.header != Block::kControl) return {};
  const std::uint8_t number = kLayoutOfType[block.payload & 0xFF];
  if (number == kNoLayout) return {};
  const BlockLayout& layout = kBlockLayouts[number];
  const IdleShape& shape = kIdleShapes[number];
  XgmiiWord word{0, static_cast<std::uint8_t>(~layout.data)};
  if (layout.sets == 0 && (block.payload & shape.codes) == 0) {
    word.octets = block.payload >> layout.data_at(0) & shape.data;
    word.octets |= shape.fixed;
    return {kind_of(layout), word};
  }
  for (unsigned lane = 0; lane < 8; ++lane) {
    const int octet = decode_lane(layout, block.payload, lane);
    if (octet == kNoCode) return {};
    word.octets |= static_cast<std::uint64_t>(octet) << (8 * lane);
  }
  const BlockKind kind = kind_of(layout, word);
  return kind == BlockKind::kError ? DecodedBlock{} : DecodedBlock{kind, word};
}

EncodedBlock encode_block(const XgmiiWord& word) {
  if (word.control == 0) return {BlockKind::kData, {Block::kData, word.octets}};
  if (word == kIdleWord) return {BlockKind::kControl, {Block::kControl, kBlockLayouts[0].type}};
  for (const BlockLayout& layout : kBlockLayouts) {
    const auto payload = encode_as(layout, word);
    if (!payload) continue;
    const BlockKind kind = kind_of(layout, word);
    if (kind != BlockKind::kError) return {kind, {Block::kControl, *payload}};
  }
  return {BlockKind::kError, {Block::kControl, all_error_codes()}};
}

}  // namespace weft::wan
