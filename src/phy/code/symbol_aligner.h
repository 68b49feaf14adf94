// SPDX-License-Identifier: Apache-2.0
// Where symbols begin in a stream of bits: at a comma, the seven bits 0011111 or 1100000 that begin
// COM and lie nowhere else in a stream without errors (IBA vol 2, 5.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phy/code/packed_bits.h"

namespace weft::phy {

// Hunting, it takes the first comma. Aligned, it goes on as it is past a comma at another place,
// which one wrong bit can make, and follows when the next comma is there again and none was in
// place between: then the lane has slipped.
class SymbolAligner {
 public:
  // Appends the code words that are complete to `out`.
  void push(BitSpan bits, std::vector<std::uint16_t>& out);

  // Forgets where symbols begin.
  void hunt();
  // The same, before another signal: bits that have come are of none of its symbols.
  void restart();
  // Whether the two wires of the lane are crossed: all bits are turned from here on, and those of
  // the symbol that is under way.
  void set_inverted(bool inverted);

  [[nodiscard]] bool aligned() const { return aligned_; }
  [[nodiscard]] bool inverted() const { return inverted_; }
  // Bits that have come and are of no symbol yet.
  [[nodiscard]] std::size_t pending_bits() const { return ahead_; }
  // Commas at another place than where symbols begin.
  [[nodiscard]] std::uint64_t misplaced_commas() const { return misplaced_; }
  // Times that another place was taken.
  [[nodiscard]] std::uint64_t slips() const { return slips_; }

 private:
  // `bits_` has kBehind bits that are past, the last `past_` of which have been seen, then `ahead_`
  // bits that belong to no symbol yet.
  static constexpr unsigned kBehind = 6;  // a comma begins at most so many bits before its end

  void find();
  void drain(std::vector<std::uint16_t>& out);
  bool moved_by_comma();
  void advance(unsigned bits);
  void restart_at(unsigned start);

  std::uint64_t bits_ = 0;
  unsigned past_ = 0;
  unsigned ahead_ = 0;
  unsigned suspect_ = 0;  // where the last comma was, of one to nine bits behind a symbol's start
  bool aligned_ = false;
  bool inverted_ = false;
  std::uint64_t misplaced_ = 0;
  std::uint64_t slips_ = 0;
};

}  // namespace weft::phy
