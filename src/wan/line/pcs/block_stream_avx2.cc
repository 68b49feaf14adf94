// SPDX-License-Identifier: Apache-2.0
// Four payloads, of 33 octets, at a step. That P^8 has delays of whole octets spares it shifts.
#if defined(__x86_64__)

#include <array>
#include <cstring>

#include "wan/line/avx2_stream.h"
#include "wan/line/pcs/block_stream_kernels.h"

namespace weft::wan::detail {
namespace {

constexpr std::size_t kStep = kGroupBlocks;
constexpr std::size_t kBegun = 2 * kStep;  // so many words are scrambled one by one first

// The stream kDelay bits late; at most 255.
template <int kDelay>
WEFT_AVX2_INLINE __m256i delayed(__m256i now, __m256i before) {
  if constexpr (kDelay % 8 == 0) return octets_late<kDelay / 8>(now, before);
  constexpr int kWords = kDelay / 64 * 8;
  constexpr int kBits = kDelay % 64;
  return _mm256_xor_si256(_mm256_slli_epi64(octets_late<kWords>(now, before), kBits),
                          _mm256_srli_epi64(octets_late<kWords + 8>(now, before), 64 - kBits));
}

// Multiplies by 1 + D^kFirst + D^kSecond.
template <int kFirst, int kSecond>
WEFT_AVX2_INLINE __m256i times(__m256i now, __m256i before) {
  return _mm256_xor_si256(
      now, _mm256_xor_si256(delayed<kFirst>(now, before), delayed<kSecond>(now, before)));
}

// What the three products and the quotient have to know of steps before.
struct LookAhead {
  __m256i by0, by1, by2;  // the stream, and multiplied by P, by P^3
  __m256i out1, out2;     // what went out in the last step, and in the one before

