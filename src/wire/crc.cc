// SPDX-License-Identifier: Apache-2.0
#include "wire/crc.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <string_view>
#include <utility>

#include "wire/crc_kernels.h"
#include "wire/crc_polynomial.h"
#include "wire/endian.h"

namespace weft::wire {
namespace {

// The largest IBA packet is 4096 + 124 bytes up to its ICRC (IBA 7.7.8): distances within a packet
// are looked up, longer ones computed.
constexpr std::size_t kTabled = 4096 + 128;

using detail::Polynomial;

template <class Register, std::size_t kCount>
using Powers = std::array<Register, kCount>;

template <class Register>
constexpr int kWidth = static_cast<int>(sizeof(Register) * 8);

// step^0, step^1, … modulo P, as registers.
template <class Register, std::size_t kCount>
consteval Powers<Register, kCount> make_powers(Polynomial step, Polynomial modulus) {
  // Multiplication by a fixed `step` is linear: one table per byte keeps the compiler's work small.
  constexpr std::size_t kBytes = sizeof(Register);
  std::array<std::array<Register, 256>, kBytes> times_step{};
  for (std::size_t byte = 0; byte < kBytes; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      const int position = static_cast<int>(8 * byte) + bit;
      const Polynomial term = Polynomial{1} << (kWidth<Register> - 1 - position);
      const Polynomial product = detail::remainder(detail::multiply(term, step), modulus);
      const std::size_t only = std::size_t{1} << bit;
      times_step[byte][only] = static_cast<Register>(detail::reflect(product, kWidth<Register>));
      for (std::size_t lower = 1; lower < only; ++lower) {
        times_step[byte][only + lower] =
            static_cast<Register>(times_step[byte][only] ^ times_step[byte][lower]);
      }
    }
  }
  Powers<Register, kCount> powers{};
  auto value = static_cast<Register>(Register{1} << (kWidth<Register> - 1));  // x^0
  for (std::size_t i = 0; i < kCount; ++i) {
    powers[i] = value;
    Register next = 0;
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      next = static_cast<Register>(next ^ times_step[byte][value >> (8 * byte) & 0xFF]);
    }
    value = next;
  }
  return powers;
}

// kSquares[k] is x^(8 * 2^k).
template <class Register>
consteval Powers<Register, 64> make_squares(Polynomial modulus) {
  Powers<Register, 64> squares{};
  Polynomial value = detail::x_power(8, modulus);
  for (Register& square : squares) {
    square = static_cast<Register>(detail::reflect(value, kWidth<Register>));
    value = detail::remainder(detail::multiply(value, value), modulus);
  }
  return squares;
}

constexpr auto kPowers32 =
    make_powers<std::uint32_t, kTabled>(detail::x_power(8, detail::kP32), detail::kP32);
constexpr auto kPowers16 =
    make_powers<std::uint16_t, kTabled>(detail::x_power(8, detail::kP16), detail::kP16);
constexpr auto kSquares32 = make_squares<std::uint32_t>(detail::kP32);
constexpr auto kSquares16 = make_squares<std::uint16_t>(detail::kP16);

// x^(-8n) for n = 256*high + low: two products for any n of 16 bits.
constexpr std::uint64_t kOrder32 = 0xFFFF'FFFF;  // x^kOrder32 is 1 modulo P32
constexpr auto kInverseLow =
    make_powers<std::uint32_t, 256>(detail::x_power(kOrder32 - 8, detail::kP32), detail::kP32);
constexpr auto kInverseHigh = make_powers<std::uint32_t, 256>(
    detail::x_power(kOrder32 - 8 * 256, detail::kP32), detail::kP32);

struct Kernels {
  std::array<CrcKernel, 4> all{};
  std::size_t count = 0;
};

#if defined(__x86_64__)
// QEMU's own emulation of a processor works out a carry-less product bit by bit: there the tables
// are half as fast again. It gives its name where hypervisors do.
bool is_emulated() {
  constexpr unsigned kHypervisorPresent = 1u << 31;  // in ECX of leaf 1
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kHypervisorPresent) == 0) return false;
  __cpuid(0x4000'0000, a, b, c, d);
  const auto name = std::bit_cast<std::array<char, 12>>(std::array{b, c, d});
  return std::string_view(name.data(), name.size()) == "TCGTCGTCGTCG";
}
#endif

Kernels find_kernels() {
  Kernels found;
  found.all[found.count++] = detail::kPortableCrc;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
    found.all[found.count++] = detail::kPclmulCrc;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq")) {
      found.all[found.count++] = detail::kVpclmul256Crc;
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
        found.all[found.count++] = detail::kVpclmulCrc;
      }
    }
  }
  if (is_emulated()) std::swap(found.all.front(), found.all[found.count - 1]);
#endif
  return found;
}

// The kernel in use is settled by the first call: until then it is one that chooses and passes the
// call on. Choosing twice at once is harmless, both choose the same.
const CrcKernel& choose_kernel();

constexpr CrcKernel kChoosing{
    "choosing",
    [](std::uint32_t state, Bytes bytes) { return choose_kernel().crc32(state, bytes); },
    [](std::uint32_t state, std::byte* to, Bytes bytes) {
      return choose_kernel().copy32(state, to, bytes);
    },
    [](std::uint16_t state, Bytes bytes) { return choose_kernel().crc16(state, bytes); },
    [](CrcPair state, Bytes bytes) { return choose_kernel().both(state, bytes); },
    [](std::uint64_t a, std::uint32_t b) { return choose_kernel().multiply32(a, b); },
    [](std::uint64_t a, std::uint16_t b) { return choose_kernel().multiply16(a, b); }};

