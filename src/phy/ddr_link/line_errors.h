// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "phy/ddr_link/error_times.h"
#include "phy/link_speed.h"

namespace weft::phy {

// What arrives wrong at one end of a link while it is up. Symbols come all the time, packets' or
// idle data: a packet is hit by those errors that come while it does.
class LineErrors {
 public:
  // The link is up, at `speed` and over so many lanes. `probability` is that of a symbol to be
  // wrong, from 0 to 1.
  void begin(LinkSpeed speed, std::size_t lanes, double probability, std::uint64_t seed, Time now);
  // It is so no more. What is counted stays.
  void end(Time now);

  // Whether it is up, and any are to be expected in the time that a lab runs.
  [[nodiscard]] bool any() const;
  // A packet of so many symbols comes behind those before it, which takes as long as its columns
  // do: how many of them are wrong. On a line that is given more than it carries, time runs ahead.
  std::uint64_t packet(std::size_t symbols, Time now);
  // All of them by `now`, and to the end of the last packet.
  [[nodiscard]] std::uint64_t count(Time now) const;

 private:
  bool up_ = false;
  std::size_t lanes_ = 1;
  Duration column_{};  // how long it takes
  ErrorTimes times_;
  Time since_{};
  Time packets_until_{};
  std::uint64_t before_ = 0;  // when it was up before
};

}  // namespace weft::phy
