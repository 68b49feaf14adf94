// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "phy/code/code_8b10b.h"
#include "phy/code/ordered_set.h"
#include "phy/code/packed_bits.h"
#include "phy/code/symbol_aligner.h"
#include "phy/training/lane_map.h"

namespace weft::phy {

// One lane's receiver, from bits to what LinkTraining::receive() is told.
class LaneDetector {
 public:
  // Training sets in a row that count as heard (IBA vol 2, 5.6).
  static constexpr std::uint32_t kSetsInARow = 8;
  // Symbols without an error and without COM: longer than a training set, so it is none.
  static constexpr std::uint32_t kCleanSymbols = 32;

  // The next bits, while there is a signal.
  void receive(BitSpan bits);
  // There is no signal.
  void silence();
  // Whether all bits are turned, as LinkTraining::receiver() says; what is heard begins anew when
  // that changes.
  void set_inverted(bool inverted);
  // Begins anew: at another speed, say.
  void restart();

  [[nodiscard]] const LaneInput& input() const { return input_; }
  // Symbols in error since the last call, that came when there had been some without.
  [[nodiscard]] std::uint32_t take_errors();

 private:
  // An error weighs as much as so many symbols without one; above the limit it is noise.
  static constexpr std::uint32_t kErrorWeight = 8;
  static constexpr std::uint32_t kNoiseLimit = 64;

  void symbol(std::uint16_t code);

  SymbolAligner aligner_;
  Decoder decoder_;
  OrderedSetReader sets_;
  std::vector<std::uint16_t> codes_;
  LaneInput input_;
  std::uint32_t clean_ = 0;
  std::uint32_t weight_ = 0;
  std::uint32_t errors_ = 0;
};

}  // namespace weft::phy
