// SPDX-License-Identifier: Apache-2.0
#include "phy/code/ordered_set.h"

#include <algorithm>
#include <cassert>

namespace weft::phy {
namespace {

constexpr Character kTs1Filler = data_character(10, 2);
constexpr Character kTs2Filler = data_character(5, 2);
constexpr Character kTs1FillerInverted = data_character(21, 5);
constexpr Character kTs2FillerInverted = data_character(26, 5);

bool is_filler(Character character) {
  return character == kTs1Filler || character == kTs2Filler || character == kTs1FillerInverted ||
         character == kTs2FillerInverted;
}

}  // namespace

std::optional<std::uint8_t> lane_of(Character identifier) {
  const auto found = std::find(kLaneIdentifiers.begin(), kLaneIdentifiers.end(), identifier);
  if (found == kLaneIdentifiers.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - kLaneIdentifiers.begin());
}

std::array<Character, kTrainingSetSize> training_set(OrderedSet set, std::uint8_t lane) {
  assert(set != OrderedSet::kSkip && lane < kMaxLanes);
  std::array<Character, kTrainingSetSize> characters;
  characters.fill(set == OrderedSet::kTs1 ? kTs1Filler : kTs2Filler);
  characters[0] = kCom;
  characters[1] = kLaneIdentifiers[lane];
  return characters;
}

void OrderedSetReader::lose() {
  position_ = 0;
  last_.reset();
}

// What comes after COM says which set it is.
std::optional<OrderedSetReader::Seen> OrderedSetReader::begin(Character character) {
  if (character == kSkp) {
    // A SKIP set may come between training sets, which go on after it.
    position_ = 0;
    return Seen{.set = OrderedSet::kSkip};
  }
  const auto lane = lane_of(character);
  if (!lane) {
    lose();
    return std::nullopt;
  }
  lane_ = *lane;
  position_ = 2;
  return std::nullopt;
}

std::optional<OrderedSetReader::Seen> OrderedSetReader::finish() {
  position_ = 0;
  Seen seen{.set = filler_ == kTs1Filler || filler_ == kTs1FillerInverted ? OrderedSet::kTs1
                                                                          : OrderedSet::kTs2,
            .lane = lane_,
            .inverted = filler_ == kTs1FillerInverted || filler_ == kTs2FillerInverted,
            .in_a_row = last_ ? last_->in_a_row : 0};
  if (last_ != seen) seen.in_a_row = 0;
  ++seen.in_a_row;
  last_ = seen;
  return seen;
}

std::optional<OrderedSetReader::Seen> OrderedSetReader::push(Character character, bool error) {
  if (error) {
    lose();
    return std::nullopt;
  }
  if (character == kCom) {
    if (position_ != 0) last_.reset();
    position_ = 1;
    return std::nullopt;
  }
  if (position_ == 0) {
    if (character != kSkp) last_.reset();
    return std::nullopt;
  }
  if (position_ == 1) return begin(character);
  if (position_ == 2 ? !is_filler(character) : character != filler_) {
    lose();
    return std::nullopt;
  }
  filler_ = character;
  if (++position_ < kTrainingSetSize) return std::nullopt;
  return finish();
}

}  // namespace weft::phy
