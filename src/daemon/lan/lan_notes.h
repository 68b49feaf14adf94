// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/time.h"
#include "lan/lan_counters.h"

namespace weft::daemon {

// What somebody should know of the frames that a LAN port drops: that somebody forges, floods, or
// speaks another language. Each kind is noted once, and again when there was none of it for long:
// whoever does it on purpose cannot fill the notes.
class LanNotes {
 public:
  static constexpr Duration kEvery = 1s;  // it is looked so often
  static constexpr Duration kQuiet = 10min;
  static constexpr std::size_t kMost = 32;  // of the newest
  // A peer that begins anew sends from another queue pair than is known of it, until it has been
  // asked: only what goes on for so many looks is somebody else's.
  static constexpr unsigned kPatience = 5;

  struct Note {
    Time at{};
    std::string text;  // "rx_storm: frames dropped: …"
  };

  void look(const lan::LanCounters& counters, Time now);
  // look() does nothing before that.
  [[nodiscard]] Time next() const { return next_; }
  // The oldest first.
  [[nodiscard]] const std::deque<Note>& all() const { return notes_; }

 private:
  struct Kind {
    std::uint64_t count = 0;
    std::optional<Time> risen;  // at last, unless it was too soon to say so
    unsigned in_a_row = 0;      // looks at which it had risen
  };
  Time next_{};
  std::array<Kind, lan::LanCounters::kSize> kinds_{};
  std::deque<Note> notes_;
};

}  // namespace weft::daemon
