// SPDX-License-Identifier: Apache-2.0
// When a sweep may begin that somebody outside asks for, by a trap or otherwise. The first time at
// once; who asks again and again waits longer and longer, and does not keep others waiting. All
// together they cannot keep the manager busy for more than half of the time, and less and less of
// it when nothing is found. Nothing that was asked for is forgotten: it comes later.
#pragma once

#include <cstddef>
#include <map>

#include "base/ids.h"
#include "base/time.h"

namespace weft::sm {

class SweepPace {
 public:
  static constexpr std::size_t kMostSources = 1024;
  static constexpr Duration kFirstPause = 100ms;  // of one source
  static constexpr Duration kLeastGap = 10ms;     // between any two sweeps

  // `most`: nobody waits longer.
  explicit SweepPace(Duration most) : most_(most) {}

  // A sweep has ended, which took so long, and found that something had `changed`.
  void ended(Duration took, bool changed, Time now);
  // When the sweep may begin that is asked for now.
  [[nodiscard]] Time asked(Lid source, Time now);

 private:
  struct Source {
    Time next{};  // when it may have another sweep
    Duration pause{};
  };
  const Duration most_;
  Duration gap_ = kLeastGap;
  Time free_at_{};
  std::map<Lid, Source> sources_;
};

}  // namespace weft::sm
