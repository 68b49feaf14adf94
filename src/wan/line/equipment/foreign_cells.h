// SPDX-License-Identifier: Apache-2.0
// A host that somebody else has on a line of cells: it sends numbered cells on a channel of its own
// to another one like it, and checks whether those of that one come whole, in order, and all of
// them.
//
//   payload   number 64 bits, 40 octets that follow from it
#pragma once

#include <cstdint>

#include "base/counters.h"
#include "base/time.h"
#include "wan/line/atm/cell.h"
#include "wan/line/equipment/foreign_counters.h"
#include "wan/line/equipment/sending_clock.h"

namespace weft::wan {

class ForeignCells final : public atm::CellFeed {
 public:
  // Its cells take so many bytes a second of the line, and are sent as soon as they are due.
  ForeignCells(const atm::Channel& channel, std::uint64_t bytes_per_s)
      : channel_(channel), clock_(bytes_per_s) {}

  void advance(Time now) { clock_.advance(now); }
  [[nodiscard]] std::size_t put_cells(MutableBytes cells) override;
  // Cells of its channel.
  void take(const atm::CellRun& run);

  [[nodiscard]] const atm::Channel& channel() const { return channel_; }
  [[nodiscard]] const ForeignCounters& counters() const { return arrivals_.counters(); }

 private:
  const atm::Channel channel_;
  SendingClock clock_;
  std::uint64_t sent_ = 0;
  ForeignArrivals arrivals_;
};

}  // namespace weft::wan
