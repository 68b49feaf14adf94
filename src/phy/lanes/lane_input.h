// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::phy {

// What a lane carries, as its receiver has found out by enough symbols in a row; it lasts until the
// receiver says otherwise.
enum class LaneSignal : std::uint8_t {
  kSilence,  // electrical idle, no light, no cable
  kNoise,    // a signal without symbols: the other speed, or one too bad to lock onto
  kTs1,
  kTs2,
  kIdle,     // idle data
  kPackets,  // packets, perhaps with idle data between them
};

struct LaneInput {
  LaneSignal signal = LaneSignal::kSilence;
  std::uint8_t lane = 0;  // of a training sequence: its lane identifier
  bool inverted = false;  // of a training sequence: every bit of it, as when a pair is swapped
  friend bool operator==(const LaneInput&, const LaneInput&) = default;
};

[[nodiscard]] constexpr bool is_training(LaneSignal signal) {
  return signal == LaneSignal::kTs1 || signal == LaneSignal::kTs2;
}
// Idle data and packets are sent by a transmitter whose training is over.
[[nodiscard]] constexpr bool is_past_training(LaneSignal signal) {
  return signal == LaneSignal::kIdle || signal == LaneSignal::kPackets;
}
[[nodiscard]] constexpr bool has_symbols(LaneSignal signal) {
  return is_training(signal) || is_past_training(signal);
}
[[nodiscard]] constexpr bool is_training_of(const LaneInput& input, std::size_t lane) {
  return is_training(input.signal) && !input.inverted && input.lane == lane;
}

}  // namespace weft::phy
