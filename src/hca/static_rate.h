// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "base/time.h"
#include "hca/types.h"

namespace weft::hca {

// Static rate control (IBA 9.11): what a queue pair sends along a path that is slower than its port
// leaves with gaps, so that on average it is no more than the path carries. Bursts leave whole; the
// time that one takes at the path's rate must pass before the next. Other paths do not wait.
class StaticRate {
 public:
  // A program may be woken late. So much of the time that was lost is made up for.
  static constexpr Duration kMostLate = 1ms;

  // Whether a burst may go along `path` now; until() says when it may, if not.
  [[nodiscard]] bool admits(const Path& path, Time now);
  // A burst of `bytes`, headers and CRCs included, has gone along `path`.
  void sent(const Path& path, std::size_t bytes, Time now);
  // Nothing while nobody waits.
  [[nodiscard]] std::optional<Time> until() const {
    return waits_ ? std::optional(free_) : std::nullopt;
  }
  // Whoever waits is asked again.
  void ask_again() { waits_ = false; }

 private:
  Path path_{};  // the one that has a rate and was used last
  Time free_{};  // when it can take the next burst
  bool waits_ = false;
  bool waited_ = false;  // since the last burst
};

}  // namespace weft::hca
