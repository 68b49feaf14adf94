// SPDX-License-Identifier: Apache-2.0
// Every kernel of 8b/10b blocks against an Encoder and a Decoder. Byte 0 has the disparity to begin
// with (bit 0) and whether code words are decoded as they are encoded (bit 1) or as they are in the
// input; bytes 1 and 2 say where to cut; the rest is data.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "input.h"
#include "phy/code/block_code.h"
#include "phy/code/code_8b10b.h"

namespace {

using namespace weft;
using namespace weft::phy;
using fuzz::require;

std::vector<std::uint16_t> encode_one_by_one(Bytes data, Disparity& disparity) {
  Encoder encoder(disparity);
  std::vector<std::uint16_t> words;
  for (const std::byte byte : data) {
    words.push_back(encoder.encode({std::to_integer<std::uint8_t>(byte), false}));
  }
  disparity = encoder.disparity();
  return words;
}

std::vector<std::byte> decode_one_by_one(std::span<const std::uint16_t> words,
                                         Disparity& disparity) {
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

void check_encoding(Bytes data, std::size_t cut, Disparity before,
                    const std::vector<std::uint16_t>& expected, Disparity expected_after) {
  for (const BlockKernel& kernel : block_kernels()) {
    std::vector<std::uint16_t> words(data.size());
    const Disparity between = kernel.encode(data.first(cut), words.data(), before);
    const Disparity after = kernel.encode(data.subspan(cut), words.data() + cut, between);
    require(words == expected);
    require(after == expected_after);
  }
}

void check_decoding(std::span<const std::uint16_t> words, Disparity before) {
  Disparity expected_after = before;
  const std::vector<std::byte> expected = decode_one_by_one(words, expected_after);
  for (const BlockKernel& kernel : block_kernels()) {
    std::vector<std::byte> bytes(words.size());
    Disparity disparity = before;
    bytes.resize(kernel.decode(words, bytes.data(), disparity));
    require(bytes == expected);
    require(disparity == expected_after);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(std::as_bytes(std::span(data, std::min<std::size_t>(size, 3))));
  const std::uint8_t flags = input.byte();
  const std::uint16_t place = input.word();
  const Bytes bytes = std::as_bytes(std::span(data, size)).subspan(std::min<std::size_t>(size, 3));
  const auto before = Disparity(flags & 1);

  Disparity after = before;
  std::vector<std::uint16_t> words = encode_one_by_one(bytes, after);
  const std::size_t cut = place % (bytes.size() + 1);
  check_encoding(bytes, cut, before, words, after);
  if ((flags & 2) != 0 && cut + 1 < bytes.size()) {
    // One word is of the input, whatever it is.
    words[cut] = static_cast<std::uint16_t>(data[3 + cut] << 8 | data[3 + cut + 1]);
  }
  check_decoding(words, before);
  return 0;
}
