// SPDX-License-Identifier: Apache-2.0
// One direction of an emulated WAN path: what becomes of each packet, and when.
//
// link/line.h and sim/network.h draw the same faults, but each keeps what it carries: one moves
// packets of a pool into the inbox of a port, the other datagrams into a socket of the simulation.
// Here the verdict is apart from the bytes, so that a process can leave them where the kernel has
// written them and a simulation can keep vectors. It has a queue and marks as sim/network.h does,
// and the settings, their text and the outages of link/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/counters.h"
#include "base/random.h"
#include "base/time.h"
#include "link/flapping.h"
#include "wan/path_emulation.h"

namespace weft::wan {

enum class PathCounter : std::uint8_t {
  kOffered,
  kOfferedBytes,
  kLost,
  kOutage,
  kTooLong,
  kQueueFull,
  kMarked,
  kDamaged,
  kDuplicated,
  kReordered,
  kCount,
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(PathCounter::kCount)>
    kPathCounterInfo{{
        {"offered", "packets that were given to the path"},
        {"offered_bytes", "and their bytes"},
        {"lost", "packets lost on the way, as asked for"},
        {"outage", "packets lost because the path was out just then"},
        {"too_long", "packets dropped because they are longer than the path's MTU"},
        {"queue_full", "packets dropped because the queue before the line was full"},
        {"marked", "packets marked with congestion experienced (ECN)"},
        {"damaged", "packets that arrive with a wrong bit"},
        {"duplicated", "packets that arrive twice"},
        {"reordered", "packets that arrive behind their place"},
    }};
using PathCounters = CounterSet<PathCounter, kPathCounterInfo>;

class PathModel {
 public:
  // What becomes of a packet. It arrives, or is dropped and counted.
  struct Fate {
    std::optional<Time> arrives;
    bool overtaken = false;                  // it arrives behind its place
    std::optional<Time> again;               // a second time, in its place
    std::optional<std::uint64_t> wrong_bit;  // from the first bit of its first byte on
    bool marked = false;                     // its traffic class says congestion experienced
  };

  PathModel(const PathEmulation& emulation, Time now) { change(emulation, now); }

  // From now on. What is under way is not overtaken, and faults are drawn from the seed anew.
  void change(const PathEmulation& emulation, Time now);
  [[nodiscard]] const PathEmulation& emulation() const { return emulation_; }

  // A packet of `size` bytes. `ecn_capable`: its traffic class says so (RFC 3168, 5). Times of
  // calls do not decrease.
  [[nodiscard]] Fate carry(std::size_t size, bool ecn_capable, Time now);
  // So many bytes of a stream, of which nothing is lost, doubled or overtaken: what a path would
  // lose waits until it is in again. Whoever has bytes asks stream_ready() first.
  [[nodiscard]] Fate carry_stream(std::size_t size, Time now);
  // When the queue before the line has room for more of a stream; at or before `now`: it has.
  [[nodiscard]] Time stream_ready() const;

  // Bytes that wait for the line.
  [[nodiscard]] std::uint64_t waiting(Time now) const;
  // Whether the path is out, by an outage that was asked for.
  [[nodiscard]] bool out(Time now);
  [[nodiscard]] const PathCounters& counters() const { return counters_; }

 private:
  [[nodiscard]] Duration time_on_line(std::uint64_t bytes) const;
  [[nodiscard]] std::optional<PathCounter> refuses(std::size_t size, Time now);
  [[nodiscard]] Time arrival();
  [[nodiscard]] std::optional<std::uint64_t> wrong_bit(std::size_t size);
  [[nodiscard]] bool happens(double probability);
  void count(PathCounter counter, std::uint64_t n = 1) { counters_.add_in_turn(counter, n); }

  PathEmulation emulation_;
  Random random_{0};
  link::Flapping flapping_;
  Time free_{};          // when the line has sent what waits
  Time last_arrival_{};  // packets stay in order but for those that are to be overtaken
  PathCounters counters_;
};

}  // namespace weft::wan
