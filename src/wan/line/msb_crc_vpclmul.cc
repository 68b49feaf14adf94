// SPDX-License-Identifier: Apache-2.0
// By carry-less multiplication, 128 octets at a step (Gopal et al., "Fast CRC Computation for
// Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009): a block of 128 bits H * x^64 + L
// is as good as H * (x^(n + 64) mod P) + L * (x^n mod P) at a place n bits behind. Octets are
// turned round as they are read, so that bit n of a block is the coefficient of x^n.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "wan/line/msb_crc_kernels.h"
#include "wire/crc_polynomial.h"

#define WEFT_VPCLMUL_INLINE inline __attribute__((target("avx2,vpclmulqdq,pclmul"), always_inline))
#define WEFT_VPCLMUL __attribute__((target("avx2,vpclmulqdq,pclmul")))

namespace weft::wan::detail {
namespace {

constexpr std::size_t kBlock = 16;
constexpr std::size_t kPair = 2 * kBlock;
constexpr std::size_t kStep = 4 * kPair;
constexpr std::size_t kFrom = 2 * kStep;  // below this the library is as quick

constexpr long long power_of_x(unsigned exponent) {
  namespace math = wire::detail;
  return static_cast<long long>(static_cast<std::uint64_t>(math::x_power(exponent, math::kP32)));
}

template <unsigned kBits>
WEFT_VPCLMUL_INLINE __m128i fold_by() {
  constexpr long long kHigh = power_of_x(kBits + 64);
  constexpr long long kLow = power_of_x(kBits);
  return _mm_set_epi64x(kHigh, kLow);
}

WEFT_VPCLMUL_INLINE __m128i fold(__m128i block, __m128i by, __m128i next) {
  const __m128i both =
      _mm_xor_si128(_mm_clmulepi64_si128(block, by, 0x00), _mm_clmulepi64_si128(block, by, 0x11));
  return _mm_xor_si128(both, next);
}

template <unsigned kBits>
WEFT_VPCLMUL_INLINE __m256i fold_pair(__m256i blocks, __m256i next) {
  const __m256i by = _mm256_broadcastsi128_si256(fold_by<kBits>());
  const __m256i both = _mm256_xor_si256(_mm256_clmulepi64_epi128(blocks, by, 0x00),
                                        _mm256_clmulepi64_epi128(blocks, by, 0x11));
  return _mm256_xor_si256(both, next);
}

WEFT_VPCLMUL_INLINE __m128i turned(__m128i block) {
  return _mm_shuffle_epi8(block,
                          _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
}

WEFT_VPCLMUL_INLINE __m128i load_block(const std::byte* from) {
  return turned(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

WEFT_VPCLMUL_INLINE __m256i load_pair(const std::byte* from) {
  return _mm256_set_m128i(load_block(from + kBlock), load_block(from));
}

}  // namespace

WEFT_VPCLMUL std::uint32_t crc32_msb_by_vpclmul(std::uint32_t state, Bytes bytes) {
  if (bytes.size() < kFrom) return crc32_msb_by_isal(state, bytes);
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size() - kStep;
  // The register is added to the first four octets.
  const std::uint64_t added = std::uint64_t{state} << 32;
  __m256i a =
      _mm256_xor_si256(load_pair(at), _mm256_setr_epi64x(0, static_cast<long long>(added), 0, 0));
  __m256i b = load_pair(at + kPair);
  __m256i c = load_pair(at + 2 * kPair);
  __m256i d = load_pair(at + 3 * kPair);
  for (at += kStep; left >= kStep; at += kStep, left -= kStep) {
    a = fold_pair<8 * kStep>(a, load_pair(at));
    b = fold_pair<8 * kStep>(b, load_pair(at + kPair));
    c = fold_pair<8 * kStep>(c, load_pair(at + 2 * kPair));
    d = fold_pair<8 * kStep>(d, load_pair(at + 3 * kPair));
  }
  b = fold_pair<8 * kPair>(a, b);
  c = fold_pair<8 * kPair>(b, c);
  d = fold_pair<8 * kPair>(c, d);
  __m128i block =
      fold(_mm256_castsi256_si128(d), fold_by<8 * kBlock>(), _mm256_extracti128_si256(d, 1));
  for (; left >= kBlock; at += kBlock, left -= kBlock)
    block = fold(block, fold_by<8 * kBlock>(), load_block(at));
  // The block in front of what is left has the remainder of all before.
  std::array<std::byte, 2 * kBlock> last;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(last.data()), turned(block));
  std::copy_n(at, left, last.data() + kBlock);
  return crc32_msb_by_isal(0, Bytes(last).first(kBlock + left));
}

}  // namespace weft::wan::detail

#endif
