// SPDX-License-Identifier: Apache-2.0
// Ordered sets: COM and what belongs to it, on every lane at the same time (IBA vol 2, 5.3
// and 5.6).
//
//   TS1   COM, lane identifier, 14 times D10.2      TS2   COM, lane identifier, 14 times D5.2
//   SKIP  COM, SKP, SKP, SKP; a receiver or a repeater may have made it 1 to 5 SKP
//
// The identifiers are characters of which both halves are unbalanced: with the wires of a lane
// crossed they and COM come as themselves, D10.2 as D21.5 and D5.2 as D26.5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "phy/code/character.h"
#include "phy/link_width.h"

namespace weft::phy {

inline constexpr std::size_t kTrainingSetSize = 16;
inline constexpr std::size_t kSkipSetSize = 4;

// Of lanes 0 to 11.
inline constexpr std::array<Character, kMaxLanes> kLaneIdentifiers{
    {data_character(0, 0), data_character(1, 0), data_character(2, 0), data_character(4, 0),
     data_character(8, 0), data_character(15, 0), data_character(16, 0), data_character(23, 0),
     data_character(24, 0), data_character(27, 0), data_character(29, 0), data_character(30, 0)}};

// The lane that has this identifier.
[[nodiscard]] std::optional<std::uint8_t> lane_of(Character identifier);

enum class OrderedSet : std::uint8_t { kTs1, kTs2, kSkip };

inline constexpr std::array<Character, kSkipSetSize> kSkipSet{{kCom, kSkp, kSkp, kSkp}};

// TS1 or TS2 of a lane, below kMaxLanes.
[[nodiscard]] std::array<Character, kTrainingSetSize> training_set(OrderedSet set,
                                                                   std::uint8_t lane);

// Finds the ordered sets in what one lane receives.
class OrderedSetReader {
 public:
  struct Seen {
    OrderedSet set = OrderedSet::kSkip;
    std::uint8_t lane = 0;  // of a training set
    bool inverted = false;  // of a training set: the wires are crossed
    // Of a training set: how many like it have come back to back, this one included.
    std::uint32_t in_a_row = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };

  // The next character. Says what has come with the last of a training set, or with the first SKP.
  // `error`: the decoder found one, so the set that is under way is none.
  std::optional<Seen> push(Character character, bool error);

  // The training sets that come now: the last of them, until something else comes.
  [[nodiscard]] const std::optional<Seen>& training() const { return last_; }

 private:
  std::optional<Seen> begin(Character character);
  std::optional<Seen> finish();
  void lose();

  std::uint8_t position_ = 0;  // characters of the set that have come; 0: none is under way
  std::uint8_t lane_ = 0;
  Character filler_;
  std::optional<Seen> last_;
};

}  // namespace weft::phy
