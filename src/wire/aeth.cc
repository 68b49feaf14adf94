// SPDX-License-Identifier: Apache-2.0
#include "wire/aeth.h"

#include <algorithm>
#include <array>

namespace weft::wire {
namespace {

// IBA 9.7.7.2: end-to-end credits.
constexpr std::array<std::uint32_t, 31> kCredits{
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

// IBA 9.7.5.2.8, in units of 10 us.
constexpr std::array<std::uint32_t, 32> kRnrTimers{
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

}  // namespace

std::optional<std::uint32_t> credits_of(std::uint8_t credit_code) {
  if (credit_code >= kCredits.size()) return std::nullopt;
  return kCredits[credit_code];
}

std::uint8_t credit_code_for(std::uint32_t entries) {
  const auto above = std::upper_bound(kCredits.begin(), kCredits.end(), entries);
  return static_cast<std::uint8_t>(above - kCredits.begin() - 1);
}

Duration rnr_timer(std::uint8_t timer_code) {
  return kRnrTimers[timer_code & 31] * 10us;
}

}  // namespace weft::wire
