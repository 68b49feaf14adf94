// SPDX-License-Identifier: Apache-2.0
// What frames lie in on a leg, which is one of the ways to a remote, where both ends watch what
// becomes of them: a head that says when they left, and reports of what has come the other way. All
// numbers are big-endian. docs/range-extension.md has the same as tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/time.h"

namespace weft::wan {

// A remote has as many legs at most.
inline constexpr std::size_t kMostLegs = 8;

// Of either end by its own clock, modulo 2^32 microseconds.
[[nodiscard]] constexpr std::uint32_t leg_clock(Time now) {
  return static_cast<std::uint32_t>(now.time_since_epoch() / 1us);
}

struct LegHead {
  static constexpr std::size_t kSize = 20;
  static constexpr std::uint8_t kVersion = 2;  // with which neither frames nor sealed ones begin

  std::uint8_t leg = 0;     // its number, by which both ends know it, below kMostLegs
  std::uint32_t begun = 0;  // the sender's clock when it began to count, which tells two such apart
  std::uint32_t clock = 0;  // of the sender, when it left
  std::uint64_t number = 0;  // of what left by this leg, from 0

  // `out` has room for it. `reported`: a report follows, and after that the frame.
  void write(bool reported, MutableBytes out) const;
};

// What has come by a leg so far, so that a report that is lost does no harm.
struct LegReport {
  static constexpr std::size_t kSize = 48;

  std::uint32_t begun = 0;      // LegHead::begun of what is reported
  std::uint64_t next = 0;       // one beyond the newest number that has come
  std::uint64_t datagrams = 0;  // that have come; doubled ones count twice
  std::uint64_t bytes = 0;      // of them
  std::uint64_t marked = 0;     // of them, datagrams with congestion experienced (ECN)
  std::uint32_t echo = 0;       // the clock of the newest one
  std::uint32_t held = 0;       // microseconds since that has come
  // The least that this end's clock was ahead of the one that a datagram bore, among those that
  // came since the last report: how long it was on its way, but for what the clocks differ by.
  std::uint32_t least_delay = 0;

  void write(MutableBytes out) const;
};

struct LegMessage {
  LegHead head;
  std::optional<LegReport> report;
  Bytes frame;  // empty: there is none

  // Nothing: it cannot be one.
  [[nodiscard]] static std::optional<LegMessage> parse(Bytes datagram);
  // Whether it says that it is one; if not, it may be a frame alone.
  [[nodiscard]] static bool is_one(Bytes datagram) {
    return !datagram.empty() && datagram[0] == std::byte{LegHead::kVersion};
  }
};

}  // namespace weft::wan
