// SPDX-License-Identifier: Apache-2.0
// Between the clock that came with the bits and the receiver's own, each of which may be 100 parts
// in a million off (IBA vol 2, 5.7): columns are put in at the one and taken out at the other, and
// where the two drift apart, SKP is added to SKIP sets or left out of them, on all lanes at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "phy/lanes/lane_counters.h"
#include "phy/lanes/lane_symbol.h"

namespace weft::phy {

class ElasticBuffer {
 public:
  static constexpr std::size_t kCapacity = 16;
  static constexpr std::size_t kMiddle = kCapacity / 2;
  // So far from the middle it may be without a change: SKIP sets come at least every 4608 symbol
  // times and a packet, in which clocks of 200 parts in a million drift by less than two.
  static constexpr std::size_t kSlack = 1;

  // Of `lanes` lanes; `counters` outlives this.
  ElasticBuffer(std::size_t lanes, LaneCounters& counters) : lanes_(lanes), counters_(counters) {}

  struct Entry {
    Column column{};
    bool after_gap = false;  // columns are missing before it
  };

  // At the sender's clock. If there is no room, the column is lost. `after_gap`: so are columns
  // before it.
  void push(const Column& column, bool after_gap = false);
  // At the receiver's clock. Nothing until the buffer is half full, nor once it has run dry, until
  // it is half full again.
  std::optional<Entry> pop();
  // Empty, as it was.
  void restart();

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool flowing() const { return flowing_; }

 private:
  bool is_all(const Column& column, Character character) const;
  void put(const Column& column);

  const std::size_t lanes_;
  LaneCounters& counters_;
  std::array<Entry, kCapacity> entries_{};
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::uint8_t skips_ = 0;  // SKP of the SKIP set that is under way, as it goes in
  bool in_set_ = false;     // after COM, or SKP
  bool flowing_ = false;
  bool gap_ = false;  // what was to go in last is lost
};

}  // namespace weft::phy
