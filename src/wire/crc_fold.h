// SPDX-License-Identifier: Apache-2.0
// CRCs by carry-less multiplication (Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ Instruction", Intel 2009), arranged so that one fold serves both CRCs.
//
// A message is folded to 128 bits R with the same remainder. Here the fold is modulo P32 * P16, so
// that R has the right remainder modulo each factor: ICRC and VCRC differ only in how a register is
// put into the first block (inject_*) and in how R is reduced (reduce). Both at once costs one
// fold.
//
// Everything is in reflected order: bit i of a 128-bit block is x^(127-i), of a 64-bit half
// x^(63-i). A carry-less product of two halves then is A*B*x in a block, hence the odd exponents.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/crc.h"
#include "wire/crc_polynomial.h"
#include "wire/crc_slice.h"
#include "wire/endian.h"

#define WEFT_PCLMUL __attribute__((target("pclmul,sse4.1")))
#define WEFT_PCLMUL_INLINE inline __attribute__((target("pclmul,sse4.1"), always_inline))

namespace weft::wire::detail {

inline constexpr Polynomial kP48 = multiply(kP32, kP16);

// Multiplies a block by x^bits: its first half by `first`, its second by `second`.
struct FoldConstants {
  std::uint64_t first;
  std::uint64_t second;
};

consteval FoldConstants fold_by(std::uint64_t bits) {
  // The generator ends in 1, so x has an inverse: (P + 1) / x.
  const Polynomial second = bits == 0 ? (kP48 ^ 1) >> 1 : x_power(bits - 1, kP48);
  return {reflect(x_power(bits + 63, kP48), 64), reflect(second, 64)};
}

// Registers (s32, s16) as a block J to be XORed into the first 128 bits: J is s32 * x^96 modulo P32
// and s16 * x^112 modulo P16. By the Chinese remainder theorem J = s32*E32*x^96 + s16*E16*x^112,
// where E32 is 1 modulo P32 and 0 modulo P16, and E16 = 1 + E32; the reflected products add x^33
// and x^49. J has degree 78 at most, so it needs no reduction.
struct InjectConstants {
  std::uint64_t icrc;
  std::uint64_t vcrc;
  FoldConstants preset;  // the block of both presets, which most messages start with
};

consteval InjectConstants make_inject_constants() {
  const Polynomial inverse = power(remainder(kP16, kP32), 0xFFFF'FFFE, kP32);  // of P16 modulo P32
  const Polynomial e32 = multiply(kP16, inverse);
  const Polynomial shift = x_power(63, kP48);
  const Polynomial icrc = remainder(multiply(e32, shift), kP48);
  const Polynomial vcrc = remainder(multiply(e32 ^ 1, shift), kP48);
  const Polynomial preset = (multiply(icrc, Polynomial{kIcrcPreset} << 32) ^
                             multiply(vcrc, Polynomial{kVcrcPreset} << 48))
                            << 1;
  return {reflect(icrc, 64), reflect(vcrc, 64), {reflect(preset >> 64, 64), reflect(preset, 64)}};
}

// For the step from 128 bits to a register of `width`, by Barrett's method: `fold` brings the first
// half down to width + 64 bits, `mu` is floor(x^(64 + width) / P), `generator` is P.
struct ReduceConstants {
  std::uint64_t fold;
  std::uint64_t mu;
  std::uint64_t generator;
};

template <int kWidth>
inline constexpr Polynomial kGenerator = kWidth == 32 ? kP32 : kP16;

template <int kWidth>
consteval ReduceConstants make_reduce_constants() {
  constexpr Polynomial p = kGenerator<kWidth>;
  constexpr Polynomial mu = quotient(Polynomial{1} << (64 + kWidth), p);
  // Bit 64-j of `mu` stands for x^j; x^0 falls out and does not matter, because only what reaches
  // x^64 of the product is used.
  std::uint64_t mu_reflected = 0;
  for (int j = 1; j <= 64; ++j) {
    mu_reflected |= static_cast<std::uint64_t>(mu >> j & 1) << (64 - j);
  }
  return {reflect(x_power(63 + kWidth, p), kWidth), mu_reflected, reflect(p, kWidth + 1)};
}

template <int kWidth>
inline constexpr ReduceConstants kReduce = make_reduce_constants<kWidth>();
inline constexpr InjectConstants kInject = make_inject_constants();
inline constexpr FoldConstants kFold128 = fold_by(128);
inline constexpr FoldConstants kFold256 = fold_by(256);
inline constexpr FoldConstants kFold384 = fold_by(384);
inline constexpr FoldConstants kFold512 = fold_by(512);

WEFT_PCLMUL_INLINE __m128i make_block(std::uint64_t first, std::uint64_t second) {
  return _mm_set_epi64x(static_cast<long long>(second), static_cast<long long>(first));
}

WEFT_PCLMUL_INLINE __m128i load_block(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

WEFT_PCLMUL_INLINE std::uint64_t second_half(__m128i block) {
  return static_cast<std::uint64_t>(_mm_extract_epi64(block, 1));
}

WEFT_PCLMUL_INLINE __m128i fold(__m128i block, __m128i constants) {
  return _mm_xor_si128(_mm_clmulepi64_si128(block, constants, 0x00),
                       _mm_clmulepi64_si128(block, constants, 0x11));
}

WEFT_PCLMUL_INLINE __m128i constants_of(FoldConstants k) {
  return make_block(k.first, k.second);
}

WEFT_PCLMUL_INLINE __m128i inject32(std::uint32_t state) {
  return _mm_cvtsi32_si128(static_cast<int>(state));
}
WEFT_PCLMUL_INLINE __m128i inject16(std::uint16_t state) {
  return _mm_cvtsi32_si128(state);
}
WEFT_PCLMUL_INLINE __m128i inject_both(CrcPair state) {
  if (state == CrcPair{}) return constants_of(kInject.preset);
  const __m128i registers = make_block(state.icrc, state.vcrc);
  const __m128i k = make_block(kInject.icrc, kInject.vcrc);
  return fold(registers, k);
}

// The remainder of S, of 64 + width bits, which stands in the front of `sum`: bit i is
// x^(63 + width - i). What is behind does not matter; the result has garbage above its width.
template <int kWidth>
WEFT_PCLMUL_INLINE std::uint64_t barrett(__m128i sum) {
  const __m128i k = make_block(kReduce<kWidth>.mu, kReduce<kWidth>.generator);
  const __m128i q = _mm_clmulepi64_si128(sum, k, 0x00);
  const __m128i r = _mm_clmulepi64_si128(q, k, 0x10);
  return second_half(_mm_xor_si128(r, sum));
}

// R * x^width modulo the generator: the register that a message folded to R leaves.
template <int kWidth>
WEFT_PCLMUL_INLINE std::uint64_t reduce(__m128i block) {
  const __m128i k = make_block(kReduce<kWidth>.fold, 0);
  const __m128i second = _mm_srli_si128(block, 8);
  return barrett<kWidth>(_mm_xor_si128(_mm_clmulepi64_si128(block, k, 0x00), second));
}

WEFT_PCLMUL_INLINE std::uint32_t reduce32(__m128i block) {
  return static_cast<std::uint32_t>(reduce<32>(block));
}
WEFT_PCLMUL_INLINE std::uint16_t reduce16(__m128i block) {
  return static_cast<std::uint16_t>(reduce<16>(block));
}

template <int kWidth>
WEFT_PCLMUL_INLINE std::uint64_t multiply_reduced(std::uint64_t a, std::uint64_t b) {
  return barrett<kWidth>(_mm_clmulepi64_si128(make_block(a, 0), make_block(b << 1, 0), 0x00));
}

// Loading at kShuffle + t moves the first t bytes of a block to its end; at kShuffle + 16 + t it
// moves the others to the front. 0x80 makes a zero, and in a blend picks the other operand.
inline constexpr std::array<std::uint8_t, 48> kShuffle = [] {
  std::array<std::uint8_t, 48> table{};
  table.fill(0x80);
  for (std::uint8_t i = 0; i < 16; ++i)
    table[16 + i] = i;
  return table;
}();

// `block` followed by the last `left` (0 to 15) bytes before `end`, which at least 16 bytes
// precede.
WEFT_PCLMUL_INLINE __m128i fold_tail(__m128i block, const std::byte* end, std::size_t left) {
  if (left == 0) return block;
  const auto* table = reinterpret_cast<const std::byte*>(kShuffle.data());
  const __m128i to_end = load_block(table + left);
  const __m128i to_front = load_block(table + 16 + left);
  const __m128i high = _mm_shuffle_epi8(block, to_end);
  const __m128i low =
      _mm_blendv_epi8(_mm_shuffle_epi8(block, to_front), load_block(end - 16), to_front);
  return _mm_xor_si128(fold(high, constants_of(kFold128)), low);
}

// Goes on from `block`, which stands for all before `at`, over the `left` bytes up to the end.
WEFT_PCLMUL_INLINE __m128i fold_rest(__m128i block, const std::byte* at, std::size_t left) {
  const __m128i k = constants_of(kFold128);
  for (; left >= 16; at += 16, left -= 16)
    block = _mm_xor_si128(fold(block, k), load_block(at));
  return fold_tail(block, at + left, left);
}

// At least 16 bytes, with `inject` XORed into the first 16.
WEFT_PCLMUL_INLINE __m128i fold_message(__m128i inject, const std::byte* at, std::size_t size) {
  __m128i a = _mm_xor_si128(load_block(at), inject);
  if (size < 64) return fold_rest(a, at + 16, size - 16);
  __m128i b = load_block(at + 16);
  __m128i c = load_block(at + 32);
  __m128i d = load_block(at + 48);
  std::size_t left = size - 64;
  at += 64;
  const __m128i k = constants_of(kFold512);
  for (; left >= 64; at += 64, left -= 64) {
    a = _mm_xor_si128(fold(a, k), load_block(at));
    b = _mm_xor_si128(fold(b, k), load_block(at + 16));
    c = _mm_xor_si128(fold(c, k), load_block(at + 32));
    d = _mm_xor_si128(fold(d, k), load_block(at + 48));
  }
  const __m128i ab =
      _mm_xor_si128(fold(a, constants_of(kFold384)), fold(b, constants_of(kFold256)));
  const __m128i cd = _mm_xor_si128(fold(c, constants_of(kFold128)), d);
  return fold_rest(_mm_xor_si128(ab, cd), at, left);
}

// 4 to 15 bytes with the register XORed into the first, as a block that ends with them.
WEFT_PCLMUL_INLINE __m128i short_block(std::uint32_t state, const std::byte* at, std::size_t size) {
  const auto shift = 8 * (16 - size);
  Polynomial bits = 0;
  if (size >= 8) {
    bits = Polynomial{load_le64(at)} << shift | Polynomial{load_le64(at + size - 8)} << 64;
  } else {
    bits = Polynomial{load_le32(at)} << shift | Polynomial{load_le32(at + size - 4)} << 96;
  }
  bits ^= Polynomial{state} << shift;
  return make_block(static_cast<std::uint64_t>(bits), static_cast<std::uint64_t>(bits >> 64));
}

WEFT_PCLMUL_INLINE std::uint32_t crc32_short(std::uint32_t state, Bytes bytes) {
  if (bytes.size() < 4) {
    return update_bytewise(kSlices32<16>[0], state, bytes.data(), bytes.size());
  }
  return reduce32(short_block(state, bytes.data(), bytes.size()));
}

WEFT_PCLMUL_INLINE std::uint16_t crc16_short(std::uint16_t state, Bytes bytes) {
  if (bytes.size() < 4) {
    return update_bytewise(kSlices16<16>[0], state, bytes.data(), bytes.size());
  }
  return reduce16(short_block(state, bytes.data(), bytes.size()));
}

}  // namespace weft::wire::detail

#endif  // __x86_64__
