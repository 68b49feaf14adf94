// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "phy/code/code_8b10b.h"
#include "phy/code/ordered_set.h"
#include "phy/code/packed_bits.h"
#include "phy/code/symbol_aligner.h"
#include "phy/lanes/lane_counters.h"
#include "phy/lanes/lane_input.h"
#include "phy/lanes/lane_symbol.h"

namespace weft::phy {

// One lane, from bits to symbols: where they begin, whether its wires are crossed, what they are,
// and what kind of signal they make.
class LaneReceiver {
 public:
  // Training sets in a row that count as heard (IBA vol 2, 5.6).
  static constexpr std::uint32_t kSetsInARow = 8;
  // Symbols without an error and without COM: longer than a training set, so it is none.
  static constexpr std::uint32_t kCleanSymbols = 32;

  // `counters` outlives this; `correct_polarity`: training sets may say that the wires are crossed,
  // else set_inverted() alone does.
  LaneReceiver(LaneCounters& counters, bool correct_polarity)
      : counters_(counters), correct_polarity_(correct_polarity) {}

  // The next bits, while there is a signal. Appends the symbols that are complete to `out`. Before
  // the first comma there are none, nor after too many errors before the next one.
  void receive(BitSpan bits, std::vector<LaneSymbol>& out);
  // There is no signal.
  void silence();
  // Looks for the first comma, as for a new signal: at another speed, say.
  void restart();
  // Whether all bits are turned; what is heard begins anew when that changes.
  void set_inverted(bool inverted);

  // What the lane carries.
  [[nodiscard]] const LaneInput& input() const { return input_; }
  // Symbols in error since the last call, that came when there had been some without.
  [[nodiscard]] std::uint32_t take_errors();

  [[nodiscard]] bool aligned() const { return aligner_.aligned(); }
  [[nodiscard]] bool inverted() const { return aligner_.inverted(); }
  // Which lane of the sender this is, as training sets last said.
  [[nodiscard]] std::optional<std::uint8_t> identifier() const { return identifier_; }
  // Bits that have come and belong to no symbol yet: less than ten when aligned.
  [[nodiscard]] std::size_t pending_bits() const { return aligner_.pending_bits(); }

 private:
  // An error weighs as much as so many symbols without one; above the limit it is noise.
  static constexpr std::uint32_t kErrorWeight = 8;
  static constexpr std::uint32_t kNoiseLimit = 64;

  LaneSymbol decode(std::uint16_t word);
  void note_error();
  void note_symbol(Character character, const std::optional<OrderedSetReader::Seen>& seen);

  LaneCounters& counters_;
  const bool correct_polarity_;
  SymbolAligner aligner_;
  Decoder decoder_;
  OrderedSetReader sets_;
  std::optional<std::uint8_t> identifier_;
  std::vector<std::uint16_t> words_;
  LaneInput input_;
  std::uint32_t clean_ = 0;   // symbols
  std::uint32_t weight_ = 0;  // of errors
  std::uint32_t errors_ = 0;
};

}  // namespace weft::phy
