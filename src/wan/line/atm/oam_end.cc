// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/oam_end.h"

#include <algorithm>

namespace weft::wan::atm {
namespace {

bool names_somebody(const OamLoopback::Id& source) {
  return source != OamLoopback::of(OamLoopback::kUnused);
}

}  // namespace

void OamEnd::take_oam(const CellRun& run) {
  for (std::size_t cell = 0; cell < run.count; ++cell)
    take_one(run.payload(cell));
}

void OamEnd::take_one(Bytes payload) {
  const std::optional<OamCell> cell = read_oam(payload);
  if (!cell) {
    counters_.add_in_turn(OamCounter::kBadCrc);
  } else if (cell->loopback) {
    take_loopback(*cell->loopback);
  } else if (cell->is(OamFunction::kAlarm)) {
    if (!alarmed_until_) counters_.add_in_turn(OamCounter::kAlarms);
    alarmed_until_ = now_ + kDefectEnds;
  } else if (cell->is(OamFunction::kRemote)) {
    if (!defect_until_) counters_.add_in_turn(OamCounter::kRemoteDefects);
    defect_until_ = now_ + kDefectEnds;
  } else if (cell->is(OamFunction::kContinuity)) {
    alarmed_until_.reset();
  } else {
    counters_.add_in_turn(OamCounter::kOthers);
  }
}

void OamEnd::take_loopback(OamLoopback loopback) {
  if (loopback.to_be_looped) {
    if (loopback.source == options_.source && names_somebody(options_.source)) {
      counters_.add_in_turn(OamCounter::kLooped);
      return;
    }
    // An end is meant by all ones; one that names a point on the way is not for it.
    if (loopback.location != OamLoopback::of(OamLoopback::kEnd)) {
      counters_.add_in_turn(OamCounter::kLoopbacksForOthers);
      return;
    }
    loopback.to_be_looped = false;
    if (out_.size() < kMostWaiting) counters_.add_in_turn(OamCounter::kAnswered);
    send(write_oam(loopback));
    return;
  }
  const auto asked = std::ranges::find(asked_, loopback.tag, &Asked::tag);
  if (asked == asked_.end()) {
    counters_.add_in_turn(OamCounter::kLoopbacksForOthers);
    return;
  }
  const bool late = loopback.tag != tag_;
  counters_.add_in_turn(late ? OamCounter::kLoopbacksLate : OamCounter::kLoopbacksAnswered);
  round_trip_ = now_ - asked->at;
  asked_.erase(asked_.begin(), asked + 1);
  // Those sent later, but for the last, for which it is not time yet.
  lost_ = late ? static_cast<unsigned>(asked_.size()) - 1 : 0;
  answers_ = true;
}

void OamEnd::send(const OamPayload& payload) {
  if (out_.size() == kMostWaiting) {
    counters_.add_in_turn(OamCounter::kQueueFull);
    return;
  }
  out_.push_back(payload);
}

void OamEnd::set_line(bool present) {
  if (present) return;
  answers_ = false;
  defect_until_.reset();
}

Time OamEnd::next_deadline() const {
  Time next = begun_ ? next_ : Time::min();
  if (alarmed_until_) next = std::min(next, *alarmed_until_);
  if (defect_until_) next = std::min(next, *defect_until_);
  return next;
}

void OamEnd::advance(Time now) {
  now_ = now;
  if (alarmed_until_ && now >= *alarmed_until_) alarmed_until_.reset();
  if (defect_until_ && now >= *defect_until_) defect_until_.reset();
  if (begun_ && now < next_) return;
  begun_ = true;
  next_ = now + options_.period;
  if (!asked_.empty()) {
    counters_.add_in_turn(OamCounter::kLoopbacksLost);
    if (++lost_ >= options_.lost_limit) answers_ = false;
  }
  if (alarmed_until_) send(write_oam(OamFunction::kRemote));
  ++tag_;
  if (asked_.size() == options_.lost_limit) asked_.pop_front();
  asked_.push_back({.tag = tag_, .at = now});
  counters_.add_in_turn(OamCounter::kLoopbacksSent);
  send(write_oam(OamLoopback{.tag = tag_, .source = options_.source}));
}

std::size_t OamEnd::put_cells(MutableBytes cells) {
  std::size_t count = 0;
  for (; !out_.empty() && cells.size() >= (count + 1) * kCellSize; ++count) {
    const MutableBytes cell = cells.subspan(count * kCellSize, kCellSize);
    write_header({.channel = options_.channel,
                  .payload_type = options_.segment ? kOamSegment : kOamEndToEnd},
                 cell);
    std::ranges::copy(out_.front(), cell.begin() + kHeaderSize);
    out_.pop_front();
  }
  return count;
}

}  // namespace weft::wan::atm
