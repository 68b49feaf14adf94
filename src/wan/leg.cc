// SPDX-License-Identifier: Apache-2.0
#include "wan/leg.h"

#include <algorithm>
#include <cassert>

namespace weft::wan {
namespace {

// What takes longer tells nothing of the way.
constexpr Duration kMostRoundTrip = 10s;
// No clock runs away from another as far. Who says so lies, as often as it likes: what it has said
// is summed up and must not overflow.
constexpr Duration kMostAhead = 24h * 365;

// By how much one clock of a leg is ahead of another that is near.
Duration ahead_of(std::uint32_t clock, std::uint32_t other) {
  return std::chrono::microseconds(static_cast<std::int32_t>(clock - other));
}

std::uint64_t since(std::uint64_t whole, std::uint64_t before) {
  return whole - std::min(whole, before);
}

std::uint64_t missing(const LegReport& report) {
  return since(report.next, report.datagrams);
}

}  // namespace

Leg::Leg(Path& carrier, std::uint8_t number, const std::optional<PacingSettings>& pacing, Time now)
    : carrier_(carrier), number_(number), begun_(leg_clock(now)), reported_at_(now) {
  if (pacing) pacer_.emplace(*pacing, now);
}

std::size_t Leg::longest_frame() const {
  const std::size_t carried = carrier_.longest_frame();
  return carried - std::min(carried, LegHead::kSize);
}

std::size_t Leg::burst() const {
  return std::min(carrier_.burst(), pacer_ ? pacer_->run() : SIZE_MAX);
}

LegHead Leg::next_head(Time now) {
  counters_.add_in_turn(LegCounter::kTxDatagrams);
  return {.leg = number_, .begun = begun_, .clock = leg_clock(now), .number = next_++};
}

void Leg::send(std::span<const OutFrame> frames, Time now) {
  heads_.resize(std::max(heads_.size(), frames.size() * LegHead::kSize));
  parts_.clear();
  out_.clear();
  MutableBytes room = heads_;
  std::size_t bytes = 0;
  for (const OutFrame& frame : frames) {
    next_head(now).write(false, room);
    parts_.emplace_back(room.first(LegHead::kSize));
    parts_.insert(parts_.end(), frame.parts.begin(), frame.parts.end());
    room = room.subspan(LegHead::kSize);
    bytes += frame.size + LegHead::kSize;
  }
  std::span<const Bytes> rest = parts_;
  for (const OutFrame& frame : frames) {
    const std::size_t count = frame.parts.size() + 1;
    out_.push_back({.parts = rest.first(count),
                    .size = frame.size + LegHead::kSize,
                    .traffic_class = frame.traffic_class,
                    .options = frame.options});
    rest = rest.subspan(count);
  }
  if (pacer_) {
    // Who had to wait for the pace sends as soon as it lets him.
    pacer_->sent(bytes, now - pacer_->next() < Pacer::kMostLate, now);
    if (!pacer_->admits(now)) pause_ = pacer_->next();
  }
  carrier_.send(out_, now);
}

void Leg::receive(const LegMessage& message, std::size_t size, bool marked, Time now) {
  const LegHead& head = message.head;
  counters_.add_in_turn(LegCounter::kRxDatagrams);
  if (marked) counters_.add_in_turn(LegCounter::kRxMarked);
  if (!heard_ || head.begun != peer_begun_) {
    heard_ = true;
    peer_begun_ = head.begun;
    newest_report_ = 0;
    known_.reset();
    arrivals_ = {};
    arrivals_.report.begun = head.begun;
  }
  LegReport& report = arrivals_.report;
  ++report.datagrams;
  report.bytes += size;
  report.marked += marked ? 1 : 0;
  if (head.number >= report.next) {
    report.next = head.number + 1;
    report.echo = head.clock;
    arrivals_.newest_at = now;
  }
  const std::uint32_t delay = leg_clock(now) - head.clock;
  if (!arrivals_.has_delay || ahead_of(delay, report.least_delay) < 0ns) {
    report.least_delay = delay;
    arrivals_.has_delay = true;
  }
  arrivals_.owed = true;
  if (!message.frame.empty() && !arrivals_.due) arrivals_.due = now + kReportDelay;
  if (!message.report || head.number < newest_report_) return;
  newest_report_ = head.number;
  hear(*message.report, now);
}

void Leg::hear(const LegReport& report, Time now) {
  counters_.add_in_turn(LegCounter::kRxReports);
  // Of one that was here before.
  if (report.begun != begun_) return;
  if (report.next > next_ || report.datagrams == 0) {
    return counters_.add_in_turn(LegCounter::kReportForged);
  }
  const Duration round_trip =
      ahead_of(leg_clock(now), report.echo) - std::chrono::microseconds(report.held);
  if (known_ && report.next <= known_->next) return;  // nothing has come since
  progress_at_ = now;
  const bool credible = round_trip >= 0ns && round_trip < kMostRoundTrip;
  if (credible) round_trip_.sample(round_trip);
  // What left before the other end began to watch is nobody's loss.
  if (known_) feed_back(report, credible ? round_trip : round_trip_.smoothed(), now);
  missing_ = missing(report);
  known_ = report;
}

// What has come since the report before this one.
void Leg::feed_back(const LegReport& report, Duration round_trip, Time now) {
  PathFeedback saw{.bytes = since(report.bytes, known_->bytes),
                   .packets = since(report.datagrams, known_->datagrams),
                   .marked = since(report.marked, known_->marked),
                   .lost = since(missing(report), missing_),
                   .delay = {},
                   .round_trip = round_trip + kReportDelay};
  delay_ = std::clamp(delay_ + ahead_of(report.least_delay, known_->least_delay), -kMostAhead,
                      kMostAhead);
  saw.delay = delay_;
  counters_.add_in_turn(LegCounter::kTxMarked, saw.marked);
  counters_.add_in_turn(LegCounter::kTxLost, saw.lost);
  if (pacer_) pacer_->feedback(saw, now);
}

// A report of what has come, if anything has, and that this end is there.
void Leg::say(Time now) {
  std::array<std::byte, LegHead::kSize + LegReport::kSize> bytes;
  const bool reports = heard_;
  MutableBytes room = bytes;
  reported_at_ = now;
  next_head(now).write(reports, room);
  if (reports) {
    arrivals_.report.held = static_cast<std::uint32_t>((now - arrivals_.newest_at) / 1us);
    arrivals_.report.write(room.subspan(LegHead::kSize));
    arrivals_.owed = arrivals_.has_delay = arrivals_.put_off = false;
    arrivals_.due.reset();
    counters_.add_in_turn(LegCounter::kTxReports);
  } else {
    room = room.first(LegHead::kSize);
  }
  const Bytes whole = room;
  const OutFrame frame{.parts = {&whole, 1}, .size = whole.size()};
  carrier_.send({&frame, 1}, now);
}

std::optional<Time> Leg::report_due(bool watches) const {
  if (arrivals_.put_off || !(watches || arrivals_.owed)) return arrivals_.due;
  const Time periodic = reported_at_ + kPeriod;
  return arrivals_.due ? std::min(*arrivals_.due, periodic) : periodic;
}

bool Leg::reports(bool watches, Time now) {
  const auto due = report_due(watches);
  if (!due || now < *due || !may_send()) return false;
  // Who had no processor for a while has not read yet what came meanwhile. A report of its first
  // part would tell of a queue that is here and not on the way, and of few bytes in a long time.
  const bool late = arrivals_.due && now - *arrivals_.due > kReportDelay;
  if (!late || arrivals_.put_off) return true;
  arrivals_.put_off = true;
  arrivals_.due = now + kReportDelay;
  return false;
}

bool Leg::run(bool watches, Time now) {
  bool changed = false;
  if (pause_ && now >= *pause_) {
    pause_.reset();
    changed = true;
  }
  if (reports(watches, now)) say(now);
  const bool works = carrier_.established() && known_ && now < progress_at_ + patience();
  if (works_ && !works) counters_.add_in_turn(LegCounter::kFailures);
  changed |= works != works_;
  works_ = works;
  return changed;
}

std::optional<Time> Leg::deadline(bool watches) const {
  std::optional<Time> first = pause_;
  const auto earlier = [&](Time when) {
    if (!first || when < *first) first = when;
  };
  if (works_) earlier(progress_at_ + patience());
  if (!may_send()) return first;  // the carrier tells when it is ready
  if (const auto due = report_due(watches)) earlier(*due);
  return first;
}

}  // namespace weft::wan
