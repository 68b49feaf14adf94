// SPDX-License-Identifier: Apache-2.0
// The kernels one by one, for payload_scrambler.cc to choose from. A kernel may be called only on a
// machine that has its instructions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wan/line/payload_scrambler.h"

namespace weft::wan::detail {

extern const PayloadScramblerKernel kPortablePayloadScrambler;  // words of four runs
#if defined(__x86_64__)
extern const PayloadScramblerKernel kAvx2PayloadScrambler;  // the same in one register
#endif

inline constexpr unsigned kPayloadDelay = 43;

// A word on the line from the one before and what it says.
[[nodiscard]] constexpr std::uint64_t scramble_payload_word(std::uint64_t word,
                                                            std::uint64_t sent) {
  const std::uint64_t first = word ^ sent << (64 - kPayloadDelay);
  return first ^ first >> kPayloadDelay;
}

// Octets fall into so many runs of the same length that are scrambled side by side, so that what
// one of them waits for is not waited for. What the line was before a run, its last 43 bits, is
// the sum of all that the octets before say at each 43rd bit, which needs nothing that went out.
inline constexpr std::size_t kPayloadRuns = 4;
using RunStates = std::array<std::uint64_t, kPayloadRuns>;  // the last 64 bits before each

// Scrambles as many words of each run as it can, the same of all, and says how many octets of each
// those are: all but less than two words.
using ScrambleRuns = std::size_t (*)(const std::byte* from, std::byte* to, std::size_t run,
                                     RunStates& sent);
// As many octets as make runs, after `sent` and changing it; the number of them is returned. For
// fewer than the least, to look at what is before a run is not worth it.
inline constexpr std::size_t kLeastInRuns = kPayloadRuns * 6 * std::size_t{kPayloadDelay};
[[nodiscard]] std::size_t scramble_in_runs(const std::byte* from, std::byte* to, std::size_t size,
                                           std::uint64_t& sent, ScrambleRuns scramble_runs);

// One word after the other.
[[nodiscard]] std::uint64_t scramble_payload_words(const std::byte* from, std::byte* to,
                                                   std::size_t size, std::uint64_t sent);

}  // namespace weft::wan::detail
