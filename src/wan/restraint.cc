// SPDX-License-Identifier: Apache-2.0
#include "wan/restraint.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::wan {
namespace {

constexpr Duration kShortestRound = 10ms;  // shorter ones show too few frames
constexpr double kLittle = 1.0 / 50;       // of what is sent, lost: recovery deals with it
constexpr double kLess = 0.85;             // of what arrives, so that queues on the way drain
constexpr double kMuchLess = 0.7;          // of the rate, where that was not enough
constexpr double kGain = 0.05;             // a round trip
constexpr double kLargestGain = 0.2;       // after several in which all of it arrived
constexpr double kAll = 0.95;              // of what left: it did
constexpr double kAhead = 1.1;             // of what arrives, at most, where it did not
constexpr double kOutOfTheWay = 2;         // times what arrives
constexpr double kSlowest = 125'000;       // bytes per second
constexpr int kUntilItShows = 2;           // rounds: of a frame that is overtaken later
constexpr int kInVain = 3;                 // times that it was lowered
constexpr double kAsMuch = 0.75;           // of what was lost before: it was in vain
constexpr double kForgets = 1.0 / 8;       // a round
constexpr Duration kRestraintRun = 50us;   // leaves at once, as time at the rate
constexpr Duration kRestraintLate = 1ms;   // is made up for at most

}  // namespace

void Restraint::sent(std::uint64_t bytes, Time now) {
  if (rate_ == 0) return;
  const double ns = static_cast<double>(bytes) / rate_ * 1e9;
  free_ = std::max(free_, now - kRestraintLate) + Duration(std::llround(ns));
  if (free_ <= now + kRestraintRun) return;
  pause_ = free_;
  in_the_way_ = true;
}

void Restraint::go_on(Time now) {
  if (pause_ && now >= *pause_) pause_.reset();
}

// It was only late.
void Restraint::came_after_all(std::uint64_t bytes) {
  lost_ -= std::min(lost_, bytes);
  came_ += bytes;
}

void Restraint::look(Duration round_trip, Time now) {
  if (came_ == 0) return;
  if (!round_begin_) round_begin_ = now;
  const Duration lasted = now - *round_begin_;
  if (lasted < std::max(round_trip, kShortestRound)) return;
  end_round(static_cast<double>(came_), static_cast<double>(lost_),
            std::chrono::duration<double>(lasted).count());
  came_ = lost_ = 0;
  round_begin_ = now;
  in_the_way_ = false;
}

// The most of the last rounds: in others there was nothing to send, or the buffer at the far end
// was full of what waited for a frame that was lost.
double Restraint::arrived() const {
  return *std::ranges::max_element(rounds_);
}

void Restraint::end_round(double came, double lost, double lasted) {
  last_round_ = (last_round_ + 1) % rounds_.size();
  rounds_[last_round_] = came / lasted;
  const double before = std::exchange(rate_before_, rate_);
  if (unseen_ > 0) {
    --unseen_;
    return;
  }
  const double share = lost / (came + lost);
  if (share > own_share_ + kLittle) return lower(share);
  in_a_row_ = 0;
  own_share_ -= (own_share_ - std::min(own_share_, share)) * kForgets;
  raise(before);
}

// What is lost as much at a rate that has become far lower is lost by the network itself.
void Restraint::lower(double share) {
  if (in_a_row_ == 0) first_share_ = share;
  if (in_a_row_ >= kInVain && share >= kAsMuch * first_share_) {
    own_share_ = share;
    in_a_row_ = 0;
    rate_ = 0;
    pause_.reset();
    return;
  }
  double less = kLess * arrived();
  if (in_a_row_ > 0) less = std::min(less, kMuchLess * rate_);
  if (rate_ != 0) less = std::min(less, rate_);
  rate_ = std::max(less, kSlowest);
  gain_ = 0;
  ++in_a_row_;
  unseen_ = kUntilItShows;
  ++lowered_;
}

// `before`: the rate at which what arrives now has left. Where less does arrive, the rest is in a
// queue that becomes longer, and shows the rate that the path has.
void Restraint::raise(double before) {
  if (rate_ == 0) return;
  const bool all = rounds_[last_round_] >= kAll * before;
  gain_ = all ? std::clamp(2 * gain_, kGain, kLargestGain) : kGain;
  rate_ *= 1 + gain_;
  if (!in_the_way_) {
    if (rate_ > kOutOfTheWay * arrived()) rate_ = 0;
  } else if (!all) {
    rate_ = std::max(std::min(rate_, kAhead * arrived()), kSlowest);
  }
}

}  // namespace weft::wan
