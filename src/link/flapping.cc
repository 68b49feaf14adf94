// SPDX-License-Identifier: Apache-2.0
#include "link/flapping.h"

namespace weft::link {

void Flapping::start(const Emulation& emulation, Time now) {
  flap_ = emulation.flap;
  outage_ = emulation.outage;
  random_ = Random(emulation.seed);
  out_ = false;
  next_.reset();
  if (flap_ > 0ns) next_ = now + time_in();
}

Duration Flapping::time_in() {
  return flap_ / 2 + Duration(random_.below(static_cast<std::uint64_t>(flap_.count()) + 1));
}

bool Flapping::run(Time now) {
  if (!next_ || now < *next_) return false;
  out_ = !out_;
  next_ = now + (out_ ? outage_ : time_in());
  return true;
}

}  // namespace weft::link
