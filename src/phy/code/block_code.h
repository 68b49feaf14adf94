// SPDX-License-Identifier: Apache-2.0
// 8b/10b for many data characters at once: the inside of packets, and idle data. The disparity is
// what makes the code a chain. But whether a byte changes it depends on the byte alone, so that
// the disparity before each byte is a sum of bits over all bytes before it, which can be had
// without encoding them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "phy/code/code_tables.h"

namespace weft::phy {

// Encodes `data` as an Encoder would and returns the disparity after it. `out` has room for as many
// code words.
Disparity encode_block(Bytes data, std::span<std::uint16_t> out, Disparity before);

// Decodes code words up to the first that is not a data character at the disparity it has to have,
// and returns how many there were; the rest is for a Decoder. `disparity` is the one before, and
// then that after the last that was decoded. `out` has room for as many bytes as there are words;
// what is behind those that were decoded may have been written to. Bits above the tenth of a word
// are not looked at.
std::size_t decode_block(std::span<const std::uint16_t> words, MutableBytes out,
                         Disparity& disparity);

// One way to do it. The functions above use the best that the machine can run; tests, benchmarks
// and fuzzers compare them all.
struct BlockKernel {
  std::string_view name;
  Disparity (*encode)(Bytes data, std::uint16_t* out, Disparity before);
  std::size_t (*decode)(std::span<const std::uint16_t> words, std::byte* out, Disparity& disparity);
};

// The kernels that this machine can run, the one in use last.
[[nodiscard]] std::span<const BlockKernel> block_kernels();

}  // namespace weft::phy
