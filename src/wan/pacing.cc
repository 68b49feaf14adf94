// SPDX-License-Identifier: Apache-2.0
#include "wan/pacing.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::wan {
namespace {

constexpr Duration kLeastRound = 10ms;    // shorter ones show too few packets
constexpr Duration kLeastSpan = 10s;      // routes change, and so does the shortest delay
constexpr double kMarkedGain = 1.0 / 8;   // of RFC 8257, 3.3, or so
constexpr double kMuchLoss = 1.0 / 50;    // more is taken for congestion
constexpr double kAfterLoss = 0.85;       // of the rate at which packets arrived
constexpr double kMostDrain = 0.5;        // of that rate, to drain a queue
constexpr double kGrowth = 1.05;          // at most, a round trip
constexpr double kPacingRecovery = 1.25;  // a round trip, up to
constexpr double kNearFull = 0.9;         // of what the path was last seen to carry
constexpr double kMuchUnused = 1.0 / 8;   // of a round, so that what arrives is not what can
constexpr double kLook = 0.7;             // of the rate, to find the shortest delay
constexpr double kLookCompeting = 0.5;    // the same among others who keep a queue
constexpr int kCompetingSpans = 6;        // what was seen counts so much longer then
constexpr double kCrowdQueues = 8;        // of the longest, given way in vain: there are others
constexpr double kSegment = 1500;         // bytes, of a TCP to compete with
constexpr double kCubic = 0.4;            // of RFC 9438, 5.1: C, segments per second cubed
constexpr double kCubicKeep = 0.7;        // 4.6: what is kept after a loss
constexpr double kPacingMost = 1e15;      // bytes per second: beyond all networks

double seconds(Duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Pacer::Pacer(const PacingSettings& settings, Time now) : settings_(settings), free_(now) {
  round_.begin = least_since_ = look_at_ = heard_ = now;
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
  double most = kPacingMost;
  if (settings_.most_bytes_per_s != 0) most = static_cast<double>(settings_.most_bytes_per_s);
  const double least = std::min(static_cast<double>(settings_.least_bytes_per_s), most);
  rate_ = std::clamp(bytes_per_s, least, most);
}

void Pacer::sent(std::size_t bytes, bool limited, Time now) {
  round_.limited = round_.limited || limited;
  if (settings_.adapt) {
    fall_silent(now);
    look_at_gap(now);
  }
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

void Pacer::look_at_gap(Time now) {
  const Duration gap = now - std::max(free_, gaps_until_);
  if (gap <= kMostLate) return;
  round_.unused += gap;
  gaps_until_ = now;
}

// What arrived shows that only where this sender asked for all that it might have.
double Pacer::carried(double arrived) const {
  return asked_ ? arrived : std::max(arrived, rate_);
}

// Who keeps a queue of his own sees no shortest delay any more, so for a round he lets it drain.
// True: the round that ends was one of those, or the next one is.
bool Pacer::looks_for_least_delay(double arrived, Time now) {
  if (resume_) {
    if (competing_ && queue_ < longest_queue() / 2) competing_ = false;
    if (--looks_ > 0) return true;
    set(*resume_);
    resume_.reset();
    return true;
  }
  if (now - look_at_ <= kLeastSpan) return false;
  look_at_ = now;
  if (!competing_ || now - least_since_ > kCompetingSpans * kLeastSpan) {
    least_before_ = std::exchange(least_now_, Duration::max());
    least_since_ = now;
  }
  resume_ = rate_;
  looks_ = competing_ ? 2 : 1;
  set(competing_ ? arrived * kLookCompeting : rate_ * kLook);
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
  // Who doubles the rate is to notice at once that it was too much; but what several reports say
  // that came together is of one moment, in which nothing can arrive.
  const bool full = starting_ && now > round_.begin &&
                    (feedback.marked != 0 || queue_of(sum) > longest_queue() / 2);
  if (full || now - round_.begin >= std::max(kLeastRound, sum.round_trip)) end_round(now);
}

Duration Pacer::queue_of(const PathFeedback& saw) const {
  return saw.delay ? *saw.delay - std::min(least_now_, least_before_) : 0ns;
}

void Pacer::end_round(Time now) {
  const PathFeedback& saw = round_.sum;
  const double lasted = seconds(now - round_.begin);
  // Bytes per second. Reports that were held up on the way back come in a shorter time than what
  // they tell of; while the rate only grows, no more can arrive than is sent.
  const double came = static_cast<double>(saw.bytes) / lasted;
  const double arrived = starting_ ? std::min(rate_, came) : came;
  look_at_gap(now);
  const bool has_gaps = seconds(round_.unused) > kMuchUnused * lasted;
  // What has just arrived left a round earlier.
  asked_ = !std::exchange(had_gaps_, has_gaps) && !has_gaps;
  if (saw.delay) queue_ = queue_of(saw);
  round_trip_ = saw.round_trip;
  if (saw.packets != 0) {
    const double share = static_cast<double>(saw.marked) / static_cast<double>(saw.packets);
    if (!starting_ || share > 0) marked_ += kMarkedGain * (share - marked_);
  }
  const auto next = Round{.begin = now, .sum = {}, .limited = false, .unused = 0ns};
  if (looks_for_least_delay(arrived, now)) {
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
  } else if (competing_) {
    if (may_give_way && saw.lost != 0) {
      give_way_competing(arrived, now);
    } else {
      compete(now);
    }
  } else if (queue_ > longest_queue() / 8) {
    hold_queue(arrived, lasted);
  } else if (round_.limited && saw.packets != 0) {
    grow(arrived);
  }
  round_ = next;
}

void Pacer::give_way(double arrived, double keep) {
  starting_ = false;
  gave_way_ = true;
  full_ = carried(arrived);
  set(std::min(rate_, full_) * keep);
}

void Pacer::grow(double arrived) {
  // What arrives tells of what was sent a round earlier, so this doubles every other round, and
  // comes to twice what the path can carry and not to more.
  if (starting_) return set(std::max(rate_, 2 * arrived));
  set(rate_ * (rate_ < full_ * kNearFull ? kPacingRecovery : most_growth()));
}

// What is too much makes a queue for two rounds before that shows.
double Pacer::most_growth() const {
  const double round = seconds(std::max(round_trip_, kLeastRound));
  return std::min(kGrowth, 1 + seconds(longest_queue()) / round / 6);
}

Duration Pacer::longest_queue() const {
  return std::max(settings_.queue, round_trip_ / 8);
}

// Twice the half of that at the least rate, half of it at 2^12 times as much, and beyond.
Duration Pacer::wanted_queue() const {
  const double doublings = std::log2(rate_ / static_cast<double>(settings_.least_bytes_per_s));
  const double share = std::clamp(2 - doublings / 8, 0.5, 2.0) / 2;
  return Duration(std::llround(share * static_cast<double>(longest_queue().count())));
}

// Where there is a queue, packets arrive as fast as the path can, and the rate is that, but for
// what makes the queue as long as it should be. Half of the difference a round, since what is done
// now shows a round later.
void Pacer::hold_queue(double arrived, double lasted) {
  const bool too_long = queue_ > longest_queue();
  if (!too_long && !round_.limited) return;  // the path was not asked for all it can
  const double change = seconds(wanted_queue() - queue_) / lasted / 2;
  const double keep = std::clamp(1 + change, kMostDrain, most_growth());
  starting_ = false;
  full_ = carried(arrived);
  if (too_long) {
    look_at_crowd(keep, lasted);
  } else {
    crowd_.reset();
  }
  set(competing_ ? full_ * kCubicKeep : full_ * keep);
}

// What is given way shows a round later.
void Pacer::look_at_crowd(double keep, double lasted) {
  if (!crowd_) crowd_ = Crowd{.begin = queue_, .rate = rate_};
  crowd_->drained += crowd_->given_way;
  crowd_->given_way = (1 - keep) * lasted;
  const double came_to = seconds(crowd_->begin - queue_);
  const double enough = kCrowdQueues * seconds(longest_queue());
  if (crowd_->drained < enough || came_to > crowd_->drained / 2) return;
  competing_ = true;
  full_ = crowd_->rate;
  gave_way_at_ = round_.begin;
  crowd_.reset();
}

void Pacer::give_way_competing(double arrived, Time now) {
  gave_way_ = true;
  gave_way_at_ = now;
  full_ = std::min(rate_, carried(arrived));
  set(full_ * kCubicKeep);
}

// RFC 9438, 4.2, with rates for windows. It is over when the queue has gone: then nobody else keeps
// one.
void Pacer::compete(Time now) {
  if (queue_ < longest_queue() / 2) {
    competing_ = false;
    return;
  }
  if (!round_.limited) return;
  const double round_trip = std::max(seconds(round_trip_), 1e-6);
  const double window = full_ * round_trip / kSegment;
  const double until = std::cbrt(window * (1 - kCubicKeep) / kCubic);
  const double beyond = seconds(now - gave_way_at_) - until;
  const double grown = window + kCubic * beyond * beyond * beyond;
  set(std::clamp(grown * kSegment / round_trip, rate_, rate_ * kPacingRecovery));
}

}  // namespace weft::wan
