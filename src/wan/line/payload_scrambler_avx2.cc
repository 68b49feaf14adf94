// SPDX-License-Identifier: Apache-2.0
// 32 octets at a step. 1/(1 + x^43) is (1 + x^43)(1 + x^86)(1 + x^172)/(1 + x^344): to multiply
// waits for nothing that went out, and what went out 344 bits ago, 43 octets, is of steps before.
#if defined(__x86_64__)

#include "wan/line/avx2_stream.h"
#include "wan/line/payload_scrambler_kernels.h"
#include "wire/endian.h"

namespace weft::wan::detail {
namespace {

constexpr std::size_t kStep = 32;
constexpr std::size_t kBegun = 2 * kStep;  // so many octets are scrambled word by word first
constexpr int kDelay = 43;

// Words whose first bit on the line is the uppermost, from memory and back.
WEFT_AVX2_INLINE __m256i turned(__m256i words) {
  return _mm256_shuffle_epi8(
      words, _mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8,  //
                              7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
}

// Multiplies words by 1 + x^kBits.
template <int kBits>
WEFT_AVX2_INLINE __m256i times(__m256i now, __m256i before) {
  constexpr int kWords = kBits / 64 * 8;
  return sum(now, _mm256_srli_epi64(octets_late<kWords>(now, before), kBits % 64),
             _mm256_slli_epi64(octets_late<kWords + 8>(now, before), 64 - kBits % 64));
}

// What the products and the quotient have to know of steps before.
struct LookAhead {
  __m256i by0, by1, by2;  // words of the stream, and of it multiplied by the first, by two
  __m256i out1, out2;     // what went out in the last step, and in the one before, as in memory

  WEFT_AVX2_INLINE __m256i multiply(__m256i octets) {
    const __m256i words = turned(octets);
    const __m256i first = times<kDelay>(words, by0);
    const __m256i second = times<2 * kDelay>(first, by1);
    const __m256i third = times<4 * kDelay>(second, by2);
    by0 = words;
    by1 = first;
    by2 = second;
    return turned(third);
  }
  WEFT_AVX2_INLINE __m256i step(__m256i octets) {
    const __m256i out =
        _mm256_xor_si256(multiply(octets), octets_late<kDelay - int{kStep}>(out1, out2));
    out2 = out1;
    out1 = out;
    return out;
  }
};

WEFT_AVX2 std::uint64_t scramble_ahead(const std::byte* from, std::byte* to, std::size_t size,
                                       std::uint64_t sent) {
  std::size_t at = 0;
  if (size >= 2 * kBegun) {
    LookAhead ahead;
    // What was before these octets matters to nothing that is kept.
    ahead.by0 = ahead.by1 = ahead.by2 = _mm256_setzero_si256();
    (void)ahead.multiply(load32(from));
    (void)ahead.multiply(load32(from + kStep));
    (void)kPortablePayloadScrambler.scramble(from, to, kBegun, sent);
    ahead.out2 = load32(to);
    ahead.out1 = load32(to + kStep);
    for (at = kBegun; at + kStep <= size; at += kStep)
      store32(to + at, ahead.step(load32(from + at)));
    sent = wire::load_be64(to + at - sizeof sent);
  }
  return kPortablePayloadScrambler.scramble(from + at, to + at, size - at, sent);
}

WEFT_AVX2 std::uint64_t descramble_by_steps(const std::byte* from, std::byte* to, std::size_t size,
                                            std::uint64_t heard) {
  std::size_t at = 0;
  __m256i before = _mm256_set1_epi64x(static_cast<long long>(heard));
  for (; at + kStep <= size; at += kStep) {
    const __m256i words = turned(load32(from + at));
    store32(to + at, turned(times<kDelay>(words, before)));
    before = words;
  }
  heard = static_cast<std::uint64_t>(_mm256_extract_epi64(before, 3));
  return kPortablePayloadScrambler.descramble(from + at, to + at, size - at, heard);
}

}  // namespace

const PayloadScramblerKernel kAvx2PayloadScrambler{"avx2", scramble_ahead, descramble_by_steps};

}  // namespace weft::wan::detail

#endif