  WEFT_AVX2_INLINE __m256i multiply(__m256i words) {
    const __m256i times1 = times<39, 58>(words, by0);
    const __m256i times2 = times<2 * 39, 2 * 58>(times1, by1);
    const __m256i times4 = times<4 * 39, 4 * 58>(times2, by2);
    by0 = words;
    by1 = times1;
    by2 = times2;
    return times4;
  }
  // By P^8: what went out 312 and 464 bits ago is of the last two steps.
  WEFT_AVX2_INLINE __m256i step(__m256i words) {
    const __m256i product = multiply(words);
    const __m256i ago =
        _mm256_xor_si256(delayed<8 * 39 - 256>(out1, out2), delayed<8 * 58 - 256>(out1, out2));
    const __m256i out = _mm256_xor_si256(product, ago);
    out2 = out1;
    out1 = out;
    return out;
  }
  [[nodiscard]] WEFT_AVX2_INLINE std::uint64_t last() const {
    return static_cast<std::uint64_t>(_mm256_extract_epi64(out1, 3));
  }
};

// After kBegun words, which `to` gets; what was before them matters to nothing that is kept.
WEFT_AVX2_INLINE void begin(LookAhead& ahead, const std::uint64_t* from, std::uint64_t* to,
                            std::uint64_t sent) {
  ahead.by0 = ahead.by1 = ahead.by2 = _mm256_setzero_si256();
  (void)ahead.multiply(load32(from));
  (void)ahead.multiply(load32(from + kStep));
  for (std::size_t i = 0; i < kBegun; ++i)
    to[i] = sent = scramble_word(from[i], sent);
  ahead.out2 = load32(to);
  ahead.out1 = load32(to + kStep);
}

WEFT_AVX2 std::uint64_t scramble_ahead(const std::uint64_t* from, std::uint64_t* to,
                                       std::size_t count, std::uint64_t sent) {
  std::size_t i = 0;
  if (count >= 2 * kBegun) {
    LookAhead ahead;
    begin(ahead, from, to, sent);
    for (i = kBegun; i + kStep <= count; i += kStep)
      store32(to + i, ahead.step(load32(from + i)));
    sent = ahead.last();
  }
  return kPortableBlockStream.scramble(from + i, to + i, count - i, sent);
}

// Blocks are put together word by word: registers of 32 octets have enough to do.
WEFT_AVX2 std::uint64_t pack_ahead(const std::uint64_t* payloads, const std::uint8_t* headers,
                                   std::size_t groups, std::byte* octets, std::uint64_t sent) {
  const std::size_t count = groups * kGroupBlocks;
  if (count < 2 * kBegun) return kPortableBlockStream.pack(payloads, headers, groups, octets, sent);
  LookAhead ahead;
  std::array<std::uint64_t, kBegun> words;
  begin(ahead, payloads, words.data(), sent);
  for (std::size_t i = 0; i < kBegun; i += kStep, octets += kGroupOctets)
    put_group(headers + i, octets, [&](std::size_t n) { return words[i + n]; });
  for (std::size_t i = kBegun; i < count; i += kStep, octets += kGroupOctets) {
    store32(words.data(), ahead.step(load32(payloads + i)));
    put_group(headers + i, octets, [&](std::size_t n) { return words[n]; });
  }
  return ahead.last();
}

// The lowest octet of each word.
WEFT_AVX2_INLINE void store_octets(__m256i words, std::uint8_t* to) {
  const __m256i spread = _mm256_shuffle_epi8(
      words, _mm256_setr_epi8(0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
                              -1, -1, 0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  const int four = _mm_cvtsi128_si32(
      _mm_or_si128(_mm256_castsi256_si128(spread), _mm256_extracti128_si256(spread, 1)));
  std::memcpy(to, &four, sizeof four);
}

}  // namespace

// Wherever in an octet the first of four blocks begins, the n-th begins up to 7 + 2n bits behind
// the n-th word from there, so that it lies in that word and the one behind it.
WEFT_AVX2 std::uint64_t unpack_by_fours(Bytes octets, std::size_t at, std::size_t count,
                                        std::uint64_t* payloads, std::uint8_t* headers,
                                        std::uint64_t heard) {
  constexpr std::size_t kReach = 40;  // octets that a step reads
  const __m256i head_at = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(at % 8)),
                                           _mm256_setr_epi64x(0, 2, 4, 6));
  const __m256i low_at = _mm256_add_epi64(head_at, _mm256_set1_epi64x(2));
  const __m256i high_by = _mm256_sub_epi64(_mm256_set1_epi64x(64), low_at);
  const __m256i two_bits = _mm256_set1_epi64x(3);
  // The last payloads on the line, each in the place of the next one.
  __m256i moved = _mm256_set1_epi64x(static_cast<long long>(heard));
  std::size_t i = 0;
  for (Bytes from = octets.subspan(at / 8); i + kStep <= count && from.size() >= kReach;
       i += kStep, from = from.subspan(kGroupOctets)) {
    const __m256i low = load32(from.data());
    const __m256i high = load32(from.data() + sizeof(std::uint64_t));
    const __m256i words =
        _mm256_or_si256(_mm256_srlv_epi64(low, low_at), _mm256_sllv_epi64(high, high_by));
    const __m256i next = _mm256_permute4x64_epi64(words, 0x93);
    const __m256i before = _mm256_blend_epi32(next, moved, 0x03);
    moved = next;
    const __m256i of_now =
        _mm256_xor_si256(_mm256_slli_epi64(words, 39), _mm256_slli_epi64(words, 58));
    const __m256i of_before =
        _mm256_xor_si256(_mm256_srli_epi64(before, 25), _mm256_srli_epi64(before, 6));
    store32(payloads + i, _mm256_xor_si256(words, _mm256_xor_si256(of_now, of_before)));
    store_octets(_mm256_and_si256(_mm256_srlv_epi64(low, head_at), two_bits), headers + i);
  }
  heard = static_cast<std::uint64_t>(_mm256_extract_epi64(moved, 0));
  return kPortableBlockStream.unpack(octets, at + i * kBlockBits, count - i, payloads + i,
                                     headers + i, heard);
}

const BlockStreamKernel kAvx2BlockStream{"avx2", scramble_ahead, pack_ahead, unpack_by_fours};

}  // namespace weft::wan::detail

#endif
