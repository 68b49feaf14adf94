// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ids.h"

namespace weft::hca {

// Which packets of a flow have arrived, where none is sent again: the newest, and how many never
// came. What is only late is not lost.
class Arrivals {
 public:
  static constexpr std::size_t kReorder = 256;  // packets: one later than that stays lost

  enum class Kind : std::uint8_t {
    kNewer,
    kLate,       // counted as lost until now
    kDuplicate,  // or older than is remembered
    kStrange,    // too far away for the network's doing
    kRestarted,  // the second in sequence of that kind: the peer numbers anew (RFC 3550, A.1)
  };

  Arrivals() = default;
  // As if `first` had been the first of all to arrive: what was before is not ours to miss.
  explicit Arrivals(Psn first) : newest_(first) { seen_.set(); }

  Kind note(Psn psn);

  [[nodiscard]] Psn newest() const { return newest_; }
  // Modulo 2^32.
  [[nodiscard]] std::uint32_t lost() const { return lost_; }

 private:
  Psn newest_{};
  std::bitset<kReorder> seen_;  // bit i: newest - i has arrived
  std::optional<Psn> restart_;  // the next one, if the peer began anew
  std::uint32_t lost_ = 0;
};

}  // namespace weft::hca
