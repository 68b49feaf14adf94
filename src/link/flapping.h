// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/random.h"
#include "base/time.h"
#include "link/emulation.h"

namespace weft::link {

// When a cable that flaps is out (Emulation::flap). The times that it stays in are drawn from half
// of that to one and a half times as long.
class Flapping {
 public:
  // From `now` on; the cable is in.
  void start(const Emulation& emulation, Time now);
  [[nodiscard]] bool out() const { return out_; }
  [[nodiscard]] std::optional<Time> deadline() const { return next_; }
  // Whether the cable has come out, or is in again.
  bool run(Time now);

 private:
  [[nodiscard]] Duration time_in();

  Duration flap_ = 0ns;
  Duration outage_ = 0ns;
  Random random_{0};
  bool out_ = false;
  std::optional<Time> next_;  // when that changes
};

}  // namespace weft::link
