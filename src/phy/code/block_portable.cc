// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "phy/code/block_kernels.h"
#include "phy/code/code_tables.h"

namespace weft::phy::detail {
namespace {

// Code words at negative disparity, and from kPlusRow on those at positive disparity.
constexpr std::size_t kPlusRow = 256;

consteval std::array<std::uint16_t, 2 * kPlusRow> make_word_rows() {
  std::array<std::uint16_t, 2 * kPlusRow> rows{};
  for (std::size_t i = 0; i < kPlusRow; ++i) {
    rows[i] = kEncode[i] & EncodeEntry::kCodeMask;
    rows[kPlusRow + i] = kEncode[i] >> EncodeEntry::kPlusShift & EncodeEntry::kCodeMask;
  }
  return rows;
}

// From one row to the other, or not.
consteval std::array<std::uint16_t, 256> make_row_changes() {
  std::array<std::uint16_t, 256> changes{};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    changes[i] = (kEncode[i] >> EncodeEntry::kFlipShift) != 0 ? kPlusRow : 0;
  }
  return changes;
}

constexpr std::array<std::uint16_t, 2 * kPlusRow> kWordRows = make_word_rows();
constexpr std::array<std::uint16_t, 256> kRowChanges = make_row_changes();

// From one byte to the next the disparity costs one exclusive or, with what has been looked up by
// the byte alone; the code word is looked up beside that.
inline void encode_one(std::byte byte, std::uint16_t& out, std::size_t& row) {
  const auto value = std::to_integer<std::size_t>(byte);
  out = kWordRows[row + value];
  row ^= kRowChanges[value];
}

// So many at a step that the loop around them does not count.
constexpr std::size_t kUnrolled = 8;

template <std::size_t... kByte>
inline void encode_some(const std::byte* at, std::uint16_t* out, std::size_t& row,
                        std::index_sequence<kByte...> /*0 to kUnrolled - 1*/) {
  (encode_one(at[kByte], out[kByte], row), ...);
}

Disparity encode_portable(Bytes data, std::uint16_t* out, Disparity before) {
  std::size_t row = before == Disparity::kPlus ? kPlusRow : 0;
  const std::byte* at = data.data();
  std::size_t left = data.size();
  for (; left >= kUnrolled; left -= kUnrolled, at += kUnrolled, out += kUnrolled) {
    encode_some(at, out, row, std::make_index_sequence<kUnrolled>());
  }
  for (; left != 0; --left)
    encode_one(*at++, *out++, row);
  return row == 0 ? Disparity::kMinus : Disparity::kPlus;
}

std::size_t decode_portable(std::span<const std::uint16_t> words, std::byte* out,
                            Disparity& disparity) {
  unsigned before = static_cast<unsigned>(disparity);
  std::size_t done = 0;
  for (const std::uint16_t word : words) {
    const unsigned entry = kDecode[word & EncodeEntry::kCodeMask];
    const bool is_data =
        (entry >> before & DecodeEntry::kValidAt) != 0 && (entry & DecodeEntry::kControl) == 0;
    if (!is_data) break;
    out[done++] = static_cast<std::byte>(entry);
    before = (entry >> before & DecodeEntry::kAfter) != 0 ? 1 : 0;
  }
  disparity = Disparity(before);
  return done;
}

}  // namespace

const BlockKernel kPortableBlock{"portable", encode_portable, decode_portable};

}  // namespace weft::phy::detail
