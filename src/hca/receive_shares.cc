// SPDX-License-Identifier: Apache-2.0
#include "hca/receive_shares.h"

#include <algorithm>
#include <cassert>

namespace weft::hca {

std::uint32_t ReceiveShares::arrived(Member& member, Time now, std::uint32_t most) {
  member.last_ = now;
  if (member.active_) {
    active_.splice(active_.begin(), active_, member.place_);
  } else {
    active_.push_front(&member);
    member.place_ = active_.begin();
    member.active_ = true;
  }
  while (now - active_.back()->last_ > kActive)
    leave(*active_.back());
  const std::uint64_t others = granted_ - member.granted_;
  const auto share = static_cast<std::uint32_t>(budget_ / active_.size());
  const auto left = static_cast<std::uint32_t>(budget_ - std::min<std::uint64_t>(budget_, others));
  member.granted_ = std::max(std::min({share, left, most}), std::min(kLeast, budget_));
  granted_ = others + member.granted_;
  return member.granted_;
}

void ReceiveShares::leave(Member& member) {
  if (!member.active_) return;
  assert(granted_ >= member.granted_);
  granted_ -= member.granted_;
  active_.erase(member.place_);
  member = Member{};
}

}  // namespace weft::hca
