// SPDX-License-Identifier: Apache-2.0
#include "wan/line/payload_scrambler.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <utility>

#include "wan/line/payload_scrambler_kernels.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

using detail::kPayloadRuns;
using detail::RunStates;
using detail::scramble_payload_word;

constexpr unsigned kDelay = detail::kPayloadDelay;
constexpr unsigned kFar = 128 - 2 * kDelay;  // bits of a word that go back two words
constexpr unsigned kEarly = 64 - kDelay;     // bits of a word whose summand is in the same word

// So many bits, less than a word: the first ones of `word`.
constexpr std::uint64_t scramble_bits(std::uint64_t word, std::size_t bits, std::uint64_t sent) {
  return sent << bits | scramble_payload_word(word, sent) >> (64 - bits);
}

// Less than a word, with one before it, which is read and written again with it.
std::uint64_t scramble_behind(const std::byte* from, std::byte* to, std::size_t size,
                              std::uint64_t sent) {
  if (size == 0) return sent;
  const std::size_t back = sizeof sent - size;
  const std::uint64_t word = wire::load_be64(from - back) << (8 * back);
  sent = scramble_bits(word, 8 * size, sent);
  wire::store_be64(to - back, sent);
  return sent;
}

// A row, eight times the delay: in columns of rows of octets, each 43rd bit is at the same places.
constexpr std::size_t kRow = kDelay;
constexpr std::size_t kMostRows = 32;  // of a run, so that what was looked at is still in the cache

// The last 43 bits of the line after rows of octets, if it was all zeros before. Five octets more
// than the rows are read.
std::uint64_t state_after(const std::byte* from, std::size_t rows) {
  using Octets = std::uint64_t __attribute__((vector_size(16)));
  std::array<Octets, 3> sums{};
  for (; rows > 0; --rows, from += kRow) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      Octets octets;
      std::memcpy(&octets, from + i * sizeof octets, sizeof octets);
      sums[i] ^= octets;
    }
  }
  std::array<std::byte, sizeof sums> row;
  std::memcpy(row.data(), sums.data(), sizeof sums);
  std::uint64_t sent = 0;
  std::size_t at = 0;
  for (; at + sizeof sent <= kRow; at += sizeof sent)
    sent = scramble_payload_word(wire::load_be64(row.data() + at), sent);
  return scramble_bits(wire::load_be64(row.data() + at), 8 * (kRow - at), sent);
}

std::size_t scramble_words_of_runs(const std::byte* from, std::byte* to, std::size_t run,
                                   RunStates& sent) {
  auto [first, second, third, fourth] = sent;
  const auto step = [&](std::size_t at, std::uint64_t& last) {
    last = scramble_payload_word(wire::load_be64(from + at), last);
    wire::store_be64(to + at, last);
  };
  std::size_t at = 0;
  for (; at + sizeof first <= run; at += sizeof first) {
    step(at, first);
    step(at + run, second);
    step(at + 2 * run, third);
    step(at + 3 * run, fourth);
  }
  sent = {first, second, third, fourth};
  return at;
}

std::uint64_t scramble_by_runs(const std::byte* from, std::byte* to, std::size_t size,
                               std::uint64_t sent) {
  std::size_t done = 0;
  if (size >= detail::kLeastInRuns)
    done = detail::scramble_in_runs(from, to, size, sent, scramble_words_of_runs);
  return detail::scramble_payload_words(from + done, to + done, size - done, sent);
}

std::uint64_t descramble_by_words(const std::byte* from, std::byte* to, std::size_t size,
                                  std::uint64_t heard) {
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    const std::uint64_t word = wire::load_be64(from + at);
    wire::store_be64(to + at, word ^ (heard << kEarly | word >> kDelay));
    heard = word;
  }
  for (; at < size; ++at) {
    const std::byte byte = from[at];
    to[at] = byte ^ static_cast<std::byte>(heard >> (kDelay - 8));
    heard = heard << 8 | std::to_integer<std::uint64_t>(byte);
  }
  return heard;
}

