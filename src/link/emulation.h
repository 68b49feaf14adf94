// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weft::link {

// What a link is made to look like, each direction alike. Probabilities are from 0 to 1 and apply
// to each packet by itself, drawn from the seed: the same packets at the same times meet the same
// faults.
struct Emulation {
  std::uint64_t rate_bytes_per_s = 0;  // of the line; 0: none
  Duration delay = 0ns;                // one way
  double loss = 0;                     // of packets
  double credit_loss = 0;              // of flow-control packets
  double bit_errors = 0;               // per bit, of both kinds
  double duplicate = 0;                // of packets; no real link does, nor the next
  double reorder = 0;                  // of packets: the next one overtakes it
  // At which an end takes packets of data VLs out of its receive buffer; 0: as the element does.
  std::uint64_t drain_bytes_per_s = 0;
  Duration flap = 0ns;      // how long the cable stays in, on average; 0: for ever
  Duration outage = 100ms;  // and then how long it is out
  std::uint64_t seed = 1;

  friend bool operator==(const Emulation&, const Emulation&) = default;

  // Whether anything of it is to be emulated.
  [[nodiscard]] bool any() const {
    return rate_bytes_per_s != 0 || delay != 0ns || loss != 0 || credit_loss != 0 ||
           bit_errors != 0 || duplicate != 0 || reorder != 0 || drain_bytes_per_s != 0 ||
           flap != 0ns;
  }
};

}  // namespace weft::link
