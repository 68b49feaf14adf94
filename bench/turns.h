// SPDX-License-Identifier: Apache-2.0
// What several kinds of work take, measured so that their ratios mean something: each turn does a
// little of everything, so that all see the same clock and the same cache.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

namespace weft::bench {

// Seconds that one burst of each takes: the median of kTurns turns of so many bursts.
template <class... Work>
[[nodiscard]] std::array<double, sizeof...(Work)> seconds_of_bursts(std::size_t bursts,
                                                                    Work... work) {
  constexpr std::size_t kTurns = 31;
  constexpr std::size_t kWorks = sizeof...(Work);
  std::array<std::array<double, kTurns>, kWorks> turns{};
  const auto seconds = [](auto& one) {
    const auto start = std::chrono::steady_clock::now();
    one();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    for (std::size_t burst = 0; burst < bursts; ++burst) {
      std::size_t i = 0;
      ((turns[i++][turn] += seconds(work)), ...);
    }
  }
  std::array<double, kWorks> medians{};
  for (std::size_t i = 0; i < kWorks; ++i) {
    std::ranges::nth_element(turns[i], turns[i].begin() + kTurns / 2);
    medians[i] = turns[i][kTurns / 2] / static_cast<double>(bursts);
  }
  return medians;
}

}  // namespace weft::bench
