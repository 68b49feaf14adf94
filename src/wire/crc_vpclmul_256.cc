// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>

#include "wire/crc_fold.h"
#include "wire/crc_kernels.h"

#if defined(__x86_64__)

#define WEFT_VPCLMUL_256 __attribute__((target("avx2,vpclmulqdq,pclmul,sse4.1")))
#define WEFT_VPCLMUL_256_INLINE \
  inline __attribute__((target("avx2,vpclmulqdq,pclmul,sse4.1"), always_inline))

namespace weft::wire::detail {
namespace {

constexpr FoldConstants kFold768 = fold_by(768);
constexpr FoldConstants kFold1024 = fold_by(1024);

// Below this the four 128-bit lanes are as quick.
constexpr std::size_t kPairsFrom = 160;
constexpr std::size_t kPair = 32;  // bytes of a register: two blocks

WEFT_VPCLMUL_256_INLINE __m256i pair_constants(FoldConstants k) {
  return _mm256_broadcastsi128_si256(constants_of(k));
}

WEFT_VPCLMUL_256_INLINE __m256i load_pair(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// fold(pair) ^ next
WEFT_VPCLMUL_256_INLINE __m256i fold_pair(__m256i pair, __m256i k, __m256i next) {
  return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(pair, k, 0x00), next),
                          _mm256_clmulepi64_epi128(pair, k, 0x11));
}

// The two blocks of `pair` as one that stands for both.
WEFT_VPCLMUL_256_INLINE __m128i narrow(__m256i pair) {
  return _mm_xor_si128(fold(_mm256_castsi256_si128(pair), constants_of(kFold128)),
                       _mm256_extracti128_si256(pair, 1));
}

// What a fold does with the bytes that it loads, besides; and how many of them it takes first, a
// multiple of 4 up to 32.
struct PassBy {
  WEFT_VPCLMUL_256_INLINE void pair(std::size_t, __m256i) const {}
  void rest(std::size_t, Bytes) const {}
  [[nodiscard]] std::size_t first() const { return kPair; }
};
struct CopyOut {
  std::byte* to;
  WEFT_VPCLMUL_256_INLINE void pair(std::size_t at, __m256i bytes) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), bytes);
  }
  void rest(std::size_t at, Bytes bytes) const { std::copy(bytes.begin(), bytes.end(), to + at); }
  // As many as bring `to` to where no store crosses a cache line.
  [[nodiscard]] std::size_t first() const {
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(to) % kPair;
    return beyond % 4 == 0 ? kPair - beyond : kPair;
  }
};

// Eight of these from n on are the last n lanes; eight from n - 1 on say where each lane comes from
// when all move up by 8 - n.
constexpr std::array<std::int32_t, 16> kLanes{0,  0,  0,  0,  0,  0,  0,  0,
                                              -1, -1, -1, -1, -1, -1, -1, -1};
constexpr std::array<std::int32_t, 15> kTurns{1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};

template <class Table>
WEFT_VPCLMUL_256_INLINE __m256i load_lanes(const Table& table, std::size_t at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table.data() + at));
}

template <class Keep>
struct PairLoads {
  const std::byte* from;
  const Keep& keep;
  std::size_t at = 0;
  // The first bytes as the end of two blocks that begin with zeros: they change nothing, where the
  // register is put in behind them. All 32 are kept, some of them again with the next. Where they
  // are fewer than 32, `inject` is of one lane.
  WEFT_VPCLMUL_256_INLINE __m256i first(__m128i inject) {
    const __m256i loaded = load_pair(from);
    keep.pair(0, loaded);
    at = keep.first();
    const std::size_t lanes = at / 4;
    const __m256i put_in = _mm256_xor_si256(loaded, _mm256_zextsi128_si256(inject));
    return _mm256_and_si256(_mm256_permutevar8x32_epi32(put_in, load_lanes(kTurns, lanes - 1)),
                            load_lanes(kLanes, lanes));
  }
  WEFT_VPCLMUL_256_INLINE __m256i next() {
    const __m256i loaded = load_pair(from + at);
    keep.pair(at, loaded);
    at += sizeof loaded;
    return loaded;
  }
};

template <class Keep>
WEFT_VPCLMUL_256_INLINE __m128i fold_pairs(__m128i inject, Bytes bytes, const Keep& keep) {
  const std::byte* const from = bytes.data();
  const std::size_t size = bytes.size();
  if (size < kPairsFrom) {
    keep.rest(0, bytes);
    return fold_message(inject, from, size);
  }
  PairLoads<Keep> loads{from, keep};
  __m256i a = loads.first(inject);
  __m256i b = loads.next();
  __m256i c = loads.next();
  __m256i d = loads.next();
  const __m256i k = pair_constants(kFold1024);
  while (size - loads.at >= 4 * kPair) {
    a = fold_pair(a, k, loads.next());
    b = fold_pair(b, k, loads.next());
    c = fold_pair(c, k, loads.next());
    d = fold_pair(d, k, loads.next());
  }
  const __m256i k256 = pair_constants(kFold256);
  d = fold_pair(c, k256, d);
  d = fold_pair(a, pair_constants(kFold768), d);
  d = fold_pair(b, pair_constants(kFold512), d);
  while (size - loads.at >= kPair)
    d = fold_pair(d, k256, loads.next());
  keep.rest(loads.at, bytes.subspan(loads.at));
  return fold_rest(narrow(d), from + loads.at, size - loads.at);
}

WEFT_VPCLMUL_256 std::uint32_t crc32(std::uint32_t state, Bytes bytes) {
  if (bytes.size() < 16) return crc32_short(state, bytes);
  return reduce32(fold_pairs(inject32(state), bytes, PassBy{}));
}

WEFT_VPCLMUL_256 std::uint32_t copy32(std::uint32_t state, std::byte* to, Bytes bytes) {
  if (bytes.size() < 16) {
    std::copy(bytes.begin(), bytes.end(), to);
    return crc32_short(state, bytes);
  }
  return reduce32(fold_pairs(inject32(state), bytes, CopyOut{to}));
}

WEFT_VPCLMUL_256 std::uint16_t crc16(std::uint16_t state, Bytes bytes) {
  if (bytes.size() < 16) return crc16_short(state, bytes);
  return reduce16(fold_pairs(inject16(state), bytes, PassBy{}));
}

WEFT_VPCLMUL_256 CrcPair both(CrcPair state, Bytes bytes) {
  if (bytes.size() < 16) return {crc32_short(state.icrc, bytes), crc16_short(state.vcrc, bytes)};
  const __m128i block = fold_pairs(inject_both(state), bytes, PassBy{});
  return {reduce32(block), reduce16(block)};
}

WEFT_VPCLMUL_256 std::uint32_t multiply32(std::uint64_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(multiply_reduced<32>(a, b));
}

WEFT_VPCLMUL_256 std::uint16_t multiply16(std::uint64_t a, std::uint16_t b) {
  return static_cast<std::uint16_t>(multiply_reduced<16>(a, b));
}

}  // namespace

const CrcKernel kVpclmul256Crc{"vpclmul256", crc32, copy32, crc16, both, multiply32, multiply16};

}  // namespace weft::wire::detail

#endif  // __x86_64__
