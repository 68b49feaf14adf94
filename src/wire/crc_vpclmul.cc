// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own AVX-512 header starts its undefined vectors with themselves (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <algorithm>

#include "wire/crc_fold.h"
#include "wire/crc_kernels.h"

#if defined(__x86_64__)

#define WEFT_VPCLMUL __attribute__((target("avx2,avx512f,avx512vl,vpclmulqdq,pclmul,sse4.1")))
#define WEFT_VPCLMUL_INLINE \
  inline __attribute__((target("avx2,avx512f,avx512vl,vpclmulqdq,pclmul,sse4.1"), always_inline))

namespace weft::wire::detail {
namespace {

constexpr FoldConstants kFold0 = fold_by(0);
constexpr FoldConstants kFold1024 = fold_by(1024);
constexpr FoldConstants kFold1536 = fold_by(1536);
constexpr FoldConstants kFold2048 = fold_by(2048);

// Below this the four 128-bit lanes are as quick.
constexpr std::size_t kWideFrom = 256;
constexpr std::size_t kWide = 64;  // bytes of a register

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
  const __m512i k = _mm512_set_epi64(
      static_cast<long long>(kFold0.second), static_cast<long long>(kFold0.first),
      static_cast<long long>(kFold128.second), static_cast<long long>(kFold128.first),
      static_cast<long long>(kFold256.second), static_cast<long long>(kFold256.first),
      static_cast<long long>(kFold384.second), static_cast<long long>(kFold384.first));
  const __m512i folded = _mm512_xor_si512(_mm512_clmulepi64_epi128(wide, k, 0x00),
                                          _mm512_clmulepi64_epi128(wide, k, 0x11));
  const __m256i two =
      _mm256_xor_si256(_mm512_castsi512_si256(folded), _mm512_extracti64x4_epi64(folded, 1));
  return _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
}

WEFT_VPCLMUL_INLINE __m256i make_blocks(std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                        std::uint64_t d) {
  return _mm256_set_epi64x(static_cast<long long>(d), static_cast<long long>(c),
                           static_cast<long long>(b), static_cast<long long>(a));
}

// reduce<32> and reduce<16> side by side, one in each half of a 256-bit register.
WEFT_VPCLMUL_INLINE CrcPair reduce_both(__m128i block) {
  const __m256i k_fold = make_blocks(kReduce<32>.fold, 0, kReduce<16>.fold, 0);
  const __m256i k =
      make_blocks(kReduce<32>.mu, kReduce<32>.generator, kReduce<16>.mu, kReduce<16>.generator);
  const __m256i blocks = _mm256_broadcastsi128_si256(block);
  const __m256i sums = _mm256_xor_si256(_mm256_clmulepi64_epi128(blocks, k_fold, 0x00),
                                        _mm256_bsrli_epi128(blocks, 8));
  const __m256i q = _mm256_clmulepi64_epi128(sums, k, 0x00);
  const __m256i r = _mm256_clmulepi64_epi128(q, k, 0x10);
  // The registers stand at the low ends of the second halves: words 2 and 6 of eight.
  const __m256i low_ends = _mm256_permutevar8x32_epi32(_mm256_xor_si256(r, sums),
                                                       _mm256_setr_epi32(2, 6, 2, 6, 2, 6, 2, 6));
  const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(low_ends)));
  return {static_cast<std::uint32_t>(both), static_cast<std::uint16_t>(both >> 32)};
}

// What a fold does with the bytes that it loads, besides; and how many of them it takes first, a
// multiple of 4 up to 64.
struct KeepNothing {
  WEFT_VPCLMUL_INLINE void wide(std::size_t, __m512i) const {}
  void rest(std::size_t, Bytes) const {}
  [[nodiscard]] std::size_t first() const { return kWide; }
};
struct KeepCopy {
  std::byte* to;
  WEFT_VPCLMUL_INLINE void wide(std::size_t at, __m512i bytes) const {
    _mm512_storeu_si512(to + at, bytes);
  }
  void rest(std::size_t at, Bytes bytes) const { std::copy(bytes.begin(), bytes.end(), to + at); }
  // As many as bring `to` to a cache line: to store across lines takes half as long again.
  [[nodiscard]] std::size_t first() const {
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(to) % kWide;
    return beyond % 4 == 0 ? kWide - beyond : kWide;
  }
};

// The lanes of 32 bits from `lane` on.
constexpr __mmask16 lanes_from(std::size_t lane) {
  return static_cast<__mmask16>(0xFFFFu << lane);
}