struct PayloadScramblerKernels {
  std::array<PayloadScramblerKernel, 2> all{};
  std::size_t count = 0;
};

PayloadScramblerKernels find_payload_scrambler_kernels() {
  PayloadScramblerKernels found;
  found.all[found.count++] = detail::kPortablePayloadScrambler;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) found.all[found.count++] = detail::kAvx2PayloadScrambler;
#endif
  return found;
}

const PayloadScramblerKernel& payload_scrambler_in_use() {
  static const PayloadScramblerKernel& best = payload_scrambler_kernels().back();
  return best;
}

}  // namespace

const PayloadScramblerKernel detail::kPortablePayloadScrambler{"portable", scramble_by_runs,
                                                               descramble_by_words};

std::uint64_t detail::scramble_payload_words(const std::byte* from, std::byte* to, std::size_t size,
                                             std::uint64_t sent) {
  std::size_t at = 0;
  if (size >= 8) {
    // The summands of the first 43 bits are on the line, those of the others in this word.
    std::uint64_t last = wire::load_be64(from);
    std::uint64_t sent_before = std::exchange(sent, scramble_payload_word(last, sent));
    wire::store_be64(to, sent);
    // 1/(1 + x^43) is (1 + x^43)/(1 + x^86): what one word waits for from the one before is a shift
    // and a sum, and the rest is done ahead.
    for (at = 8; at + 8 <= size; at += 8) {
      const std::uint64_t word = wire::load_be64(from + at);
      std::uint64_t ahead = word ^ word >> kDelay ^ last << kEarly ^ sent_before << kFar;
      asm("" : "+r"(ahead));  // as one summand, or compilers make a chain of all
      last = word;
      sent_before = sent;
      sent = ahead ^ sent >> (64 - kFar);
      wire::store_be64(to + at, sent);
    }
    return scramble_behind(from + at, to + at, size - at, sent);
  }
  for (; at < size; ++at) {
    const auto byte =
        static_cast<std::uint8_t>(std::to_integer<std::uint64_t>(from[at]) ^ sent >> (kDelay - 8));
    to[at] = std::byte{byte};
    sent = sent << 8 | byte;
  }
  return sent;
}

std::size_t detail::scramble_in_runs(const std::byte* from, std::byte* to, std::size_t size,
                                     std::uint64_t& sent, ScrambleRuns scramble_runs) {
  std::size_t begin = 0;
  while (size - begin >= kLeastInRuns) {
    const std::size_t rows = std::min((size - begin) / (kPayloadRuns * kRow), kMostRows);
    const std::size_t run = rows * kRow;
    RunStates states{sent};
    for (std::size_t i = 1; i < kPayloadRuns; ++i)
      states[i] = states[i - 1] ^ state_after(from + begin + (i - 1) * run, rows);
    const std::size_t done = scramble_runs(from + begin, to + begin, run, states);
    for (std::size_t i = 0; i < kPayloadRuns; ++i) {
      const std::size_t end = begin + (i + 1) * run;
      std::size_t at = begin + i * run + done;
      if (end - at >= sizeof sent) {
        states[i] = scramble_payload_word(wire::load_be64(from + at), states[i]);
        wire::store_be64(to + at, states[i]);
        at += sizeof sent;
      }
      states[i] = scramble_behind(from + at, to + at, end - at, states[i]);
    }
    sent = states.back();
    begin += kPayloadRuns * run;
  }
  return begin;
}

std::span<const PayloadScramblerKernel> payload_scrambler_kernels() {
  static const PayloadScramblerKernels kernels = find_payload_scrambler_kernels();
  return {kernels.all.data(), kernels.count};
}

void PayloadScrambler::scramble(Bytes from, MutableBytes to) {
  assert(to.size() >= from.size());
  sent_ = payload_scrambler_in_use().scramble(from.data(), to.data(), from.size(), sent_);
}

void PayloadDescrambler::descramble(Bytes from, MutableBytes to) {
  assert(to.size() >= from.size());
  heard_ = payload_scrambler_in_use().descramble(from.data(), to.data(), from.size(), heard_);
}

}  // namespace weft::wan
