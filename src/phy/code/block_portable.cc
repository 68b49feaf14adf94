// SPDX-License-Identifier: Apache-2.0
#include "phy/code/block_kernels.h"
#include "phy/code/code_tables.h"

namespace weft::phy::detail {
namespace {

// The disparity is 0 or 16: how far an entry is shifted. From one byte to the next it costs one
// exclusive or, which does not wait for a table.
Disparity encode_portable(Bytes data, std::uint16_t* out, Disparity before) {
  std::uint32_t shift = before == Disparity::kPlus ? EncodeEntry::kPlusShift : 0;
  for (const std::byte byte : data) {
    const std::uint32_t entry = kEncode[std::to_integer<std::size_t>(byte)];
    *out++ = static_cast<std::uint16_t>(entry >> shift & EncodeEntry::kCodeMask);
    shift ^= entry >> EncodeEntry::kFlipShift << 4;
  }
  return shift == 0 ? Disparity::kMinus : Disparity::kPlus;
}
static_assert(EncodeEntry::kPlusShift == 1U << 4);

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
