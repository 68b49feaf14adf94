// SPDX-License-Identifier: Apache-2.0
#include "hca/congestion_window.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace weft::hca {
namespace {

constexpr double kKeep = 0.85;  // of the window, when it gives way
constexpr double kKeepAfterTimeout = 0.5;
// Below so much of where it gave way it brings about no losses of its own.
constexpr double kLow = 0.9;
constexpr double kSegment = 1448;      // bytes; TCP's, so that both grow at one pace
constexpr double kCubicScale = 0.4;    // segments per second cubed, RFC 9438's C
constexpr double kOpenGrowth = 0.125;  // of the window per round trip, while no queue builds up

// A window that grows by as much within so many round trips has not found the end of the path yet.
constexpr double kStep = 1.25;
constexpr int kStepRounds = 4;

// After congestion the path is not taken for open for so long, and for several times what it takes
// to fill it again.
constexpr Duration kFullFor = 1s;
constexpr int kFullRounds = 64;  // round trips
constexpr double kFullRecoveries = 2;

constexpr Duration kRun = 1ms;

constexpr Duration kLeastLifetime = 10s;
// A queue of a fraction of a millisecond is a scheduler's doing, not the network's.
constexpr Duration kLeastInflation = 500us;

// Losses are judged over so many packets.
constexpr std::uint32_t kJudged = 1024;
constexpr std::uint32_t kFewestLosses = 4;
constexpr std::uint32_t kCongestionWindowTolerated = 50;  // one packet in so many may be lost,
// and while the window is found out, when a path that overflows loses a tenth of it and more.
constexpr std::uint32_t kToleratedAtFirst = 16;

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void CongestionWindow::start(std::uint32_t packet, bool lossless) {
  *this = CongestionWindow{};
  packet_ = packet;
  lossless_ = lossless;
  window_ = grown_ = std::max(kInitial, least());
}

Duration CongestionWindow::least_round_trip() const {
  const Duration least = std::min(least_now_, least_before_);
  return least == Duration::max() ? Duration{} : least;
}

void CongestionWindow::sample(Duration round_trip, bool clean, Time now) {
  round_trip = std::max(round_trip, Duration{1us});
  if (!smoothed_) grew_at_ = now;
  smoothed_ = smoothed_ ? (*smoothed_ * 7 + round_trip) / 8 : round_trip;
  if (!clean) return;
  recent_ = recent_ ? (*recent_ + round_trip) / 2 : round_trip;
  if (now - least_since_ >= kLeastLifetime) {
    least_before_ = least_now_;
    least_now_ = Duration::max();
    least_since_ = now;
  }
  least_now_ = std::min(least_now_, round_trip);
  if (now - round_since_ >= *smoothed_) {
    round_least_before_ = std::exchange(round_least_, Duration::max());
    round_since_ = now;
  }
  round_least_ = std::min(round_least_, round_trip);
  if (lossless_ && round_trip < shortest_) fit_to(round_trip);
  // A queue is building up, so the path is full (the delay test of HyStart, RFC 9406).
  if (slow_start_ && inflated()) {
    give_way(1, now);
  }
}

// What is more than the path takes waits in the sender's own port. So there is nothing to be found
// out by growing to it slowly, and at a tenth of a second a round trip that would take a second.
void CongestionWindow::fit_to(Duration shortest) {
  shortest_ = shortest;
  most_ = kMost;
  if (shortest >= kLong) {
    const double bytes = seconds(shortest) * static_cast<double>(kLosslessRate);
    most_ = static_cast<std::uint32_t>(std::min<double>(bytes, kMostLossless));
  }
  set(most_ > kMost && slow_start_ ? most_ : window_);
}

bool CongestionWindow::inflated() const {
  return recent_ && *recent_ > clear_round_trip();
}

// A queue that overflows has stood for a round trip. A processor that was busy elsewhere for a
// moment makes some packets late.
bool CongestionWindow::queue_stands() const {
  return recent_ && std::min(round_least_, round_least_before_) > clear_round_trip();
}

// What no queue of a length worth mentioning is needed for.
Duration CongestionWindow::clear_round_trip() const {
  const Duration least = least_round_trip();
  return least + std::max(least / 8, kLeastInflation);
}

void CongestionWindow::delivered(std::uint64_t bytes, std::uint32_t packets, bool limited,
                                 Time now) {
  packets_ += packets;
  if (packets_ >= kJudged) {
    packets_ /= 2;
    losses_ /= 2;
  }
  noise_.delivered(packets, is_low() || finds_out(now));
  if (limited && window_ < most_) grow(bytes, now);
}

void CongestionWindow::grow(std::uint64_t bytes, Time now) {
  const auto arrived = static_cast<double>(bytes);
  double gain = 0;
  const double share = arrived / window_;  // of one round trip
  if (slow_start_) {
    gain = arrived;
  } else if (const double calm = this->calm(now); calm > 0) {
    gain = kOpenGrowth * calm * window_ * share;
  } else {
    gain = reno_gain() * share;
    gain = std::max(gain, (cubic_target(now) - window_) * share);
    gain = std::min(gain, arrived / 2);
  }
  set(window_ + fraction_ + gain);
  if (window_ >= kStep * grown_) {
    grown_ = window_;
    grew_at_ = now;
  }
}

// From 1 on a path without queues and losses to 0 where the next loss would be congestion.
double CongestionWindow::calm(Time now) const {
  if ((gave_way_at_ ? inflated() : queue_stands()) || full_lately(now)) return 0;
  return std::max(0.0, 1 - double{kCongestionWindowTolerated} * losses_ /
                               std::max(packets_, kCongestionWindowTolerated));
}

// Flows that grow by parts of themselves, and give way by parts of themselves, keep their shares
// for ever, however unequal (Chiu and Jain 1989). Where a path is full whenever somebody grows,
// there is nothing to be gained by that; and who shares it needs that long to recover.
bool CongestionWindow::full_lately(Time now) const {
  if (!full_at_) return false;
  const Duration round = smoothed_.value_or(Duration{});
  const double linear = (before_ - start_) / friendly_gain() * seconds(round);
  const double recoveries = kFullRecoveries * std::min(cubic_time(), linear);
  const double since = seconds(now - *full_at_);
  return since < std::max({seconds(kFullFor), seconds(kFullRounds * round), recoveries});
}

bool CongestionWindow::is_low() const {
  return gave_way_at_ && window_ < kLow * before_;
}

// Whether nothing is known of the end of the path yet, and the window still grows towards it.
bool CongestionWindow::finds_out(Time now) const {
  if (gave_way_at_) return false;
  return !smoothed_ || now - grew_at_ < kStepRounds * *smoothed_;
}

// Bytes per round trip by which Reno would grow that gave way as this does (RFC 9438, 4.3).
double CongestionWindow::friendly_gain() const {
  return 3 * (1 - kKeep) / (1 + kKeep) * kSegment;
}

// The same, from where it gave way on a whole segment. Before a queue that is too short to show,
// each step beyond costs all who share it packets: there it stays with the smaller ones.
double CongestionWindow::reno_gain() const {
  return window_ >= before_ && inflated() ? kSegment : friendly_gain();
}

// Seconds until the cubic curve is back where the window gave way (RFC 9438, 4.2: K).
double CongestionWindow::cubic_time() const {
  return std::cbrt((before_ - start_) / kSegment / kCubicScale);
}

double CongestionWindow::cubic_target(Time now) const {
  const double t = seconds(now - epoch_ + smoothed_.value_or(Duration{})) - cubic_time();
  return before_ + kCubicScale * t * t * t * kSegment;
}

void CongestionWindow::set(double window) {
  const double bounded = std::clamp(window, static_cast<double>(least()),
                                    static_cast<double>(std::max(most_, least())));
  window_ = static_cast<std::uint32_t>(bounded);
  fraction_ = bounded - window_;
  assert(window_ >= least());
}

void CongestionWindow::lost(Time sent_at, Time now) {
  // One congestion loses many packets: what was sent before the window gave way says nothing new.
  if (gave_way_at_ && sent_at <= *gave_way_at_) return;
  ++packets_;
  ++losses_;
  const bool finds_out = this->finds_out(now);
  const std::uint32_t tolerated = finds_out ? kToleratedAtFirst : kCongestionWindowTolerated;
  const bool many = losses_ >= kFewestLosses && losses_ > packets_ / tolerated;
  const bool queue = queue_stands();
  if (!queue && !many) {
    if (finds_out) {
      noise_.lost_when_low();
      return;
    }
    if (is_low()) {
      if (noise_.lost_when_low()) take_back();
      return;
    }
    if (noise_.bears()) return;
  }
  full_at_ = now;
  // Half of what slow start has come to is what was known to arrive.
  if (slow_start_ && finds_out) set(window_ / 2.0);
  give_way(kKeep, now);
  in_doubt_ = !queue;
}

// It was noise that the window gave way to.
void CongestionWindow::take_back() {
  if (!in_doubt_) return;
  slow_start_ = from_slow_start_;
  full_at_.reset();
  set(before_);
}

void CongestionWindow::congested(Time now) {
  // Likewise, where nobody says which packet it was.
  if (gave_way_at_ && now - *gave_way_at_ < smoothed_.value_or(1ms)) return;
  full_at_ = now;
  give_way(kKeep, now);
}

std::uint32_t CongestionWindow::run() const {
  if (!smoothed_) return window_;
  const double bytes = window_ * (seconds(kRun) / seconds(*smoothed_));
  return static_cast<std::uint32_t>(std::clamp<double>(bytes, least(), window_));
}

// Without drops it tells of a path that is longer than the timeout, or broken, but not of
// congestion.
void CongestionWindow::timed_out(Time now) {
  if (lossless_) return;
  give_way(kKeepAfterTimeout, now);
}

void CongestionWindow::give_way(double keep, Time now) {
  if (keep < 1) {
    gave_way_at_ = now;
    noise_.start();
  }
  in_doubt_ = false;
  from_slow_start_ = slow_start_;
  slow_start_ = false;
  before_ = window_;
  epoch_ = now;
  set(window_ * keep);
  start_ = window_;
}

}  // namespace weft::hca
