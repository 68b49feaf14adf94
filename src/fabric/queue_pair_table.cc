// SPDX-License-Identifier: Apache-2.0
#include "fabric/queue_pair_table.h"

namespace weft::fabric {

std::optional<Qpn> QueuePairTable::allocate(AttachedProgram& owner) {
  if (owners_.size() >= kNumbers) return std::nullopt;
  for (;;) {
    const Qpn qpn = next_ < kFirst || next_ > kLast ? kFirst : next_;
    next_ = Qpn{qpn.value() + 1};
    if (owners_.emplace(qpn, &owner).second) return qpn;
  }
}

}  // namespace weft::fabric
