// SPDX-License-Identifier: Apache-2.0
// What has come of the other end's packets, as a DCCP end tells it in Ack Vectors (RFC 4340, 11.4):
// cells of a byte each from the newest packet back, of a state in 2 bits and, in 6, how many more
// packets before it are in the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/bytes.h"
#include "wan/dccp/sequence.h"

namespace weft::wan::dccp {

enum class Arrival : std::uint8_t {
  kReceived = 0,
  kMarked = 1,   // with congestion experienced (ECN)
  kMissing = 3,  // not yet received
};

inline constexpr std::size_t kMostOfCell = 64;

// Calls back with each run of packets in one state, the newest first: its newest one, how many,
// Arrival. Cells of the state that is reserved are left out.
template <class Callback>
void for_each_run(Sequence newest, Bytes cells, Callback&& run) {
  for (const std::byte cell : cells) {
    const auto bits = std::to_integer<unsigned>(cell);
    const std::size_t count = (bits & 63) + 1;
    const unsigned state = bits >> 6;
    if (state != 2) run(newest, count, static_cast<Arrival>(state));
    newest = newest - count;
  }
}

// What a receiver remembers, bounded in memory: of the oldest packets it forgets what became.
class AckRecord {
 public:
  static constexpr std::size_t kMostRuns = 1024;

  // Nothing before this one is ever new.
  void begin(Sequence first);
  // A valid packet has come. False: it had before, or is so old that nobody knows.
  bool receive(Sequence sequence, bool marked);
  // It has come, but counts as missing, as do all between it and the newest.
  void pass(Sequence sequence);
  // The other end has been told of this one, and of all before it.
  void told(Sequence sequence);

  // The newest that has come, or what is before the first.
  [[nodiscard]] Sequence newest() const { return newest_; }
  // Writes cells, from the newest on, as many as there are and have room. How many.
  std::size_t write(MutableBytes cells) const;
  // How many there are.
  [[nodiscard]] std::size_t cells() const;

 private:
  struct Run {
    Arrival state;
    std::uint64_t count;
  };
  bool fill_in(std::uint64_t before_newest, Arrival state);
  void merge_around(std::size_t at);

  Sequence newest_;
  std::deque<Run> runs_;  // the newest first
};

}  // namespace weft::wan::dccp
