// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/code_statistics.h"

#include <utility>

#include "phy/code/code_8b10b.h"
#include "phy/code/idle_data.h"

namespace weft::phy {
namespace {

// A whole number of characters leaves the disparity where it was or turns it; after two periods
// the coded bits repeat in any case.
std::vector<std::int8_t> coded_idle_period() {
  std::vector<std::int8_t> bits;
  IdleData idle(1);
  Encoder encoder;
  for (unsigned i = 0; i < 2 * kIdlePeriod; ++i) {
    const unsigned code = encoder.encode(idle.next());
    for (unsigned bit = 0; bit < 10; ++bit)
      bits.push_back((code >> bit & 1) != 0 ? 1 : -1);
  }
  return bits;
}

}  // namespace

const CodeStatistics& CodeStatistics::idle() {
  static const CodeStatistics statistics;
  return statistics;
}

CodeStatistics::CodeStatistics() {
  const std::vector<std::int8_t> bits = coded_idle_period();
  places_ = bits.size();
  const auto unlike = [&](std::size_t at, int cursor) {
    const auto other = static_cast<std::ptrdiff_t>(at + places_) - cursor;
    return bits[static_cast<std::size_t>(other) % places_] != bits[at];
  };
  std::vector<std::vector<std::uint64_t>> tails(kNearHalfPatterns * kNearHalfPatterns);
  for (std::size_t at = 0; at < places_; ++at) {
    std::size_t near = 0;
    for (std::size_t i = 0; i < 2 * kNearHalf; ++i)
      near |= std::size_t{unlike(at, near_cursor(i / kNearHalf, i % kNearHalf))} << i;
    std::uint64_t tail = 0;
    for (std::size_t i = 0; i < kTailCursors; ++i)
      tail |= std::uint64_t{unlike(at, kNearBehind + 1 + static_cast<int>(i))} << i;
    tails[near].push_back(tail);
    for (std::size_t distance = 0; distance < kPulseBits; ++distance)
      correlation_[distance] += bits[at] * bits[(at + distance) % places_];
  }
  for (double& sum : correlation_)
    sum /= static_cast<double>(places_);
  for (std::size_t near = 0; near < tails.size(); ++near) {
    if (tails[near].empty()) continue;
    patterns_.push_back({.first = static_cast<std::uint8_t>(near % kNearHalfPatterns),
                         .second = static_cast<std::uint8_t>(near / kNearHalfPatterns),
                         .tails = std::move(tails[near])});
  }
}

}  // namespace weft::phy
