// SPDX-License-Identifier: Apache-2.0
#include "wan/pacing.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::wan {
namespace {

constexpr Duration kLeastRound = 10ms;   // shorter ones show too few packets
constexpr Duration kLeastSpan = 10s;     // routes change, and so does the shortest delay
constexpr double kMarkedGain = 1.0 / 8;  // of RFC 8257, 3.3, or so
constexpr double kMuchLoss = 1.0 / 50;   // more is taken for congestion
constexpr double kAfterLoss = 0.85;      // of the rate at which packets arrived
constexpr double kMostDrain = 0.5;       // of that rate, to drain a queue
constexpr double kGrowth = 1.05;         // at most, a round trip
constexpr double kRecovery = 1.25;       // a round trip, up to
constexpr double kNearFull = 0.9;        // of what the path was last seen to carry
constexpr double kLook = 0.7;            // of the rate, to find the shortest delay
constexpr double kMost = 1e15;           // bytes per second: beyond all networks

double seconds(Duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Pacer::Pacer(const PacingSettings& settings, Time now) : settings_(settings), free_(now) {
  round_.begin = least_since_ = heard_ = now;
  if (settings.adapt) {
    set(static_cast<double>(settings.first_bytes_per_s));
  } else {
    rate_ = static_cast<double>(settings.most_bytes_per_s);
  }
}

std::optional<std::uint64_t> Pacer::rate() const {
  if (rate_ == 0) return std::nullopt;
  return static_cast<std::uint64_t>(rate_);
}

std::size_t Pacer::run() const {
  if (rate_ == 0) return SIZE_MAX;
  return static_cast<std::size_t>(rate_ * seconds(kRun));
}

void Pacer::set(double bytes_per_s) {
  double most = kMost;
  if (settings_.most_bytes_per_s != 0) most = static_cast<double>(settings_.most_bytes_per_s);
  const double least = std::min(static_cast<double>(settings_.least_bytes_per_s), most);
  rate_ = std::clamp(bytes_per_s, least, most);
}

void Pacer::sent(std::size_t bytes, bool limited, Time now) {
  round_.limited = round_.limited || limited;
  if (settings_.adapt) fall_silent(now);
  if (rate_ == 0) return;
  const double ns = static_cast<double>(bytes) / rate_ * 1e9;
  free_ = std::max(free_, now - kMostLate) + Duration(std::llround(std::ceil(ns)));
}

// Who hears nothing does not know what becomes of what it sends.
void Pacer::fall_silent(Time now) {
  if (now - heard_ < patience_) return;
  heard_ = now;
  set(rate_ / 2);
}

// Who keeps a queue of his own sees no shortest delay any more, so for a round he lets it drain.
// True: the round that ends was one of those, or the next one is.
bool Pacer::looks_for_least_delay(Time now) {
  if (resume_) {
    set(*resume_);
    resume_.reset();
    return true;
  }
  if (now - least_since_ <= kLeastSpan) return false;
  least_before_ = std::exchange(least_now_, Duration::max());
  least_since_ = now;
  resume_ = rate_;
  set(rate_ * kLook);
  return true;
}

void Pacer::feedback(const PathFeedback& feedback, Time now) {
  if (!settings_.adapt) return;
  heard_ = now;
  patience_ = std::max<Duration>(1s, 4 * feedback.round_trip);
  PathFeedback& sum = round_.sum;
  sum.bytes += feedback.bytes;
  sum.packets += feedback.packets;
  sum.marked += feedback.marked;
  sum.lost += feedback.lost;
  sum.round_trip = std::max(sum.round_trip, feedback.round_trip);
  if (feedback.delay) {
    least_now_ = std::min(least_now_, *feedback.delay);
    sum.delay = std::min(*feedback.delay, sum.delay.value_or(Duration::max()));
  }
  if (now - round_.begin >= std::max(kLeastRound, sum.round_trip)) end_round(now);
}

void Pacer::end_round(Time now) {
  const PathFeedback& saw = round_.sum;
  const double lasted = seconds(now - round_.begin);
  const double arrived = static_cast<double>(saw.bytes) / lasted;  // bytes per second
  if (saw.delay) queue_ = *saw.delay - std::min(least_now_, least_before_);
  if (saw.packets != 0) {
    const double share = static_cast<double>(saw.marked) / static_cast<double>(saw.packets);
    if (!starting_ || share > 0) marked_ += kMarkedGain * (share - marked_);
  }
  const auto next = Round{.begin = now, .sum = {}, .limited = false};
  if (looks_for_least_delay(now)) {
    round_ = next;
    return;
  }
  // What gave way shows a round later, and costs nothing more until then.
  const bool may_give_way = !std::exchange(gave_way_, false);
  const auto ended = static_cast<double>(saw.packets + saw.lost);
  if (may_give_way && ended != 0 && static_cast<double>(saw.lost) / ended > kMuchLoss) {
    give_way(arrived, kAfterLoss);
  } else if (may_give_way && saw.marked != 0) {
    give_way(arrived, 1 - marked_ / 2);
  } else if (queue_ > settings_.queue / 8) {
    hold_queue(arrived, lasted);
  } else if (round_.limited && saw.packets != 0) {
    grow(arrived);
  }
  round_ = next;
}

void Pacer::give_way(double arrived, double keep) {
  starting_ = false;
  gave_way_ = true;
  full_ = arrived;
  set(std::min(rate_, arrived) * keep);
}

void Pacer::grow(double arrived) {
  // What arrives tells of what was sent a round earlier, so this doubles every other round, and
  // comes to twice what the path can carry and not to more.
  if (starting_) return set(std::max(rate_, 2 * arrived));
  set(rate_ * (rate_ < full_ * kNearFull ? kRecovery : kGrowth));
}

// Where there is a queue, packets arrive as fast as the path can, and the rate is that, but for
// what makes the queue half as long as it may be. Half of the difference a round, since what is
// done now shows a round later.
void Pacer::hold_queue(double arrived, double lasted) {
  const bool too_long = queue_ > settings_.queue;
  if (!too_long && !round_.limited) return;  // the path was not asked for all it can
  const double change = seconds(settings_.queue / 2 - queue_) / lasted / 2;
  starting_ = false;
  full_ = arrived;
  set(arrived * std::clamp(1 + change, kMostDrain, kGrowth));
}

}  // namespace weft::wan
