// SPDX-License-Identifier: Apache-2.0
// A stream of bits in registers of 32 octets: four words, or what lies in memory. Only for
// functions that are compiled for AVX2.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#define WEFT_AVX2_INLINE inline __attribute__((target("avx2"), always_inline))
#define WEFT_AVX2 __attribute__((target("avx2")))

namespace weft::wan::detail {

WEFT_AVX2_INLINE __m256i load32(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

WEFT_AVX2_INLINE void store32(void* to, __m256i octets) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), octets);
}

// The stream kOctets octets late, at most 32, from what comes now and what came before.
template <int kOctets>
WEFT_AVX2_INLINE __m256i octets_late(__m256i now, __m256i before) {
  if constexpr (kOctets == 0) return now;
  if constexpr (kOctets == 32) return before;
  const __m256i middle = _mm256_permute2x128_si256(before, now, 0x21);
  if constexpr (kOctets < 16) return _mm256_alignr_epi8(now, middle, 16 - kOctets);
  if constexpr (kOctets > 16) return _mm256_alignr_epi8(middle, before, 32 - kOctets);
  return middle;
}

WEFT_AVX2_INLINE __m256i sum(__m256i a, __m256i b, __m256i c) {
  return _mm256_xor_si256(a, _mm256_xor_si256(b, c));
}

}  // namespace weft::wan::detail

#endif
