// SPDX-License-Identifier: Apache-2.0
#include "hca/arrivals.h"

#include <algorithm>

namespace weft::hca {
namespace {

// A jump further ahead than this is not loss but another numbering.
constexpr std::int32_t kMaxGap = 1 << 20;

}  // namespace

Arrivals::Kind Arrivals::note(Psn psn) {
  const std::int32_t ahead = Psn::diff(psn, newest_);
  if (ahead > 0 && ahead <= kMaxGap) {
    const auto steps = static_cast<std::uint32_t>(ahead);
    lost_ += steps - 1;
    seen_ <<= std::min<std::size_t>(steps, kReorder);
    seen_.set(0);
    newest_ = psn;
    restart_.reset();
    return Kind::kNewer;
  }
  if (ahead <= 0 && ahead > -static_cast<std::int32_t>(kReorder)) {
    const auto late = static_cast<std::size_t>(-ahead);
    if (seen_.test(late)) return Kind::kDuplicate;
    seen_.set(late);
    --lost_;
    return Kind::kLate;
  }
  if (restart_ != psn) {
    restart_ = psn + 1;
    return Kind::kStrange;
  }
  newest_ = psn;
  seen_.set();
  restart_.reset();
  return Kind::kRestarted;
}

}  // namespace weft::hca
