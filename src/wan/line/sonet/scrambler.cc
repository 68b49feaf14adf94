// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/scrambler.h"

#include <atomic>
#include <cassert>
#include <vector>

#include "wan/line/sonet/scrambler_kernels.h"

namespace weft::wan::sonet {
namespace {

// The register's output is its seventh bit; what goes in is the sum of the sixth and the seventh.
std::vector<std::byte> make_scrambler_sequence(Level level) {
  const Geometry g = geometry(level);
  std::vector<std::byte> sequence(g.frame());
  unsigned state = 0x7F;
  for (std::size_t at = g.overhead(); at < sequence.size(); ++at) {
    unsigned octet = 0;
    for (unsigned bit = 0; bit < 8; ++bit) {
      octet = octet << 1 | state >> 6;
      state = (state << 1 & 0x7F) | ((state >> 6 ^ state >> 5) & 1);
    }
    sequence[at] = static_cast<std::byte>(octet);
  }
  return sequence;
}

Parity parity_of(Bytes octets) {
  Parity parity{};
  for (std::size_t at = 0; at < octets.size(); ++at)
    parity[at % kParityLanes] ^= octets[at];
  return parity;
}

constexpr ScramblerKernel kPortableScrambler{
    "portable",
    [](const std::byte* from, const std::byte* sequence, std::byte* to, std::size_t size) {
      detail::add<detail::Word16>(from, sequence, to, size);
    },
    [](const std::byte* from, const std::byte* sequence, std::byte* to, std::size_t blocks,
       Parity& parity) {
      detail::add_with_parity<detail::Word16>(from, sequence, to, blocks, parity);
    },
    [](const std::byte* octets, std::size_t size) {
      return detail::bip8_of<detail::Word16>(octets, size);
    }};

#if defined(__x86_64__)
#define WEFT_SONET_AVX2 __attribute__((target("avx2")))
#define WEFT_SONET_AVX512 __attribute__((target("avx512f")))

WEFT_SONET_AVX2 void avx2_add(const std::byte* from, const std::byte* sequence, std::byte* to,
                              std::size_t size) {
  detail::add<detail::Word32>(from, sequence, to, size);
}
WEFT_SONET_AVX2 void avx2_add_with_parity(const std::byte* from, const std::byte* sequence,
                                          std::byte* to, std::size_t blocks, Parity& parity) {
  detail::add_with_parity<detail::Word32>(from, sequence, to, blocks, parity);
}
WEFT_SONET_AVX2 std::byte avx2_bip8(const std::byte* octets, std::size_t size) {
  return detail::bip8_of<detail::Word32>(octets, size);
}
WEFT_SONET_AVX512 void avx512_add(const std::byte* from, const std::byte* sequence, std::byte* to,
                                  std::size_t size) {
  detail::add<detail::Word64>(from, sequence, to, size);
}
WEFT_SONET_AVX512 void avx512_add_with_parity(const std::byte* from, const std::byte* sequence,
                                              std::byte* to, std::size_t blocks, Parity& parity) {
  detail::add_with_parity<detail::Word64>(from, sequence, to, blocks, parity);
}
WEFT_SONET_AVX512 std::byte avx512_bip8(const std::byte* octets, std::size_t size) {
  return detail::bip8_of<detail::Word64>(octets, size);
}

constexpr ScramblerKernel kAvx2Scrambler{"avx2", avx2_add, avx2_add_with_parity, avx2_bip8};
constexpr ScramblerKernel kAvx512Scrambler{"avx512", avx512_add, avx512_add_with_parity,
                                           avx512_bip8};
#endif

struct ScramblerKernels {
  std::array<ScramblerKernel, 3> all{};
  std::size_t count = 0;
};

ScramblerKernels find_scrambler_kernels() {
  ScramblerKernels found;
  found.all[found.count++] = kPortableScrambler;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) found.all[found.count++] = kAvx2Scrambler;
  if (__builtin_cpu_supports("avx512f")) found.all[found.count++] = kAvx512Scrambler;
#endif
  return found;
}

const ScramblerKernel& scrambler_in_use() {
  static const ScramblerKernel kernel = scrambler_kernels().back();
  return kernel;
}

}  // namespace

std::span<const ScramblerKernel> scrambler_kernels() {
  static const ScramblerKernels kernels = find_scrambler_kernels();
  return {kernels.all.data(), kernels.count};
}

Bytes scrambler_sequence(Level level) {
  static const std::array<std::vector<std::byte>, kLevels> sequences{
      make_scrambler_sequence(Level::kStm1), make_scrambler_sequence(Level::kStm4),
      make_scrambler_sequence(Level::kStm16), make_scrambler_sequence(Level::kStm64)};
  return sequences[static_cast<std::size_t>(level)];
}

const Parity& sequence_parity(Level level) {
  static const std::array<Parity, kLevels> parities{
      parity_of(scrambler_sequence(Level::kStm1)), parity_of(scrambler_sequence(Level::kStm4)),
      parity_of(scrambler_sequence(Level::kStm16)), parity_of(scrambler_sequence(Level::kStm64))};
  return parities[static_cast<std::size_t>(level)];
}

Parity sum(const Parity& one, const Parity& other) {
  Parity both;
  for (std::size_t i = 0; i < kParityLanes; ++i)
    both[i] = one[i] ^ other[i];
  return both;
}

std::byte bip8(const Parity& parity) {
  return bip8(Bytes(parity));
}

std::byte bip8(Bytes octets) {
  return scrambler_in_use().bip8(octets.data(), octets.size());
}

void scramble(Bytes from, Bytes sequence, MutableBytes to) {
  assert(sequence.size() == from.size() && to.size() == from.size());
  scrambler_in_use().add(from.data(), sequence.data(), to.data(), from.size());
}

Parity scramble_with_parity(Bytes from, Bytes sequence, MutableBytes to) {
  assert(sequence.size() == from.size() && to.size() == from.size());
  Parity parity{};
  const std::size_t blocks = from.size() / kParityLanes;
  scrambler_in_use().add_with_parity(from.data(), sequence.data(), to.data(), blocks, parity);
  for (std::size_t at = blocks * kParityLanes; at < from.size(); ++at) {
    const std::byte octet = from[at];
    parity[at % kParityLanes] ^= octet;
    to[at] = octet ^ sequence[at];
  }
  return parity;
}

}  // namespace weft::wan::sonet
