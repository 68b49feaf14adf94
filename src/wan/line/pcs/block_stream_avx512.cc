// SPDX-License-Identifier: Apache-2.0
// Eight payloads at a step. A stream delayed by some bits is the stream's words, taken from this
// step and the one before, shifted together.
#if defined(__x86_64__)

#if defined(__GNUC__) && !defined(__clang__)
// As in wire/crc_vpclmul.cc: GCC bug 105593.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include <cstring>

#include "wan/line/pcs/block_stream_kernels.h"

#define WEFT_VBMI2_INLINE \
  inline __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2"), always_inline))
#define WEFT_VBMI2 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2")))

namespace weft::wan::detail {
namespace {

constexpr std::size_t kStep = 8;
constexpr std::size_t kBegun = 2 * kStep;  // so many words are scrambled one by one first

// The words that are kBack before those of `now`.
template <int kBack>
WEFT_VBMI2_INLINE __m512i words_before(__m512i now, __m512i before) {
  if constexpr (kBack == 0) {
    return now;
  } else if constexpr (kBack == 8) {
    return before;
  } else {
    return _mm512_alignr_epi64(now, before, 8 - kBack);
  }
}

// The stream kDelay bits late; at most 511.
template <int kDelay>
WEFT_VBMI2_INLINE __m512i delayed(__m512i now, __m512i before) {
  return _mm512_shldi_epi64(words_before<kDelay / 64>(now, before),
                            words_before<kDelay / 64 + 1>(now, before), kDelay % 64);
}

WEFT_VBMI2_INLINE __m256i upper_half(__m512i words) {
  return _mm512_extracti64x4_epi64(words, 1);
}

WEFT_VBMI2_INLINE __m512i sum(__m512i a, __m512i b, __m512i c) {
  return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

// Multiplies by 1 + D^kFirst + D^kSecond.
template <int kFirst, int kSecond>
WEFT_VBMI2_INLINE __m512i times(__m512i now, __m512i before) {
  return sum(now, delayed<kFirst>(now, before), delayed<kSecond>(now, before));
}

// What the four products and the quotient have to know of steps before.
struct LookAhead {
  __m512i by0, by1, by2, by3;  // the stream, and multiplied by P, by P^3, by P^7
  __m512i out1, out2;          // what went out in the last step, and in the one before

  WEFT_VBMI2_INLINE __m512i multiply(__m512i words) {
    const __m512i times1 = times<39, 58>(words, by0);
    const __m512i times2 = times<2 * 39, 2 * 58>(times1, by1);
    const __m512i times4 = times<4 * 39, 4 * 58>(times2, by2);
    const __m512i times8 = times<8 * 39, 8 * 58>(times4, by3);
    by0 = words;
    by1 = times1;
    by2 = times2;
    by3 = times4;
    return times8;
  }
  // By P^16: what went out 624 and 928 bits ago is of the last two steps.
  WEFT_VBMI2_INLINE __m512i step(__m512i words) {
    const __m512i product = multiply(words);
    const __m512i out =
        sum(product, delayed<624 - 512>(out1, out2), delayed<928 - 512>(out1, out2));
    out2 = out1;
    out1 = out;
    return out;
  }
};

// After kBegun words, which `to` gets; what was before them matters to nothing that is kept.
WEFT_VBMI2_INLINE void begin(LookAhead& ahead, const std::uint64_t* from, std::uint64_t* to,
                             std::uint64_t sent) {
  const __m512i zero = _mm512_setzero_si512();
  ahead.by0 = ahead.by1 = ahead.by2 = ahead.by3 = zero;
  (void)ahead.multiply(_mm512_loadu_si512(from));
  (void)ahead.multiply(_mm512_loadu_si512(from + kStep));
  for (std::size_t i = 0; i < kBegun; ++i)
    to[i] = sent = scramble_word(from[i], sent);
  ahead.out2 = _mm512_loadu_si512(to);
  ahead.out1 = _mm512_loadu_si512(to + kStep);
}

WEFT_VBMI2 std::uint64_t scramble_ahead(const std::uint64_t* from, std::uint64_t* to,
                                        std::size_t count, std::uint64_t sent) {
  std::size_t i = 0;
  if (count >= 2 * kBegun) {
    LookAhead ahead;
    begin(ahead, from, to, sent);
    for (i = kBegun; i + kStep <= count; i += kStep)
      _mm512_storeu_si512(to + i, ahead.step(_mm512_loadu_si512(from + i)));
    sent = to[i - 1];
  }
  for (; i < count; ++i)
    to[i] = sent = scramble_word(from[i], sent);
  return sent;
}

// Eight blocks as 66 octets: as pack_by_words, with what does not fit handed to the next lane, and
// that of the fourth and the eighth stored by itself.
WEFT_VBMI2_INLINE void store_packed(__m512i payloads, const std::uint8_t* headers,
                                    std::byte* octets) {
  const __m512i at = _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
  const __m512i head =
      _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(headers)));
  const __m512i over = _mm512_srlv_epi64(payloads, _mm512_sub_epi64(_mm512_set1_epi64(62), at));
  const __m512i handed = _mm512_maskz_permutex_epi64(0xEE, over, 0x90);
  const __m512i shifted = _mm512_sllv_epi64(payloads, _mm512_add_epi64(at, _mm512_set1_epi64(2)));
  const __m512i all = _mm512_ternarylogic_epi64(shifted, _mm512_sllv_epi64(head, at), handed, 0xFE);
  const __m256i overs = upper_half(over);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(octets), _mm512_castsi512_si256(all));
  octets[32] = static_cast<std::byte>(_mm256_extract_epi64(_mm512_castsi512_si256(over), 3));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(octets + kGroupOctets), upper_half(all));
  octets[65] = static_cast<std::byte>(_mm256_extract_epi64(overs, 3));
}

WEFT_VBMI2 std::uint64_t pack_ahead(const std::uint64_t* payloads, const std::uint8_t* headers,
                                    std::size_t groups, std::byte* octets, std::uint64_t sent) {
  const std::size_t count = groups * kGroupBlocks;
  std::size_t i = 0;
  if (count >= 2 * kBegun) {
    LookAhead ahead;
    std::uint64_t begun[kBegun];
    begin(ahead, payloads, begun, sent);
    for (; i < kBegun; i += kStep, octets += 2 * kGroupOctets)
      store_packed(_mm512_loadu_si512(begun + i), headers + i, octets);
    for (; i + kStep <= count; i += kStep, octets += 2 * kGroupOctets)
      store_packed(ahead.step(_mm512_loadu_si512(payloads + i)), headers + i, octets);
    sent = static_cast<std::uint64_t>(_mm256_extract_epi64(upper_half(ahead.out1), 3));
  }
  return kPortableBlockStream.pack(payloads + i, headers + i, (count - i) / kGroupBlocks, octets,
                                   sent);
}

}  // namespace

const BlockStreamKernel kAvx512BlockStream{"avx512", scramble_ahead, pack_ahead, unpack_by_fours};

}  // namespace weft::wan::detail

#endif
