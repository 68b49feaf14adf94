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
#include "phy/lanes/lane_symbol.h"

namespace weft::phy {

// One lane, from bits to symbols: where they begin, whether its wires are crossed, what they are.
class LaneReceiver {
 public:
  // `counters` outlives this; `correct_polarity`: training sets may say that the wires are crossed.
  LaneReceiver(LaneCounters& counters, bool correct_polarity)
      : counters_(counters), correct_polarity_(correct_polarity) {}

  // Appends the symbols that are complete to `out`. Before the first comma there are none.
  void receive(BitSpan bits, std::vector<LaneSymbol>& out);
  // Looks for the first comma, as for a new signal.
  void restart();

  [[nodiscard]] bool aligned() const { return aligner_.aligned(); }
  [[nodiscard]] bool inverted() const { return aligner_.inverted(); }
  // The training sets that come now, the last of them.
  [[nodiscard]] const std::optional<OrderedSetReader::Seen>& training() const {
    return sets_.training();
  }
  // Which lane of the sender this is, as training sets last said.
  [[nodiscard]] std::optional<std::uint8_t> identifier() const { return identifier_; }
  // Bits that have come and belong to no symbol yet: less than ten when aligned.
  [[nodiscard]] std::size_t pending_bits() const { return aligner_.pending_bits(); }

 private:
  LaneSymbol decode(std::uint16_t word);

  LaneCounters& counters_;
  const bool correct_polarity_;
  SymbolAligner aligner_;
  Decoder decoder_;
  OrderedSetReader sets_;
  std::optional<std::uint8_t> identifier_;
  std::vector<std::uint16_t> words_;
};

}  // namespace weft::phy
