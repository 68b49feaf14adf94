// SPDX-License-Identifier: Apache-2.0
// The frame-synchronous scrambler 1 + x^6 + x^7 (G.707, 6.5) and the bit-interleaved parities over
// what it scrambles. Its sequence is the same for each frame: what is left is exclusive or, many
// octets at a time, and parity costs no pass of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "wan/line/sonet/geometry.h"

namespace weft::wan::sonet {

// The sequence of a whole frame: zeros for the first row of overhead, which is not scrambled, then
// the register's output from all ones on.
[[nodiscard]] Bytes scrambler_sequence(Level level);

// Exclusive or of octets by their place, modulo as many: all parities of a frame can be had of it.
// 192 is a multiple of what B2 has at any level.
inline constexpr std::size_t kParityLanes = 192;
using Parity = std::array<std::byte, kParityLanes>;

// The parity as eight bits: BIP-8.
[[nodiscard]] std::byte bip8(const Parity& parity);
// Of any octets; the same as bip8() of their parity.
[[nodiscard]] std::byte bip8(Bytes octets);

// `to` is `from` with the sequence added, for octets that have the same size, from the beginning of
// a frame; `from` and `to` may be the same memory, or do not overlap.
void scramble(Bytes from, Bytes sequence, MutableBytes to);
// The same, and the parity of `from`.
[[nodiscard]] Parity scramble_with_parity(Bytes from, Bytes sequence, MutableBytes to);
// What has to be added to the parity of scrambled octets for that of the plain ones, or back.
[[nodiscard]] const Parity& sequence_parity(Level level);
[[nodiscard]] Parity sum(const Parity& one, const Parity& other);

// A way to do it. All give the same.
struct ScramblerKernel {
  std::string_view name;
  void (*add)(const std::byte* from, const std::byte* sequence, std::byte* to, std::size_t size);
  // `blocks` times kParityLanes octets; `parity` is added to.
  void (*add_with_parity)(const std::byte* from, const std::byte* sequence, std::byte* to,
                          std::size_t blocks, Parity& parity);
  std::byte (*bip8)(const std::byte* octets, std::size_t size);
};
// Those that this machine can use, the one in use last.
[[nodiscard]] std::span<const ScramblerKernel> scrambler_kernels();

}  // namespace weft::wan::sonet
