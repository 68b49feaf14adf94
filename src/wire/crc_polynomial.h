// SPDX-License-Identifier: Apache-2.0
// Compile-time arithmetic on polynomials over GF(2), for the tables and constants of the CRC
// kernels. Bit i of a Polynomial is the coefficient of x^i.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace weft::wire::detail {

__extension__ using Polynomial = unsigned __int128;

inline constexpr Polynomial kP32 = (Polynomial{1} << 32) | 0x04C1'1DB7;  // ICRC
inline constexpr Polynomial kP16 = (Polynomial{1} << 16) | 0x100B;       // VCRC

constexpr int degree(Polynomial p) {
  int d = -1;
  for (; p != 0; p >>= 1)
    ++d;
  return d;
}

// Both factors of degree 63 at most.
constexpr Polynomial multiply(Polynomial a, Polynomial b) {
  Polynomial product = 0;
  for (; b != 0; b >>= 1, a <<= 1) {
    if ((b & 1) != 0) product ^= a;
  }
  return product;
}

constexpr Polynomial remainder(Polynomial p, Polynomial modulus) {
  assert(modulus != 0);
  const int width = degree(modulus);
  for (int d = degree(p); d >= width; --d) {
    if ((p >> d & 1) != 0) p ^= modulus << (d - width);
  }
  return p;
}

constexpr Polynomial quotient(Polynomial p, Polynomial divisor) {
  assert(divisor != 0);
  const int width = degree(divisor);
  Polynomial q = 0;
  for (int d = degree(p); d >= width; --d) {
    if ((p >> d & 1) == 0) continue;
    p ^= divisor << (d - width);
    q |= Polynomial{1} << (d - width);
  }
  return q;
}

constexpr Polynomial power(Polynomial base, std::uint64_t exponent, Polynomial modulus) {
  Polynomial result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = remainder(multiply(result, base), modulus);
    base = remainder(multiply(base, base), modulus);
  }
  return result;
}

constexpr Polynomial x_power(std::uint64_t exponent, Polynomial modulus) {
  return power(2, exponent, modulus);
}

// The low `width` coefficients in the other order: how a reflected register or message holds them.
constexpr std::uint64_t reflect(Polynomial p, int width) {
  std::uint64_t out = 0;
  for (int i = 0; i < width; ++i)
    out |= static_cast<std::uint64_t>(p >> i & 1) << (width - 1 - i);
  return out;
}

inline constexpr auto kP32Reflected = static_cast<std::uint32_t>(reflect(kP32, 32));
inline constexpr auto kP16Reflected = static_cast<std::uint16_t>(reflect(kP16, 16));

static_assert(kP32Reflected == 0xEDB8'8320);
static_assert(kP16Reflected == 0xD008);
// kP32 is primitive, so x^-n is x^(2^32 - 1 - n): crc32_unshift and the kernels rely on it.
static_assert(x_power(0xFFFF'FFFF, kP32) == 1);

}  // namespace weft::wire::detail
