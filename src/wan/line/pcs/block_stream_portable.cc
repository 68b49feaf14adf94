// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "wan/line/pcs/block_stream_kernels.h"
#include "wire/endian.h"

namespace weft::wan::detail {
namespace {

// Two payloads, one behind the other. What needs nothing that went out is done in such pairs: they
// leave the shifts of words, of which a processor does fewer at a time than of anything else, to
// what does.
using Pair = std::uint64_t __attribute__((vector_size(16)));

// Multiplies payloads by P and divides them by P^2: one word waits for the one before by a shift
// and two sums, instead of twice a shift and two sums.
class Divider {
 public:
  // After `first`, which went out as `sent`; `before` went out before that.
  Divider(std::uint64_t first, std::uint64_t sent, std::uint64_t before)
      : last_{0, first}, sent_(sent), before_(before) {}

  // Four payloads; then next() is for each of them.
  void multiply(const std::uint64_t* payloads) {
    for (std::size_t i = 0; i < kGroupBlocks; i += 2) {
      Pair now;
      std::memcpy(&now, payloads + i, sizeof now);
      const Pair late = __builtin_shufflevector(last_, now, 1, 2);
      // The delays are 39 and 19 more.
      const Pair product = now ^ (now ^ now << 19) << 39 ^ (late ^ late >> 19) >> 6;
      std::memcpy(products_.data() + i, &product, sizeof product);
      last_ = now;
    }
  }
  std::uint64_t next(std::size_t i) {
    std::uint64_t ahead = products_[i] ^ before_ >> (128 - 2 * 39) ^ before_ >> (128 - 2 * 58);
    asm("" : "+r"(ahead));  // as one summand: compilers change the order of sums, to a longer chain
    before_ = sent_;
    sent_ = ahead ^ sent_ << (2 * 39 - 64) ^ sent_ << (2 * 58 - 64);
    return sent_;
  }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  Pair last_;
  std::uint64_t sent_;
  std::uint64_t before_;
  std::array<std::uint64_t, kGroupBlocks> products_{};
};

std::uint64_t scramble_by_words(const std::uint64_t* from, std::uint64_t* to, std::size_t count,
                                std::uint64_t sent) {
  std::size_t i = 0;
  if (count > kGroupBlocks) {
    const std::uint64_t first = from[0];
    const std::uint64_t before = std::exchange(sent, scramble_word(first, sent));
    to[i++] = sent;
    Divider divider(first, sent, before);
    for (; i + kGroupBlocks <= count; i += kGroupBlocks) {
      divider.multiply(from + i);
      to[i] = divider.next(0);
      to[i + 1] = divider.next(1);
      to[i + 2] = divider.next(2);
      to[i + 3] = divider.next(3);
    }
    sent = divider.sent();
  }
  for (; i < count; ++i)
    to[i] = sent = scramble_word(from[i], sent);
  return sent;
}

std::uint64_t pack_by_words(const std::uint64_t* payloads, const std::uint8_t* headers,
                            std::size_t groups, std::byte* octets, std::uint64_t sent) {
  if (groups == 0) return sent;
  std::uint64_t before = 0;
  put_group(headers, octets, [&](std::size_t n) {
    before = std::exchange(sent, scramble_word(payloads[n], sent));
    return sent;
  });
  Divider divider(payloads[kGroupBlocks - 1], sent, before);
  for (std::size_t group = 1; group < groups; ++group) {
    payloads += kGroupBlocks;
    headers += kGroupBlocks;
    octets += kGroupOctets;
    divider.multiply(payloads);
    put_group(headers, octets, [&](std::size_t n) { return divider.next(n); });
  }
  return divider.sent();
}

// A block begins at so many bits, at most 13, of the first of two words.
inline std::uint64_t take_block(std::uint64_t first, std::uint64_t second, std::size_t bits,
                                std::uint8_t& header, std::uint64_t& payload, std::uint64_t heard) {
  const std::uint64_t low = first >> bits;
  const std::uint64_t word = low >> 2 | second << (62 - bits);
  header = static_cast<std::uint8_t>(low & 3);
  payload = descramble_word(word, heard);
  return word;
}

// Wherever in an octet the first of four blocks begins, the fifth begins there in the 33rd after
// it. Of the last ones there may be fewer octets than are read.
std::uint64_t unpack_by_words(Bytes octets, std::size_t at, std::size_t count,
                              std::uint64_t* payloads, std::uint8_t* headers, std::uint64_t heard) {
  constexpr std::size_t kReach = 40;  // octets that are read for four blocks
  std::size_t i = 0;
  Bytes from = octets.subspan(at / 8);
  const std::size_t begin = at % 8;
  for (; i + kGroupBlocks <= count && from.size() >= kReach; i += kGroupBlocks) {
    const std::uint64_t w0 = wire::load_le64(from.data());
    const std::uint64_t w1 = wire::load_le64(from.data() + 8);
    const std::uint64_t w2 = wire::load_le64(from.data() + 16);
    const std::uint64_t w3 = wire::load_le64(from.data() + 24);
    const std::uint64_t w4 = wire::load_le64(from.data() + 32);
    heard = take_block(w0, w1, begin, headers[i], payloads[i], heard);
    heard = take_block(w1, w2, begin + 2, headers[i + 1], payloads[i + 1], heard);
    heard = take_block(w2, w3, begin + 4, headers[i + 2], payloads[i + 2], heard);
    heard = take_block(w3, w4, begin + 6, headers[i + 3], payloads[i + 3], heard);
    from = from.subspan(kGroupOctets);
  }
  std::array<std::byte, 2 * sizeof(std::uint64_t)> last{};
  for (at += i * kBlockBits; i < count; ++i, at += kBlockBits) {
    from = octets.subspan(at / 8);
    if (from.size() < last.size()) {
      std::ranges::copy(from, last.begin());
      from = last;
    }
    const std::uint64_t first = wire::load_le64(from.data());
    const std::uint64_t second = wire::load_le64(from.data() + sizeof first);
    heard = take_block(first, second, at % 8, headers[i], payloads[i], heard);
  }
  return heard;
}

}  // namespace

const BlockStreamKernel kPortableBlockStream{"portable", scramble_by_words, pack_by_words,
                                             unpack_by_words};

}  // namespace weft::wan::detail
