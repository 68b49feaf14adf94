// SPDX-License-Identifier: Apache-2.0
#include "hca/peer_watch.h"

namespace weft::hca {

std::optional<Time> PeerWatch::due(bool idle) const {
  if (!heard_at_) return std::nullopt;
  if (refusals_ >= kRefusals) return refused_at_;
  if (refusals_ > 0 && questions_ < kMostRefusedQuestions) {
    return open_ ? asked_at_ + kUnrefused : refused_at_ + kAfterRefusal * (1 << (refusals_ - 1));
  }
  if (!idle || patience_ == Duration::zero()) return std::nullopt;
  if (suspected_) return *heard_at_;
  return (questions_ > 0 ? asked_at_ : *heard_at_) + interval();
}

bool PeerWatch::gone(bool idle, Time now) const {
  if (refusals_ >= kRefusals) return true;
  if (!idle || questions_ < kLeastQuestions || !heard_at_ || patience_ == Duration::zero()) {
    return false;
  }
  return now - *heard_at_ >= (unreachable_ ? patience_ / 4 : patience_);
}

}  // namespace weft::hca
