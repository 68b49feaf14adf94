// SPDX-License-Identifier: Apache-2.0
#include "sm/sweep_pace.h"

#include <algorithm>

namespace weft::sm {

void SweepPace::ended(Duration took, bool changed, Time now) {
  gap_ = changed ? kLeastGap : 2 * gap_;
  gap_ = std::min(gap_, most_);
  free_at_ = now + std::max(gap_, std::min(took, most_));
}

Time SweepPace::asked(Lid source, Time now) {
  if (sources_.size() >= kMostSources && !sources_.contains(source)) {
    // Whoever may have one soonest has been quiet for longest.
    sources_.erase(std::min_element(
        sources_.begin(), sources_.end(),
        [](const auto& a, const auto& b) { return a.second.next < b.second.next; }));
  }
  Source& asking = sources_[source];
  if (now < asking.next) return std::max(asking.next, free_at_);
  const bool was_quiet = now >= asking.next + asking.pause;
  const Duration first = std::min(kFirstPause, most_);
  asking.pause = was_quiet ? first : std::min(2 * asking.pause, most_);
  asking.next = now + asking.pause;
  return std::max(now, free_at_);
}

}  // namespace weft::sm
