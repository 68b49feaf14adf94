// SPDX-License-Identifier: Apache-2.0
#include "wan/tunnel_credit.h"

#include <algorithm>

namespace weft::wan {
namespace {

// Of a FIFO: what the other end gains before it is told. Less would cost messages, more would leave
// it without credit while there is room.
constexpr std::uint64_t kShare = 32;
// Blocks, that is at least 1 MiB: more at once would come in one burst, and what they free
// meanwhile would go back to the system instead of being used again.
constexpr std::uint64_t kMostGain = 16'384;

}  // namespace

TunnelSendCredit::Heard TunnelSendCredit::granted(std::uint64_t limit) {
  // A receiver has drained no more than was sent, and adds its whole FIFO at most.
  if (limit > sent_ && limit - sent_ > capacity_) return Heard::kForged;
  if (limit <= limit_) return Heard::kNothing;
  limit_ = limit;
  return Heard::kMore;
}

bool TunnelReceiveCredit::worth_telling(std::uint64_t drained, std::uint64_t received) const {
  const std::uint64_t now = limit(drained);
  if (now <= told_) return false;
  const std::uint64_t left = told_ > received ? told_ - received : 0;
  return left < longest_ ||
         now - told_ >= std::max(std::min(capacity_ / kShare, kMostGain), longest_);
}

void TunnelReceiveCredit::tell(std::uint64_t limit) {
  assert(limit >= told_);
  told_ = limit;
}

}  // namespace weft::wan
