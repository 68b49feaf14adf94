// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::port {

// When a socket should coalesce datagrams (UDP_GRO). Runs gain several times their speed by it; a
// lone datagram loses a tenth of its round trip (measured on Linux 6.18). So it is switched on when
// datagrams queue up and off when only lone ones have come for a while, while nothing waits to be
// read: a run that was queued before it is off would be read as one datagram.
class Coalescing {
 public:
  enum class Change : std::uint8_t { kNone, kOn, kOff };

  Change nothing_there() {
    in_a_row_ = 0;
    if (!on_ || lone_ < kLone) return Change::kNone;
    on_ = false;
    return Change::kOff;
  }
  // It could not be switched off just now.
  void still_on() {
    on_ = true;
    lone_ = 0;
  }
  // A receive brought a datagram, or a run of several.
  Change received(bool run) {
    ++in_a_row_;
    lone_ = run ? 0 : lone_ + 1;
    if (!on_ && in_a_row_ >= kQueued) {
      on_ = true;
      lone_ = 0;
      return Change::kOn;
    }
    return Change::kNone;
  }

 private:
  static constexpr std::uint32_t kQueued = 4;  // receives in a row that found something
  static constexpr std::uint32_t kLone = 64;   // receives in a row that brought one datagram

  bool on_ = false;
  std::uint32_t in_a_row_ = 0;
  std::uint32_t lone_ = 0;
};

}  // namespace weft::port
