// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own AVX-512 header starts its undefined vectors with themselves (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include "wire/crc_fold.h"
#include "wire/crc_kernels.h"

#if defined(__x86_64__)

#define WEFT_VPCLMUL __attribute__((target("avx512f,avx512vl,vpclmulqdq,pclmul,sse4.1")))
#define WEFT_VPCLMUL_INLINE \
  inline __attribute__((target("avx512f,avx512vl,vpclmulqdq,pclmul,sse4.1"), always_inline))

namespace weft::wire::detail {
namespace {

constexpr FoldConstants kFold1024 = fold_by(1024);
constexpr FoldConstants kFold1536 = fold_by(1536);
constexpr FoldConstants kFold2048 = fold_by(2048);

// Below this the four 128-bit lanes are as quick.
constexpr std::size_t kWideFrom = 256;

WEFT_VPCLMUL_INLINE __m512i wide_constants(FoldConstants k) {
  return _mm512_broadcast_i32x4(constants_of(k));
}

WEFT_VPCLMUL_INLINE __m512i load_wide(const std::byte* at) {
  return _mm512_loadu_si512(at);
}

WEFT_VPCLMUL_INLINE __m512i xor3(__m512i a, __m512i b, __m512i c) {
  return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

// fold(wide) ^ next
WEFT_VPCLMUL_INLINE __m512i fold_wide(__m512i wide, __m512i k, __m512i next) {
  return xor3(_mm512_clmulepi64_epi128(wide, k, 0x00), _mm512_clmulepi64_epi128(wide, k, 0x11),
              next);
}

// The four blocks of `wide` as one that stands for all of them.
WEFT_VPCLMUL_INLINE __m128i narrow(__m512i wide) {
  const __m128i a = fold(_mm512_castsi512_si128(wide), constants_of(kFold384));
  const __m128i b = fold(_mm512_extracti32x4_epi32(wide, 1), constants_of(kFold256));
  const __m128i c = fold(_mm512_extracti32x4_epi32(wide, 2), constants_of(kFold128));
  const __m128i d = _mm512_extracti32x4_epi32(wide, 3);
  return _mm_xor_si128(_mm_xor_si128(a, b), _mm_xor_si128(c, d));
}

WEFT_VPCLMUL_INLINE __m128i fold_wide_message(__m128i inject, const std::byte* at,
                                              std::size_t size) {
  if (size < kWideFrom) return fold_message(inject, at, size);
  __m512i a = _mm512_xor_si512(load_wide(at), _mm512_zextsi128_si512(inject));
  __m512i b = load_wide(at + 64);
  __m512i c = load_wide(at + 128);
  __m512i d = load_wide(at + 192);
  std::size_t left = size - 256;
  at += 256;
  const __m512i k = wide_constants(kFold2048);
  for (; left >= 256; at += 256, left -= 256) {
    a = fold_wide(a, k, load_wide(at));
    b = fold_wide(b, k, load_wide(at + 64));
    c = fold_wide(c, k, load_wide(at + 128));
    d = fold_wide(d, k, load_wide(at + 192));
  }
  d = fold_wide(a, wide_constants(kFold1536), d);
  b = fold_wide(b, wide_constants(kFold1024), _mm512_setzero_si512());
  d = _mm512_xor_si512(fold_wide(c, wide_constants(kFold512), d), b);
  const __m512i k512 = wide_constants(kFold512);
  for (; left >= 64; at += 64, left -= 64)
    d = fold_wide(d, k512, load_wide(at));
  return fold_rest(narrow(d), at, left);
}

WEFT_VPCLMUL std::uint32_t crc32(std::uint32_t state, Bytes bytes) {
  if (bytes.size() < 16) return crc32_short(state, bytes);
  return reduce32(fold_wide_message(inject32(state), bytes.data(), bytes.size()));
}

WEFT_VPCLMUL std::uint16_t crc16(std::uint16_t state, Bytes bytes) {
  if (bytes.size() < 16) return crc16_short(state, bytes);
  return reduce16(fold_wide_message(inject16(state), bytes.data(), bytes.size()));
}

WEFT_VPCLMUL CrcPair both(CrcPair state, Bytes bytes) {
  if (bytes.size() < 16) return {crc32_short(state.icrc, bytes), crc16_short(state.vcrc, bytes)};
  const __m128i block = fold_wide_message(inject_both(state), bytes.data(), bytes.size());
  return {reduce32(block), reduce16(block)};
}

WEFT_VPCLMUL std::uint32_t multiply32(std::uint64_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(multiply_reduced<32>(a, b));
}

WEFT_VPCLMUL std::uint16_t multiply16(std::uint64_t a, std::uint16_t b) {
  return static_cast<std::uint16_t>(multiply_reduced<16>(a, b));
}

}  // namespace

const CrcKernel kVpclmulCrc{"vpclmul", crc32, crc16, both, multiply32, multiply16};

}  // namespace weft::wire::detail

#endif  // __x86_64__
