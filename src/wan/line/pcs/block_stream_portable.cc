// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "wan/line/pcs/block_stream_kernels.h"
#include "wire/endian.h"

namespace weft::wan::detail {
namespace {

std::uint64_t scramble_by_words(const std::uint64_t* from, std::uint64_t* to, std::size_t count,
                                std::uint64_t sent) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = sent = scramble_word(from[i], sent);
  return sent;
}

// The n-th of four blocks begins 2n bits behind an octet, and so ends 2n + 2 bits behind one: what
// does not fit in its eight octets is the beginning of the next ones, and returned. Each n is a
// constant where this is called, which shifts by it are quicker for.
inline std::uint64_t put_block(unsigned n, std::uint64_t over, std::uint64_t header,
                               std::uint64_t word, std::byte* octets) {
  wire::store_le64(octets + 8 * std::size_t{n}, over | header << (2 * n) | word << (2 * n + 2));
  return word >> (62 - 2 * n);
}

std::uint64_t pack_by_words(const std::uint64_t* payloads, const std::uint8_t* headers,
                            std::size_t groups, std::byte* octets, std::uint64_t sent) {
  for (std::size_t group = 0; group < groups; ++group) {
    sent = scramble_word(payloads[0], sent);
    std::uint64_t over = put_block(0, 0, headers[0], sent, octets);
    sent = scramble_word(payloads[1], sent);
    over = put_block(1, over, headers[1], sent, octets);
    sent = scramble_word(payloads[2], sent);
    over = put_block(2, over, headers[2], sent, octets);
    sent = scramble_word(payloads[3], sent);
    over = put_block(3, over, headers[3], sent, octets);
    octets[kGroupOctets - 1] = static_cast<std::byte>(over);
    payloads += kGroupBlocks;
    headers += kGroupBlocks;
    octets += kGroupOctets;
  }
  return sent;
}

// From bit 0 to 7 of an octet on, a block takes up to ten of them. Of the last ones there may not
// be so many that two words can be read.
std::uint64_t unpack_by_words(Bytes octets, std::size_t at, std::size_t count,
                              std::uint64_t* payloads, std::uint8_t* headers, std::uint64_t heard) {
  std::array<std::byte, 2 * sizeof(std::uint64_t)> last{};
  for (std::size_t i = 0; i < count; ++i, at += kBlockBits) {
    Bytes from = octets.subspan(at / 8);
    if (from.size() < last.size()) {
      std::ranges::copy(from, last.begin());
      from = last;
    }
    const unsigned shift = at % 8;
    const std::uint64_t low = wire::load_le64(from.data());
    const std::uint64_t high = wire::load_le64(from.data() + sizeof low);
    const std::uint64_t word = low >> (shift + 2) | high << (62 - shift);
    headers[i] = static_cast<std::uint8_t>(low >> shift & 3);
    payloads[i] = descramble_word(word, heard);
    heard = word;
  }
  return heard;
}

}  // namespace

const BlockStreamKernel kPortableBlockStream{"portable", scramble_by_words, pack_by_words,
                                             unpack_by_words};

}  // namespace weft::wan::detail