template <class Keep>
struct WideLoads {
  const std::byte* from;
  const Keep& keep;
  std::size_t at = 0;
  // The first bytes as the end of a block that begins with zeros: they change nothing, where the
  // register is put in behind them. All 64 are kept, some of them again with the next.
  WEFT_VPCLMUL_INLINE __m512i first(__m128i inject) {
    const __m512i loaded = load_wide(from);
    keep.wide(0, loaded);
    at = keep.first();
    return _mm512_maskz_expand_epi32(lanes_from((kWide - at) / 4),
                                     _mm512_xor_si512(loaded, _mm512_zextsi128_si512(inject)));
  }
  WEFT_VPCLMUL_INLINE __m512i next() {
    const __m512i loaded = load_wide(from + at);
    keep.wide(at, loaded);
    at += sizeof loaded;
    return loaded;
  }
};

// `block`, which stands for all before, followed by the last `left` bytes of `end`, a multiple of
// 4: what they push out in front is folded over what stays.
WEFT_VPCLMUL_INLINE __m512i fold_end(__m512i block, __m512i end, std::size_t left) {
  const std::size_t lanes = left / 4;
  const __m512i out = _mm512_maskz_expand_epi32(lanes_from(kWide / 4 - lanes), block);
  const __m512i stays = _mm512_mask_compress_epi32(end, lanes_from(lanes), block);
  return fold_wide(out, wide_constants(kFold512), stays);
}

template <class Keep>
WEFT_VPCLMUL_INLINE __m128i fold_wide_message(__m128i inject, Bytes bytes, const Keep& keep) {
  const std::byte* const from = bytes.data();
  const std::size_t size = bytes.size();
  if (size < kWideFrom) {
    keep.rest(0, bytes);
    return fold_message(inject, from, size);
  }
  WideLoads<Keep> loads{from, keep};
  __m512i a = loads.first(inject);
  __m512i b = loads.next();
  __m512i c = loads.next();
  __m512i d = loads.next();
  const __m512i k = wide_constants(kFold2048);
  while (size - loads.at >= 256) {
    a = fold_wide(a, k, loads.next());
    b = fold_wide(b, k, loads.next());
    c = fold_wide(c, k, loads.next());
    d = fold_wide(d, k, loads.next());
  }
  d = fold_wide(a, wide_constants(kFold1536), d);
  b = fold_wide(b, wide_constants(kFold1024), _mm512_setzero_si512());
  d = _mm512_xor_si512(fold_wide(c, wide_constants(kFold512), d), b);
  const __m512i k512 = wide_constants(kFold512);
  while (size - loads.at >= 64)
    d = fold_wide(d, k512, loads.next());
  const std::size_t left = size - loads.at;
  if (left < sizeof(__m128i) || left % 4 != 0) {
    keep.rest(loads.at, bytes.subspan(loads.at));
    return fold_rest(narrow(d), from + loads.at, left);
  }
  const __m512i end = load_wide(from + size - kWide);
  keep.wide(size - kWide, end);
  return narrow(fold_end(d, end, left));
}

WEFT_VPCLMUL std::uint32_t crc32(std::uint32_t state, Bytes bytes) {
  if (bytes.size() < 16) return crc32_short(state, bytes);
  return reduce32(fold_wide_message(inject32(state), bytes, KeepNothing{}));
}

WEFT_VPCLMUL std::uint32_t copy32(std::uint32_t state, std::byte* to, Bytes bytes) {
  if (bytes.size() < 16) {
    std::copy(bytes.begin(), bytes.end(), to);
    return crc32_short(state, bytes);
  }
  return reduce32(fold_wide_message(inject32(state), bytes, KeepCopy{to}));
}

WEFT_VPCLMUL std::uint16_t crc16(std::uint16_t state, Bytes bytes) {
  if (bytes.size() < 16) return crc16_short(state, bytes);
  return reduce16(fold_wide_message(inject16(state), bytes, KeepNothing{}));
}

WEFT_VPCLMUL CrcPair both(CrcPair state, Bytes bytes) {
  if (bytes.size() < 16) return {crc32_short(state.icrc, bytes), crc16_short(state.vcrc, bytes)};
  return reduce_both(fold_wide_message(inject_both(state), bytes, KeepNothing{}));
}

WEFT_VPCLMUL std::uint32_t multiply32(std::uint64_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(multiply_reduced<32>(a, b));
}

WEFT_VPCLMUL std::uint16_t multiply16(std::uint64_t a, std::uint16_t b) {
  return static_cast<std::uint16_t>(multiply_reduced<16>(a, b));
}

}  // namespace

const CrcKernel kVpclmulCrc{"vpclmul", crc32, copy32, crc16, both, multiply32, multiply16};

}  // namespace weft::wire::detail

#endif  // __x86_64__
