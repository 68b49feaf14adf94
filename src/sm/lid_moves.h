// SPDX-License-Identifier: Apache-2.0
// In which order ports change their LIDs, so that at no moment two have the same one: whoever has
// what another is to get goes first. Where they want each other's, one goes by way of a LID that is
// nobody's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace weft::sm {

// The LIDs of a port; a first one of 0: it has none.
struct LidRange {
  Lid first{};
  std::uint8_t lmc = 0;

  [[nodiscard]] bool overlaps(const LidRange& other) const {
    if (first == Lid{} || other.first == Lid{}) return false;
    const unsigned a = first.value();
    const unsigned b = other.first.value();
    return a < b + (1u << other.lmc) && b < a + (1u << lmc);
  }
  friend bool operator==(const LidRange&, const LidRange&) = default;
};

struct LidMove {
  std::size_t port = 0;  // index
  Lid to{};
  friend bool operator==(const LidMove&, const LidMove&) = default;
};

// `now` and `then` of the same ports; no two of `then` overlap. What has to be done, and to have
// worked, before the rest. Where there is no LID left to go by, a port is missing: then somebody
// else must wait for the next sweep.
[[nodiscard]] std::vector<LidMove> first_moves(std::span<const LidRange> now,
                                               std::span<const LidRange> then);

// Ports that cannot have then[port] yet, because another one has it now.
[[nodiscard]] std::vector<bool> blocked(std::span<const LidRange> now,
                                        std::span<const LidRange> then);

// Those that have a LID in common with another.
[[nodiscard]] std::vector<bool> in_common(std::span<const LidRange> ranges);

}  // namespace weft::sm
