// SPDX-License-Identifier: Apache-2.0
// What one direction of an emulated WAN is made to look like, and how people write it:
// "rate=10Gb/s,delay=50ms,jitter=1ms,loss=0.1%,queue=60MB,seed=7".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "link/emulation.h"

namespace weft::wan {

// A path is a line with a queue before it, and routers on the way. Whatever it has in common with a
// link of a lab is said and kept as there.
struct PathEmulation {
  // Its rate, delay, loss, bit errors, duplicates, reordering, flaps and outages, and the seed of
  // all faults. What else a link has, credit and receive buffers, a path has not.
  link::Emulation line;
  Duration jitter = 0ns;  // longer than the delay, at most; packets stay in their order
  Duration late = 1ms;    // by how much, at most, what is reordered comes behind its place
  // Bytes that may wait for the line; what finds no room is dropped. 0: what the line sends in
  // kUsualQueue. Without a rate nothing waits.
  std::uint64_t queue = 0;
  // With more bytes waiting, packets that are capable of ECN are marked; 0: never.
  std::uint64_t mark = 0;
  std::uint32_t mtu = 0;  // longest packet in bytes, others are dropped; 0: any

  static constexpr Duration kUsualQueue = 50ms;

  friend bool operator==(const PathEmulation&, const PathEmulation&) = default;
};

// `base` with the settings of a list; "none" stands for a path that is none. Errors name the
// setting and what it may be.
[[nodiscard]] Expected<PathEmulation> parse_path_emulation(std::string_view list,
                                                           const PathEmulation& base);
// The settings of a list that parse_path_emulation() reads the same again; empty when there is
// nothing to emulate.
[[nodiscard]] std::string to_string(const PathEmulation& emulation);

// Bytes that may wait for its line; 0 where there is no rate.
[[nodiscard]] std::uint64_t queue_of(const PathEmulation& emulation);
// The most bytes that are on such a path at once, those that wait included; 0 where there is no
// rate, and so no bound.
[[nodiscard]] std::uint64_t most_under_way(const PathEmulation& emulation);

}  // namespace weft::wan
