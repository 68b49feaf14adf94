// SPDX-License-Identifier: Apache-2.0
#include "phy/channel/code_statistics.h"

#include <algorithm>
#include <cmath>
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

// By what a line of which the skin effect takes all makes of them: late enough, its pulse falls
// with this power of the time.
void sort_by_skin_effect(std::vector<std::uint64_t>& tails) {
  static const auto cursors = [] {
    std::array<double, kTailCursors> pulse;
    for (std::size_t i = 0; i < kTailCursors; ++i)
      pulse[i] = std::pow(kNearBehind + 1 + i, -1.5);
    return pulse;
  }();
  std::vector<std::pair<double, std::uint64_t>> levels;
  levels.reserve(tails.size());
  for (const std::uint64_t tail : tails) {
    double level = 0;
    for (std::size_t i = 0; i < kTailCursors; ++i)
      level += (tail >> i & 1) != 0 ? -cursors[i] : cursors[i];
    levels.emplace_back(level, tail);
  }
  std::ranges::sort(levels);
  std::ranges::transform(levels, tails.begin(), [](const auto& one) { return one.second; });
}

}  // namespace

const CodeStatistics& CodeStatistics::idle() {
  static const CodeStatistics statistics;
  return statistics;
}

CodeStatistics::CodeStatistics() {
  // Three times, so that what is around a place of the second is there.
  std::vector<std::int8_t> bits = coded_idle_period();
  places_ = bits.size();
  bits.insert(bits.end(), bits.begin(), bits.end());
  bits.insert(bits.end(), bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(places_));
  const auto unlike = [&](std::size_t at, int cursor) {
    return bits[at - static_cast<std::size_t>(cursor)] != bits[at];
  };
  std::vector<std::vector<std::uint64_t>> tails(kNearHalfPatterns * kNearHalfPatterns);
  for (std::size_t at = places_; at < 2 * places_; ++at) {
    std::array<std::size_t, 2> near{};  // of each half
    for (std::size_t i = 0; i < 2 * kNearHalf; ++i) {
      near[i / kNearHalf] |= std::size_t{unlike(at, near_cursor(i / kNearHalf, i % kNearHalf))}
                             << i % kNearHalf;
    }
    std::uint64_t tail = 0;
    for (std::size_t i = 0; i < kTailCursors; ++i)
      tail |= std::uint64_t{unlike(at, kNearBehind + 1 + static_cast<int>(i))} << i;
    tails[near[0] * kNearHalfPatterns + near[1]].push_back(tail);
    for (std::size_t distance = 0; distance < kPulseBits; ++distance)
      correlation_[distance] += bits[at] * bits[at + distance];
  }
  for (double& sum : correlation_)
    sum /= static_cast<double>(places_);
  for (std::size_t near = 0; near < tails.size(); ++near) {
    if (near % kNearHalfPatterns == 0)
      first_of_half_[near / kNearHalfPatterns] = static_cast<std::uint16_t>(patterns_.size());
    if (tails[near].empty()) continue;
    sort_by_skin_effect(tails[near]);
    patterns_.push_back({.first = static_cast<std::uint8_t>(near / kNearHalfPatterns),
                         .second = static_cast<std::uint8_t>(near % kNearHalfPatterns),
                         .tails = std::move(tails[near])});
  }
  first_of_half_.back() = static_cast<std::uint16_t>(patterns_.size());
}

}  // namespace weft::phy
