// SPDX-License-Identifier: Apache-2.0
// What the receivers of a port's lanes hear, and which of the lanes is which.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "phy/link_width.h"

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

// Which physical lanes are the lanes 0, 1, … of the link.
struct LaneMap {
  LinkWidth width = LinkWidth::k1x;
  std::uint8_t mirror = 0;  // 0: in order; n: lane 0 is physical lane n - 1, and so downwards
  friend bool operator==(const LaneMap&, const LaneMap&) = default;

  [[nodiscard]] std::size_t lanes() const { return lanes_of(width); }
  [[nodiscard]] std::size_t physical(std::size_t lane) const {
    return mirror == 0 ? lane : mirror - 1U - lane;
  }
  // The lane of the link that physical lane `physical` is, if it is one.
  [[nodiscard]] std::optional<std::size_t> lane_at(std::size_t physical) const;
};

// All lanes of `map` carry the training sequences of their own identifier.
[[nodiscard]] bool is_configured(std::span<const LaneInput> inputs, const LaneMap& map);

// The widest map of `widths` by which that is so. Lanes may be mirrored within any enabled width:
// a port of 4 lanes that has but lane 0 of a reversed cable finds it at physical lane 3.
[[nodiscard]] std::optional<LaneMap> widest_map(std::span<const LaneInput> inputs,
                                                std::uint8_t widths, bool may_mirror);

// The width of `widths`, narrower than that of `map`, to which the other end has narrowed: exactly
// the lanes of that width carry anything, and that is TS2.
[[nodiscard]] std::optional<LinkWidth> narrower_width(std::span<const LaneInput> inputs,
                                                      std::uint8_t widths, const LaneMap& map);

}  // namespace weft::phy
