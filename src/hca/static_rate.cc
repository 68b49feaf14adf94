// SPDX-License-Identifier: Apache-2.0
#include "hca/static_rate.h"

#include <algorithm>

#include "wire/sa/rate.h"

namespace weft::hca {

bool StaticRate::admits(const Path& path, Time now) {
  waits_ = path.static_rate != 0 && free_ > now && path == path_;
  waited_ |= waits_;
  return !waits_;
}

void StaticRate::sent(const Path& path, std::size_t bytes, Time now) {
  if (path.static_rate == 0) return;
  const std::uint64_t mbps = wire::rate_mbps(path.static_rate);
  if (mbps == 0) return;
  const bool late = waited_ && path == path_;
  const Time begins = late ? std::max(free_, now - kMostLate) : now;
  free_ = begins + Duration(std::uint64_t{bytes} * 8000 / mbps);
  path_ = path;
  waits_ = waited_ = false;
}

}  // namespace weft::hca
