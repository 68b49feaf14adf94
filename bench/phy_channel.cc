// SPDX-License-Identifier: Apache-2.0
// The channel model's two evaluations of a pair of transmit and receive configurations: how many
// pairs a second the analysis takes, on channels that it has not seen before; and how long a
// bit-accurate window of 1 ms takes, with the errors that are counted in it beside those that the
// analysis expects.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "phy/channel/eye_matrix.h"
#include "phy/channel/sampled_lane.h"
#include "phy/code/idle_data.h"

namespace {

using namespace weft;
using namespace weft::phy;

constexpr std::size_t kTransmit = 9, kReceive = 5;
constexpr double kWindowS = 1e-3;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

EyeMatrix matrix_over(double length_m, std::uint64_t seed) {
  return *EyeMatrix::make(*ChannelModel::make({.length_m = length_m, .seed = seed}),
                          LinkSpeed::kDdr, default_transmit_settings(kTransmit),
                          default_receive_settings(kReceive));
}

// Seconds for all pairs on the four lanes of a channel nobody has asked about.
double seconds_of_sweep(double length_m) {
  constexpr int kTurns = 21;
  std::vector<double> turns;
  double sum = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    EyeMatrix matrix = matrix_over(length_m, static_cast<std::uint64_t>(turn) + 1);
    for (std::size_t lane = 0; lane < matrix.lanes(); ++lane) {
      for (std::size_t transmit = 0; transmit < kTransmit; ++transmit) {
        for (std::size_t receive = 0; receive < kReceive; ++receive)
          sum += matrix.quality(lane, transmit, receive).bit_error_rate;
      }
    }
    turns.push_back(seconds_since(start));
  }
  asm volatile("" : : "r"(&sum) : "memory");
  std::ranges::nth_element(turns, turns.begin() + kTurns / 2);
  return turns[kTurns / 2];
}

struct Windows {
  std::vector<double> seconds;
  double expected = 0;  // where both can be measured
  double counted = 0;
};

void sample_pairs(double length_m, Windows& windows) {
  EyeMatrix matrix = matrix_over(length_m, 1);
  IdleData idle(1);
  std::vector<Character> characters(static_cast<std::size_t>(kWindowS * 5e8));
  std::ranges::generate(characters, [&] { return idle.next(); });
  for (std::size_t transmit = 0; transmit < kTransmit; transmit += 2) {
    for (std::size_t receive = 0; receive < kReceive; receive += 2) {
      SampledLane lane(matrix.equalised(0, transmit, receive), Random(7));
      const auto start = std::chrono::steady_clock::now();
      lane.send(characters);
      windows.seconds.push_back(seconds_since(start));
      const LaneQuality& quality = matrix.quality(0, transmit, receive);
      const SampledCounts& counts = lane.counts();
      const double expected = quality.symbol_error_rate * static_cast<double>(counts.symbols);
      fmt::print(
          "{:>5} m, transmit {}, receive {}: {:>10.3g} expected, {:>6} counted, {:>6} "
          "reported by the decoder\n",
          length_m, transmit, receive, expected, counts.wrong_symbols, counts.reported_symbols);
      if (expected < 20 || !quality.matched) continue;
      windows.expected += expected;
      windows.counted += static_cast<double>(counts.wrong_symbols);
    }
  }
}

}  // namespace

int main() {
  (void)seconds_of_sweep(5);  // what is computed once in a process
  double worst = 0;
  for (const double length_m : {2.0, 5.0, 8.0, 11.0}) {
    const double sweep = seconds_of_sweep(length_m);
    const double pair_us = sweep / (4 * kTransmit * kReceive) * 1e6;
    worst = std::max(worst, pair_us);
    fmt::print(
        "{:>5} m: a {} x {} sweep of four lanes takes {:.2f} ms, {:.1f} us a pair, {:.0f} "
        "pairs a second\n",
        length_m, kTransmit, kReceive, sweep * 1e3, pair_us, 1e6 / pair_us);
  }
  Windows windows;
  for (const double length_m : {5.0, 8.0})
    sample_pairs(length_m, windows);
  std::ranges::sort(windows.seconds);
  const double window = windows.seconds[windows.seconds.size() / 2];
  fmt::print("result: us of a pair, at the worst length = {:.1f}\n", worst);
  fmt::print("result: bit-accurate window / real time = {:.0f}\n", window / kWindowS);
  fmt::print("result: counted / expected symbol errors = {:.3f}\n",
             windows.counted / windows.expected);
  return 0;
}