constinit std::atomic<const CrcKernel*> kernel_in_use{&kChoosing};

const CrcKernel& choose_kernel() {
  const CrcKernel* const best = &crc_kernels().back();
  kernel_in_use.store(best, std::memory_order_release);
  return *best;
}

const CrcKernel& best_kernel() {
  return *kernel_in_use.load(std::memory_order_acquire);
}

std::uint64_t widen(std::uint32_t state) {
  return std::uint64_t{state} << 32;
}
std::uint64_t widen(std::uint16_t state) {
  return std::uint64_t{state} << 48;
}

std::uint32_t times(const CrcKernel& kernel, std::uint64_t a, std::uint32_t b) {
  return kernel.multiply32(a, b);
}
std::uint16_t times(const CrcKernel& kernel, std::uint64_t a, std::uint16_t b) {
  return kernel.multiply16(a, b);
}

// x^(8 * bytes)
template <class Register>
Register long_power(const Powers<Register, 64>& squares, std::size_t bytes) {
  const CrcKernel& kernel = best_kernel();
  auto product = static_cast<Register>(Register{1} << (kWidth<Register> - 1));
  for (std::size_t k = 0; bytes != 0; ++k, bytes >>= 1) {
    if ((bytes & 1) != 0) product = times(kernel, widen(product), squares[k]);
  }
  return product;
}

std::uint32_t power32(std::size_t bytes) {
  return bytes < kTabled ? kPowers32[bytes] : long_power(kSquares32, bytes);
}
std::uint16_t power16(std::size_t bytes) {
  return bytes < kTabled ? kPowers16[bytes] : long_power(kSquares16, bytes);
}

// The first (at most 8) bytes, so placed that they end where eight bytes would.
std::uint64_t trailing_word(Bytes bytes) {
  std::array<std::byte, 8> word{};
  std::copy(bytes.begin(), bytes.end(), word.end() - static_cast<std::ptrdiff_t>(bytes.size()));
  return load_le64(word.data());
}

template <class Register, class Change>
Register change_of(Bytes difference, std::size_t distance, Change change) {
  Register sum = 0;
  while (!difference.empty()) {
    const Bytes word = difference.last(std::min<std::size_t>(8, difference.size()));
    sum = static_cast<Register>(sum ^ change(trailing_word(word), distance));
    distance += word.size();
    difference = difference.first(difference.size() - word.size());
  }
  return sum;
}

}  // namespace

std::span<const CrcKernel> crc_kernels() {
  static const Kernels found = find_kernels();
  return std::span(found.all).first(found.count);
}

std::uint32_t crc32_update(std::uint32_t state, Bytes bytes) {
  return best_kernel().crc32(state, bytes);
}

std::uint16_t crc16_update(std::uint16_t state, Bytes bytes) {
  return best_kernel().crc16(state, bytes);
}

std::uint32_t crc32_copy(std::uint32_t state, std::byte* to, Bytes bytes) {
  return best_kernel().copy32(state, to, bytes);
}

CrcPair crc_both_update(CrcPair state, Bytes bytes) {
  return best_kernel().both(state, bytes);
}

std::uint32_t crc32_shift(std::uint32_t state, std::size_t count) {
  return best_kernel().multiply32(widen(state), power32(count));
}

std::uint16_t crc16_shift(std::uint16_t state, std::size_t count) {
  return best_kernel().multiply16(widen(state), power16(count));
}

std::uint32_t crc32_unshift(std::uint32_t state, std::size_t count) {
  const CrcKernel& kernel = best_kernel();
  state = kernel.multiply32(widen(state), kInverseLow[count & 0xFF]);
  return kernel.multiply32(widen(state), kInverseHigh[count >> 8 & 0xFF]);
}

std::uint32_t crc32_combine(std::uint32_t after_a, std::uint32_t b_from_zero, std::size_t b_size) {
  return crc32_shift(after_a, b_size) ^ b_from_zero;
}

std::uint16_t crc16_combine(std::uint16_t after_a, std::uint16_t b_from_zero, std::size_t b_size) {
  return static_cast<std::uint16_t>(crc16_shift(after_a, b_size) ^ b_from_zero);
}

// A message's register is the message times x^width, so that much is added to the distance.
std::uint32_t crc32_change(std::uint64_t difference, std::size_t distance) {
  return best_kernel().multiply32(difference, power32(distance + 4));
}

std::uint16_t crc16_change(std::uint64_t difference, std::size_t distance) {
  return best_kernel().multiply16(difference, power16(distance + 2));
}

std::uint32_t crc32_change(Bytes difference, std::size_t distance) {
  return change_of<std::uint32_t>(difference, distance, [](std::uint64_t word, std::size_t at) {
    return crc32_change(word, at);
  });
}

std::uint16_t crc16_change(Bytes difference, std::size_t distance) {
  return change_of<std::uint16_t>(difference, distance, [](std::uint64_t word, std::size_t at) {
    return crc16_change(word, at);
  });
}

}  // namespace weft::wire
