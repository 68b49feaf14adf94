// SPDX-License-Identifier: Apache-2.0
// 64 characters at a step, with the byte permutations of AVX-512 VBMI as tables.
//
// A table of 64 bytes is enough for a half of the code: the index of the first half is x and the
// disparity before it, of the second y, the disparity between the halves, and whether x takes
// D.x.A7 there. All disparities of a step come from one word of 64 bits, which has a bit where a
// byte changes the disparity: its running exclusive or, by a carry-less product with all ones.
#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstring>

#include "phy/code/block_kernels.h"
#include "phy/code/code_tables.h"

#define WEFT_VBMI \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,pclmul,popcnt,bmi,bmi2")))
#define WEFT_VBMI_INLINE                                                                       \
  inline __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,pclmul,popcnt,bmi,bmi2"), \
                        always_inline))

namespace weft::phy::detail {
namespace {

using Table64 = std::array<std::uint8_t, 64>;

constexpr unsigned kBlockStep = 64;
constexpr std::uint8_t kBetweenBit = 0x40;  // of kSixTable: the disparity after it is positive
constexpr std::uint8_t kA7Bit = 0x80;       // of kSixTable: x takes D.x.A7 there
constexpr std::uint8_t kNoHalf = 0xFF;      // of the decoding tables: no such half of data

// Index x + 32 * disparity.
consteval Table64 make_six_table() {
  Table64 table{};
  for (unsigned i = 0; i < table.size(); ++i) {
    const unsigned x = i & 31;
    const auto before = Disparity(i >> 5);
    const Disparity between = is_unbalanced(kSix[x], 6) ? flip(before) : before;
    table[i] = half_at(before, kSix[x], 6, x == 7);
    if (between == Disparity::kPlus) table[i] |= kBetweenBit;
    if (takes_a7(x, between)) table[i] |= kA7Bit;
  }
  return table;
}

// Index y + 8 * disparity + 16 * A7.
consteval Table64 make_four_table() {
  Table64 table{};
  for (unsigned i = 0; i < table.size(); ++i) {
    const unsigned y = i & 7;
    const bool a7 = (i & 16) != 0 && y == 7;
    table[i] = half_at(Disparity(i >> 3 & 1), a7 ? kFourOfA7 : kFour[y], 4, y == 3);
  }
  return table;
}

// Index x + 32: all ones where the half of x, or of y, changes the disparity. P7 and A7 both do.
consteval Table64 make_flip_table(bool of_six) {
  Table64 table{};
  for (unsigned i = 0; i < table.size(); ++i) {
    const bool flips = of_six ? is_unbalanced(kSix[i & 31], 6) : is_unbalanced(kFour[i & 7], 4);
    table[i] = flips ? 0x80 : 0;
  }
  return table;
}

// From the bits of a half to x, or to y << 5. What a half stands for does not depend on the
// disparity; whether it may stand there is seen by encoding again.
consteval Table64 make_x_table() {
  Table64 table{};
  table.fill(kNoHalf);
  for (unsigned i = 0; i < 64; ++i) {
    table[make_six_table()[i] & 0x3F] = static_cast<std::uint8_t>(i & 31);
  }
  return table;
}
consteval Table64 make_y_table() {
  Table64 table{};
  table.fill(kNoHalf);
  for (unsigned i = 0; i < 32; ++i) {
    for (unsigned high = 0; high < 64; high += 16) {
      table[high + make_four_table()[i]] = static_cast<std::uint8_t>((i & 7) << 5);
    }
  }
  return table;
}

alignas(64) constexpr Table64 kSixTable = make_six_table();
alignas(64) constexpr Table64 kFourTable = make_four_table();
alignas(64) constexpr Table64 kSixFlips = make_flip_table(true);
alignas(64) constexpr Table64 kFourFlips = make_flip_table(false);
alignas(64) constexpr Table64 kXTable = make_x_table();
alignas(64) constexpr Table64 kYTable = make_y_table();

WEFT_VBMI_INLINE __m512i load_table(const Table64& table) {
  return _mm512_load_si512(table.data());
}

// The bytes of a table at the lower six bits of each byte. With a mask of all ones, which costs
// nothing: g++ 12 warns about the plain intrinsic's own source.
WEFT_VBMI_INLINE __m512i look_up(__m512i at, __m512i table) {
  return _mm512_maskz_permutexvar_epi8(~std::uint64_t{0}, at, table);
}

// Bit i is the exclusive or of bits 0 to i.
WEFT_VBMI_INLINE std::uint64_t running_parity(std::uint64_t bits) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(bits)), _mm_set1_epi8(-1), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

struct BlockTables {
  __m512i six;
  __m512i four;
  __m512i six_flips;
  __m512i four_flips;
};

WEFT_VBMI_INLINE BlockTables load_block_tables() {
  return {load_table(kSixTable), load_table(kFourTable), load_table(kSixFlips),
          load_table(kFourFlips)};
}

// All ones if the bit is set, else 0.
WEFT_VBMI_INLINE std::uint64_t all_or_none(std::uint64_t bits, unsigned at) {
  return -(bits >> at & 1);
}

// Code words of 64 bytes: their lower eight bits and the two above them, and a bit for each byte
// that says whether the disparity is positive after it.
struct Encoded {
  __m512i low;
  __m512i high;
  std::uint64_t after;
};

// `before` is all ones for a positive disparity, else 0.
WEFT_VBMI_INLINE Encoded encode_step(const BlockTables& tables, __m512i bytes,
                                     std::uint64_t before) {
  const __m512i y = _mm512_and_si512(_mm512_srli_epi16(bytes, 5), _mm512_set1_epi8(7));
  const __m512i flips =
      _mm512_xor_si512(look_up(bytes, tables.six_flips), look_up(y, tables.four_flips));
  const std::uint64_t after = running_parity(_mm512_movepi8_mask(flips)) ^ before;
  const std::uint64_t at = after << 1 | (before & 1);  // positive before the byte
  const __m512i x = _mm512_and_si512(bytes, _mm512_set1_epi8(31));
  const __m512i six = look_up(_mm512_mask_add_epi8(x, at, x, _mm512_set1_epi8(32)), tables.six);
  // The upper two bits of `six` become bits 3 and 4 of the other index.
  const __m512i context = _mm512_and_si512(_mm512_srli_epi16(six, 3), _mm512_set1_epi8(0x18));
  const __m512i four = look_up(_mm512_or_si512(y, context), tables.four);
  const __m512i sixes = _mm512_and_si512(six, _mm512_set1_epi8(0x3F));
  const __m512i upper = _mm512_and_si512(_mm512_slli_epi16(four, 6), _mm512_set1_epi8(-64));
  return {_mm512_or_si512(sixes, upper),
          _mm512_and_si512(_mm512_srli_epi16(four, 2), _mm512_set1_epi8(3)), after};
}

// Bytes of two vectors one after the other in pairs, the first 32 or the last 32 of each.
WEFT_VBMI_INLINE __m512i pair_order(unsigned from) {
  alignas(64) std::array<std::uint8_t, 64> order;
  for (unsigned i = 0; i < 64; ++i) {
    order[i] = static_cast<std::uint8_t>(from + i / 2 + (i % 2) * 64);
  }
  return _mm512_load_si512(order.data());
}

WEFT_VBMI Disparity encode_vbmi(Bytes data, std::uint16_t* out, Disparity before) {
  const BlockTables tables = load_block_tables();
  const __m512i first = pair_order(0);
  const __m512i second = pair_order(32);
  std::uint64_t positive = before == Disparity::kPlus ? ~std::uint64_t{0} : 0;
  const std::byte* at = data.data();
  std::size_t left = data.size();
  for (; left >= kBlockStep; left -= kBlockStep, at += kBlockStep, out += kBlockStep) {
    const Encoded words = encode_step(tables, _mm512_loadu_si512(at), positive);
    _mm512_storeu_si512(out, _mm512_permutex2var_epi8(words.low, first, words.high));
    _mm512_storeu_si512(out + 32, _mm512_permutex2var_epi8(words.low, second, words.high));
    positive = all_or_none(words.after, kBlockStep - 1);
  }
  if (left != 0) {
    const std::uint64_t lanes = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(left));
    const Encoded words = encode_step(tables, _mm512_maskz_loadu_epi8(lanes, at), positive);
    _mm512_mask_storeu_epi16(out, static_cast<__mmask32>(lanes),
                             _mm512_permutex2var_epi8(words.low, first, words.high));
    _mm512_mask_storeu_epi16(out + 32, static_cast<__mmask32>(lanes >> 32),
                             _mm512_permutex2var_epi8(words.low, second, words.high));
    positive = words.after >> (left - 1) & 1;
  }
  return positive == 0 ? Disparity::kMinus : Disparity::kPlus;
}

