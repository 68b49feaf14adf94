// SPDX-License-Identifier: Apache-2.0
// Of many octets a register holds a word of each of four runs, so that no word needs another one of
// the register. Of fewer, and of the rest, it holds 32 that follow each other: 1/(1 + x^43) is
// (1 + x^43)(1 + x^86)(1 + x^172)/(1 + x^344): to multiply waits for nothing that went out, and
// what went out 344 bits ago, 43 octets, is of steps before.
#if defined(__x86_64__)

#include "wan/line/avx2_stream.h"
#include "wan/line/payload_scrambler_kernels.h"
#include "wire/endian.h"

namespace weft::wan::detail {
namespace {

constexpr std::size_t kStep = 32;
constexpr std::size_t kBegun = 2 * kStep;  // so many octets are scrambled word by word first
constexpr int kDelay = int{kPayloadDelay};

// Words whose first bit on the line is the uppermost, from memory and back.
WEFT_AVX2_INLINE __m256i turned(__m256i words) {
  return _mm256_shuffle_epi8(
      words, _mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8,  //
                              7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
}

// Two words of a run and two of the one after the next.
WEFT_AVX2_INLINE __m256i load_pairs(const std::byte* from, std::size_t run) {
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m128i third = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * run));
  return turned(_mm256_inserti128_si256(_mm256_castsi128_si256(first), third, 1));
}

WEFT_AVX2_INLINE void store_pairs(std::byte* to, std::size_t run, __m256i pairs) {
  const __m256i octets = turned(pairs);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(octets));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * run), _mm256_extracti128_si256(octets, 1));
}

// scramble_payload_word() of four words.
WEFT_AVX2_INLINE __m256i scramble_words(__m256i words, __m256i sent) {
  const __m256i first = _mm256_xor_si256(words, _mm256_slli_epi64(sent, 64 - kDelay));
  return _mm256_xor_si256(first, _mm256_srli_epi64(first, kDelay));
}

WEFT_AVX2 std::size_t scramble_words_of_runs(const std::byte* from, std::byte* to, std::size_t run,
                                             RunStates& sent) {
  __m256i last = load32(sent.data());
  std::size_t at = 0;
  for (; at + 2 * sizeof sent[0] <= run; at += 2 * sizeof sent[0]) {
    const __m256i odd = load_pairs(from + at, run);
    const __m256i even = load_pairs(from + at + run, run);
    const __m256i first = scramble_words(_mm256_unpacklo_epi64(odd, even), last);
    last = scramble_words(_mm256_unpackhi_epi64(odd, even), first);
    store_pairs(to + at, run, _mm256_unpacklo_epi64(first, last));
    store_pairs(to + at + run, run, _mm256_unpackhi_epi64(first, last));
  }
  store32(sent.data(), last);
  return at;
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

// At least 2 * kBegun octets.
WEFT_AVX2 std::uint64_t scramble_ahead(const std::byte* from, std::byte* to, std::size_t size,
                                       std::uint64_t sent) {
  LookAhead ahead;
  // What was before these octets matters to nothing that is kept.
  ahead.by0 = ahead.by1 = ahead.by2 = _mm256_setzero_si256();
  (void)ahead.multiply(load32(from));
  (void)ahead.multiply(load32(from + kStep));
  (void)scramble_payload_words(from, to, kBegun, sent);
  ahead.out2 = load32(to);
  ahead.out1 = load32(to + kStep);
  std::size_t at = kBegun;
  for (; at + kStep <= size; at += kStep)
    store32(to + at, ahead.step(load32(from + at)));
  sent = wire::load_be64(to + at - sizeof sent);
  return scramble_payload_words(from + at, to + at, size - at, sent);
}

std::uint64_t scramble_by_registers(const std::byte* from, std::byte* to, std::size_t size,
                                    std::uint64_t sent) {
  std::size_t done = 0;
  if (size >= kLeastInRuns) done = scramble_in_runs(from, to, size, sent, scramble_words_of_runs);
  const auto rest = size - done >= 2 * kBegun ? scramble_ahead : scramble_payload_words;
  return rest(from + done, to + done, size - done, sent);
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

const PayloadScramblerKernel kAvx2PayloadScrambler{"avx2", scramble_by_registers,
                                                   descramble_by_steps};

}  // namespace weft::wan::detail

#endif
