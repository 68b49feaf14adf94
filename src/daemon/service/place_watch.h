// SPDX-License-Identifier: Apache-2.0
// Whether a place where a data service works is well, and how much it has to do, by what it counts:
// a core, without clock. Who falls ill is said to be so at once; who falls ill again and again has
// to hold out for longer and longer before he is said to be well, so that paths do not go to and
// fro.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace weft::daemon {

class PlaceWatch {
 public:
  // Of what is counted, so much at a time is judged.
  static constexpr Duration kPeriod = 1s;
  // An instance is overloaded that loses more than half of what comes in a period, and not less
  // than so many packets.
  static constexpr std::uint64_t kFewLost = 64;
  // From the second time on that it falls ill, it is well only after it has been so for kFirstHold,
  // twice as long with each further time; kForgiven after the last one it begins anew.
  static constexpr Duration kFirstHold = 2s;
  static constexpr Duration kMostHold = 64s;
  static constexpr Duration kForgiven = 300s;

  // Since it began: packets that came, and those of them that were dropped for want of memory or
  // room.
  struct Work {
    std::uint64_t packets = 0;
    std::uint64_t lost = 0;
  };

  explicit PlaceWatch(bool served) : served_(served), well_(served) {}

  // Whether there is somebody who works there.
  void set_served(bool served, Time now);
  // A period is over: look() at what came in it.
  [[nodiscard]] bool is_due(Time now) const { return !looked_ || now - *looked_ >= kPeriod; }
  void look(const Work& totals, Time now);
  // Call it at deadline(), and as often as one likes.
  void run(Time now) {
    if (recovered_) settle(now);
  }

  [[nodiscard]] bool is_well() const { return well_; }
  // Why not; empty: it is well.
  [[nodiscard]] std::string_view why() const;
  // Packets a second that came, smoothed over some periods.
  [[nodiscard]] std::uint64_t rate() const { return static_cast<std::uint64_t>(rate_); }
  // When is_well() or rate() may become another although nothing comes.
  [[nodiscard]] std::optional<Time> deadline() const;

 private:
  void settle(Time now);
  [[nodiscard]] Duration hold() const;

  bool served_;
  bool well_;
  bool overloaded_ = false;
  unsigned falls_ = 0;             // how often it fell ill, of late
  Time fell_{};                    // when it did so last
  std::optional<Time> recovered_;  // since when nothing ails it, while it is not well yet
  std::optional<Time> looked_;
  Work before_{};  // when it was looked at
  double rate_ = 0;
};

}  // namespace weft::daemon
