// SPDX-License-Identifier: Apache-2.0
#include "wan/line/payload_scrambler.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <utility>

#include "wan/line/payload_scrambler_kernels.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr unsigned kDelay = 43;
constexpr unsigned kFar = 128 - 2 * kDelay;  // bits of a word that go back two words
constexpr unsigned kEarly = 64 - kDelay;     // bits of a word whose summand is in the same word

std::uint64_t scramble_by_words(const std::byte* from, std::byte* to, std::size_t size,
                                std::uint64_t sent) {
  std::size_t at = 0;
  if (size >= 8) {
    // The summands of the first 43 bits are on the line, those of the others in this word.
    std::uint64_t last = wire::load_be64(from);
    const std::uint64_t before = sent << kEarly;
    std::uint64_t sent_before =
        std::exchange(sent, last ^ last >> kDelay ^ before ^ before >> kDelay);
    wire::store_be64(to, sent);
    // 1/(1 + x^43) is (1 + x^43)/(1 + x^86): what one word waits for from the one before is a shift
    // and a sum, and the rest is done ahead.
    for (at = 8; at + 8 <= size; at += 8) {
      const std::uint64_t word = wire::load_be64(from + at);
      const std::uint64_t ahead = word ^ word >> kDelay ^ last << kEarly ^ sent_before << kFar;
      last = word;
      sent_before = sent;
      sent = ahead ^ sent >> (64 - kFar);
      wire::store_be64(to + at, sent);
    }
  }
  for (; at < size; ++at) {
    const auto byte =
        static_cast<std::uint8_t>(std::to_integer<std::uint64_t>(from[at]) ^ sent >> (kDelay - 8));
    to[at] = std::byte{byte};
    sent = sent << 8 | byte;
  }
  return sent;
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

const PayloadScramblerKernel detail::kPortablePayloadScrambler{"portable", scramble_by_words,
                                                               descramble_by_words};

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
