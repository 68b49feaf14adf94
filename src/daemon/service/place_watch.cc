// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/place_watch.h"

#include <algorithm>
#include <chrono>

namespace weft::daemon {
namespace {

// Of the last period in the average, unless so many have passed at once.
constexpr double kNewest = 0.25;
constexpr double kPeriods = 1 / kNewest;
constexpr double kNothing = 0.5;  // packets a second

}  // namespace

void PlaceWatch::set_served(bool served, Time now) {
  served_ = served;
  settle(now);
}

void PlaceWatch::look(const Work& totals, Time now) {
  if (looked_ && now > *looked_) {
    const std::uint64_t packets = totals.packets - before_.packets;
    const std::uint64_t lost = totals.lost - before_.lost;
    const double seconds = std::chrono::duration<double>(now - *looked_).count();
    const double periods = seconds / std::chrono::duration<double>(kPeriod).count();
    const double newest = static_cast<double>(packets) / seconds;
    rate_ += (newest - rate_) * std::min(1.0, periods / kPeriods);
    if (rate_ < kNothing) rate_ = 0;
    // What is lost may have come in the period before, and waited.
    overloaded_ = lost >= kFewLost && lost > packets / 2;
  }
  looked_ = now;
  before_ = totals;
  settle(now);
}

Duration PlaceWatch::hold() const {
  if (falls_ < 2) return Duration::zero();
  Duration hold = kFirstHold;
  for (unsigned i = 2; i < falls_ && hold < kMostHold; ++i)
    hold *= 2;
  return std::min(hold, kMostHold);
}

//            overloaded, or nobody serves
//     well ------------------------------> ill
//       ^                                  |  ^
//       | held out                  better |  | not better after all
//       |                                  v  |
//       +------------------------------ recovering
void PlaceWatch::settle(Time now) {
  if (!served_ || overloaded_) {
    recovered_.reset();
    if (!well_) return;
    well_ = false;
    if (now - fell_ > kForgiven) falls_ = 0;
    ++falls_;
    fell_ = now;
    return;
  }
  if (well_) return;
  if (!recovered_) recovered_ = now;
  if (now - *recovered_ < hold()) return;
  well_ = true;
  recovered_.reset();
}

std::string_view PlaceWatch::why() const {
  if (well_) return {};
  if (!served_) return "nobody serves there";
  return overloaded_ ? "it drops more than half of what comes, for want of memory or room"
                     : "it was not well several times of late, and is watched";
}

std::optional<Time> PlaceWatch::deadline() const {
  std::optional<Time> due;
  if (looked_ && (rate_ > 0 || overloaded_)) due = *looked_ + kPeriod;
  if (recovered_) due = std::min(due.value_or(Time::max()), *recovered_ + hold());
  return due;
}

}  // namespace weft::daemon
