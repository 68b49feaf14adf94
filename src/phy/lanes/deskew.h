// SPDX-License-Identifier: Apache-2.0
// Brings the lanes of a link in step again (IBA vol 2, 5.7): what was sent on all of them at the
// same time comes at different times. Ordered sets are sent on all lanes at once, so that their
// COM tells how far apart they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "phy/lanes/lane_counters.h"
#include "phy/lanes/lane_symbol.h"

namespace weft::phy {

class Deskew {
 public:
  // How many bits lanes may be apart: less than 8 symbols, because training sets come every 16, and
  // a lane that is 8 late could as well be 8 early.
  static constexpr std::uint64_t kMostSkewBits = 75;
  // Symbols of a lane that wait for others; a lane that is that far ahead has lost the rest.
  static constexpr std::size_t kMostWaiting = 1 << 16;

  // Of `lanes` lanes; `counters` outlives this.
  Deskew(std::size_t lanes, LaneCounters& counters) : lanes_(lanes), counters_(counters) {}

  // The next symbol of a lane. `bit` counts the bits that the lane had brought when it was
  // complete; bits of the same number came at the same time on all lanes.
  void push(std::size_t lane, LaneSymbol symbol, std::uint64_t bit);

  // The next column, if the lanes are in step and all have brought it. A SKIP set may be longer on
  // some lanes than on others, where repeaters have changed it; it becomes as long as the longest.
  std::optional<Column> pop();

  // Begins anew with the ordered sets that come from now on.
  void restart();
  [[nodiscard]] bool in_step() const { return in_step_; }
  // Whether the lanes were lost, or symbols of them, since the last call.
  [[nodiscard]] bool take_break();

 private:
  struct Waiting {
    LaneSymbol symbol;
    std::uint64_t bit = 0;
  };
  enum class Phase : std::uint8_t { kPlain, kAfterCom, kSkip };

  bool find_step();
  bool begins_skip() const;
  bool skip_is_over() const;
  std::optional<Column> pop_skip();
  Column pop_plain();
  void check_com(const Column& column);
  void lose();

  const std::size_t lanes_;
  LaneCounters& counters_;
  std::array<std::deque<Waiting>, kMaxLanes> waiting_;
  std::array<std::uint8_t, kMaxLanes> skips_{};  // SKP of the set that lanes have had
  Phase phase_ = Phase::kPlain;
  bool in_step_ = false;
  bool misplaced_ = false;  // the last COM was not on all lanes
  bool broken_ = false;
};

}  // namespace weft::phy
