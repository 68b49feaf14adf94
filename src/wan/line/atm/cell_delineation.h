// SPDX-License-Identifier: Apache-2.0
// Cells out of the octets of a line, found by their header checks alone (ITU-T I.432.1, 4.5):
//
//            a header checks right                DELTA more in turn do
//    HUNT  ------------------------>  PRESYNC  -------------------------->  SYNC
//      ^                                 |                                   |
//      +------- one does not ------------+       ALPHA in turn do not        |
//      +---------------------------------------------------------------------+
//
// In HUNT every octet may begin a cell. Only in SYNC cells are handed on, and headers with a wrong
// bit put right: one, and then none before a header has been right again (4.3.3), since errors that
// come together are not of single bits.
//
// Octets have to lie as they were sent, which whoever has the frame of the line sees to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wan/line/atm/cell.h"
#include "wan/line/atm/cell_counters.h"
#include "wan/line/octet_stream.h"
#include "wan/line/payload_scrambler.h"

namespace weft::wan::atm {

enum class DelineationState : std::uint8_t { kHunt, kPresync, kSync };

class CellDelineation final : public OctetSink {
 public:
  static constexpr unsigned kAlpha = 7;
  static constexpr unsigned kDelta = 6;

  // Cells of connections go to `cells`, which outlives this. `scrambled`: their payload is, with
  // x^43 + 1, which goes on from one to the next and stops for headers (4.5.3).
  CellDelineation(CellSink& cells, bool scrambled) : cells_(cells), scrambled_(scrambled) {}

  void take(Bytes octets) override;
  // Octets are missing, or were not of this line: cells are looked for anew.
  void interrupted() override;

  [[nodiscard]] DelineationState state() const { return state_; }
  [[nodiscard]] const CellCounters& counters() const { return counters_; }
  // Cells since the beginning, empty and discarded ones too: the line's own clock.
  [[nodiscard]] std::uint64_t cell_times() const { return cell_times_; }

 private:
  std::size_t hunt(Bytes octets);
  [[nodiscard]] std::size_t whole_cells(Bytes cells);
  void presync_cell(Bytes cell);
  [[nodiscard]] std::size_t sync_cells(Bytes cells);
  void wrong_cell(Bytes cell);
  [[nodiscard]] bool correct(MutableBytes header);
  void hand_on(Bytes header, Bytes cells, std::size_t count);
  void lose(std::size_t octets);

  CellSink& cells_;
  const bool scrambled_;
  DelineationState state_ = DelineationState::kHunt;
  bool may_correct_ = true;  // correction mode, else detection mode
  unsigned in_turn_ = 0;     // headers that were right in PRESYNC, or wrong in SYNC
  std::size_t held_ = 0;     // of cell_
  std::array<std::byte, kCellSize> cell_{};
  static constexpr std::size_t kMostInRun = 64;
  std::array<std::byte, kMostInRun * kPayloadSize> clear_{};
  PayloadDescrambler descrambler_;
  std::uint64_t cell_times_ = 0;
  CellCounters counters_;
};

}  // namespace weft::wan::atm
