// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/octet_stuffing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "wan/line/ppp/ppp_frame.h"

namespace weft::wan {
namespace {

// The compiler makes of it whatever vectors the machine has.
using Octets = std::uint8_t __attribute__((vector_size(16)));
constexpr std::size_t kAtOnce = sizeof(Octets);
using Halves = std::array<std::uint64_t, 2>;

constexpr std::uint8_t kFlagOctet = std::to_integer<std::uint8_t>(kPppFlag);
constexpr std::uint8_t kEscapeOctet = std::to_integer<std::uint8_t>(kPppEscape);

// Which of eight octets in memory is the first that is not zero.
std::size_t first_set(std::uint64_t octets) {
  const int bits = std::endian::native == std::endian::little ? std::countr_zero(octets)
                                                              : std::countl_zero(octets);
  return static_cast<std::size_t>(bits) / 8;
}

}  // namespace

std::size_t copy_plain(Bytes from, MutableBytes to) {
  const std::size_t size = std::min(from.size(), to.size());
  std::size_t at = 0;
  for (; at + kAtOnce <= size; at += kAtOnce) {
    Octets octets;
    std::memcpy(&octets, from.data() + at, kAtOnce);
    std::memcpy(to.data() + at, &octets, kAtOnce);
    const auto found = std::bit_cast<Halves>((octets == kFlagOctet) | (octets == kEscapeOctet));
    if (found[0] != 0) return at + first_set(found[0]);
    if (found[1] != 0) return at + 8 + first_set(found[1]);
  }
  for (; at < size && from[at] != kPppFlag && from[at] != kPppEscape; ++at)
    to[at] = from[at];
  return at;
}

}  // namespace weft::wan