// The lower or upper bytes of 64 words.
WEFT_VBMI_INLINE __m512i split_order(unsigned from) {
  alignas(64) std::array<std::uint8_t, 64> order;
  for (unsigned i = 0; i < 64; ++i)
    order[i] = static_cast<std::uint8_t>(2 * i + from);
  return _mm512_load_si512(order.data());
}

// What bytes the words stand for is known without the disparity; those that come out as they were
// when they are encoded again are data, and the first that does not ends the block.
WEFT_VBMI std::size_t decode_vbmi(std::span<const std::uint16_t> words, std::byte* out,
                                  Disparity& disparity) {
  const BlockTables tables = load_block_tables();
  const __m512i x_table = load_table(kXTable);
  const __m512i y_table = load_table(kYTable);
  const __m512i low_order = split_order(0);
  const __m512i high_order = split_order(1);
  std::uint64_t positive = disparity == Disparity::kPlus ? ~std::uint64_t{0} : 0;
  const std::uint16_t* at = words.data();
  std::size_t done = 0;
  while (done < words.size()) {
    const std::size_t left = words.size() - done;
    const auto now = static_cast<unsigned>(left < kBlockStep ? left : kBlockStep);
    const std::uint64_t lanes = _bzhi_u64(~std::uint64_t{0}, now);
    const __m512i a = _mm512_maskz_loadu_epi16(static_cast<__mmask32>(lanes), at + done);
    const __m512i b = _mm512_maskz_loadu_epi16(static_cast<__mmask32>(lanes >> 32), at + done + 32);
    const __m512i low = _mm512_permutex2var_epi8(a, low_order, b);
    const __m512i high =
        _mm512_and_si512(_mm512_permutex2var_epi8(a, high_order, b), _mm512_set1_epi8(3));
    const __m512i x = look_up(low, x_table);  // of the lower six bits
    const __m512i four =
        _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(low, 6), _mm512_set1_epi8(3)),
                        _mm512_slli_epi16(high, 2));
    const __m512i bytes = _mm512_or_si512(x, look_up(four, y_table));
    const Encoded again = encode_step(tables, bytes, positive);
    const std::uint64_t same = _mm512_mask_cmpeq_epi8_mask(
        _mm512_cmpeq_epi8_mask(again.low, low) & lanes, again.high, high);
    if (same == ~std::uint64_t{0}) {  // so that the next step need not wait for the comparison
      _mm512_storeu_si512(out + done, bytes);
      done += kBlockStep;
      positive = all_or_none(again.after, kBlockStep - 1);
      continue;
    }
    const auto good = static_cast<unsigned>(_tzcnt_u64(~same));
    _mm512_mask_storeu_epi8(out + done, _bzhi_u64(~std::uint64_t{0}, good), bytes);
    done += good;
    if (good != 0) positive = all_or_none(again.after, good - 1);
    break;
  }
  disparity = positive == 0 ? Disparity::kMinus : Disparity::kPlus;
  return done;
}

}  // namespace

const BlockKernel kVbmiBlock{"vbmi", encode_vbmi, decode_vbmi};

}  // namespace weft::phy::detail

#endif
