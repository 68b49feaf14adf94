// SPDX-License-Identifier: Apache-2.0
// Link fault signalling (IEEE 802.3, 46.3.4, Figure 46-9). Four of the same fault, no more than 128
// columns from one to the next, are a fault; 128 columns without one are the end of it.
#pragma once

#include <cstdint>
#include <optional>

#include "wan/line/pcs/xgmii.h"

namespace weft::wan {

enum class LinkFault : std::uint8_t {
  kNone,
  kLocal,   // what comes to this end is not understood: it says so to the other one
  kRemote,  // what goes from this end is not understood over there: it sends nothing but idle
};

class LinkFaultStates {
 public:
  static constexpr std::uint32_t kColumns = 128;
  static constexpr unsigned kEnough = 4;

  // The next columns have no fault.
  void quiet(std::uint32_t columns) {
    if (seen_ == 0) return;
    since_ += columns;
    if (since_ < kColumns) return;
    fault_ = LinkFault::kNone;
    seen_ = 0;
  }
  // The next column has one.
  void see(LinkFault fault) {
    if (seen_ == 0 || fault != last_) seen_ = 0;
    last_ = fault;
    since_ = 0;
    if (seen_ < kEnough && ++seen_ == kEnough) fault_ = fault;
  }
  [[nodiscard]] LinkFault fault() const { return fault_; }

 private:
  LinkFault fault_ = LinkFault::kNone;
  LinkFault last_ = LinkFault::kNone;
  unsigned seen_ = 0;        // of the last one, up to kEnough
  std::uint32_t since_ = 0;  // columns
};

// Nothing: the set says no fault.
[[nodiscard]] constexpr std::optional<LinkFault> fault_of(const OrderedSet& set) {
  if (set.code != OrderedSet::Code::kSequence) return std::nullopt;
  if (set.value == kLocalFaultValue) return LinkFault::kLocal;
  if (set.value == kRemoteFaultValue) return LinkFault::kRemote;
  return std::nullopt;
}

}  // namespace weft::wan
