// SPDX-License-Identifier: Apache-2.0
#include "hca/credit_pacer.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace weft::hca {

std::uint32_t CreditPacer::in_flight() const {
  const std::int32_t packets = Psn::diff(next_, base_) - 1;
  assert(packets >= 0);
  return static_cast<std::uint32_t>(packets);
}

std::uint32_t CreditPacer::allowance(std::uint32_t bytes_each, Time now, std::uint32_t receives) {
  assert(bytes_each > 0);
  if (stalled_since_ && now - *stalled_since_ >= patience()) {
    wait_is_over();
  } else if (!stalled_since_ && now - used_at_ > kIdle) {
    start_over();
  }
  used_at_ = now;
  if (!admits(bytes_each, receives)) {
    if (!stalled_since_) {
      stalled_since_ = now;
      ++stalls_;
    }
    return 0;
  }
  stalled_since_.reset();
  // One always: a packet may be larger than any window.
  return std::max(1u, room(bytes_each, receives));
}

bool CreditPacer::admits(std::uint32_t bytes, std::uint32_t receives) const {
  if (blind_) return true;
  if (receives > 0 && receives_in_flight() + receives > limit_receives_) return false;
  return in_flight() == 0 || bytes_in_flight() + bytes <= limit_bytes_;
}

std::uint32_t CreditPacer::room(std::uint32_t bytes_each, std::uint32_t receives) const {
  constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();
  if (blind_) return kAny;
  const auto left = [](std::uint64_t limit, std::uint64_t used) {
    return static_cast<std::uint32_t>(limit - std::min(limit, used));
  };
  const std::uint32_t packets = left(limit_bytes_, bytes_in_flight()) / bytes_each;
  return std::min(packets, receives == 0 ? kAny : left(limit_receives_, receives_in_flight()));
}

CreditPacer::Stamp CreditPacer::stamp(std::uint32_t bytes, std::uint32_t receives) {
  Stamp stamp{.psn = next_};
  ++next_;
  sent_.bytes += bytes;
  sent_.receives += receives;
  if (in_flight() > kMaxInFlight) {
    const Psn middle = next_ - kMaxInFlight / 2;
    arrived_ = through(middle);
    base_ = middle;
  }
  const std::uint32_t window_receives = blind_ ? kInitialReceives : limit_receives_;
  const std::uint32_t window_bytes = blind_ ? kInitialBytes : limit_bytes_;
  // Ask early enough that the answer comes before the window is used up, and at its very end in
  // case it does not.
  stamp.ack_request =
      ask_ || sent_.bytes - requested_.bytes >= window_bytes / 2 ||
      (receives > 0 && sent_.receives - requested_.receives >= window_receives / 2) ||
      !admits(bytes, receives);
  if (stamp.ack_request) {
    ask_ = false;
    requested_ = sent_;
    mark();
  } else if (worth_a_mark()) {
    mark();
  }
  return stamp;
}

// After every thirty-second part of a window, so that what arrived is known about as exactly.
bool CreditPacer::worth_a_mark() const {
  if (mark_count_ == 0) return true;
  const std::uint32_t window_receives = blind_ ? kInitialReceives : limit_receives_;
  const std::uint32_t window_bytes = blind_ ? kInitialBytes : limit_bytes_;
  const Sums& last = marks_[(mark_count_ - 1) % marks_.size()].through;
  return sent_.bytes - last.bytes >= window_bytes / 32 ||
         sent_.receives - last.receives >= std::max(1u, window_receives / 32);
}

void CreditPacer::mark() {
  marks_[mark_count_ % marks_.size()] = {.psn = next_ - 1, .through = sent_, .sent_at = used_at_};
  ++mark_count_;
}

CreditPacer::Place CreditPacer::find(Psn psn) const {
  Place place{.behind = {.psn = next_ - 1, .through = sent_, .sent_at = used_at_}};
  const auto marks =
      std::min<std::uint32_t>(mark_count_, static_cast<std::uint32_t>(marks_.size()));
  for (std::uint32_t i = 1; i <= marks; ++i) {
    const Mark& mark = marks_[(mark_count_ - i) % marks_.size()];
    const Mark& behind = place.behind;
    // What is left over of packets that were taken back is where the oldest marks have been.
    if (Psn::diff(behind.psn, mark.psn) < 0 || mark.through.bytes > behind.through.bytes) break;
    if (Psn::diff(psn, mark.psn) >= 0) {
      place.before = &mark;
      break;
    }
    place.behind = mark;
  }
  return place;
}

// At least what was sent up to `psn`, which has been: the mark before it tells. Of receives so does
// the mark behind it, since no packet uses more than one.
CreditPacer::Sums CreditPacer::through(const Place& place, Psn psn) const {
  const Mark& behind = place.behind;
  if (psn == behind.psn) return behind.through;
  Sums least = arrived_;
  if (place.before != nullptr) {
    least.bytes = std::max(least.bytes, place.before->through.bytes);
    least.receives = std::max(least.receives, place.before->through.receives);
  }
  const auto between = static_cast<std::uint64_t>(Psn::diff(behind.psn, psn));
  const std::uint64_t used = behind.through.receives;
  least.receives = std::max(least.receives, used - std::min(used, between));
  return least;
}

void CreditPacer::credit(const Credit& credit, Time now) {
  used_at_ = std::max(used_at_, now);
  if (Psn::diff(next_ - 1, credit.seen) < 0) return;  // names a packet that was never sent
  heard_ = true;
  blind_ = false;
  waits_ = 0;
  stalled_since_.reset();
  const std::int32_t ahead = Psn::diff(credit.seen, base_);
  if (ahead < 0) return;  // overtaken by a newer one
  const std::uint32_t receives = std::min(credit.receives, kMaxInFlight);
  const std::uint32_t bytes = std::min(credit.bytes, kMaxWindow);
  if (ahead == 0) {  // of two with the same news the larger holds, whichever was first
    limit_receives_ = std::max(limit_receives_, receives);
    limit_bytes_ = std::max(limit_bytes_, bytes);
    return;
  }
  const Place place = find(credit.seen);
  arrived_ = through(place, credit.seen);
  if (place.before != nullptr) {
    const Duration took = now - place.before->sent_at;
    answer_time_ = std::max(took, (answer_time_ * 7 + took) / 8);
  }
  base_ = credit.seen;
  limit_receives_ = receives;
  limit_bytes_ = bytes;
  lost_ = credit.lost;
  assert(arrived_.bytes <= sent_.bytes && arrived_.receives <= sent_.receives);
}

Duration CreditPacer::patience() const {
  const Duration first = std::min(std::max(kPatience, 2 * answer_time_), kMostPatience);
  constexpr std::uint32_t kMostDoublings = 6;  // from kPatience to kMostPatience
  return std::min(first * (1u << std::min(waits_, kMostDoublings)), kMostPatience);
}

std::optional<Time> CreditPacer::deadline() const {
  if (!stalled_since_) return std::nullopt;
  return *stalled_since_ + patience();
}

// After a pause nothing is in flight any more, and what was granted has gone to others.
void CreditPacer::start_over() {
  base_ = next_ - 1;
  arrived_ = sent_;
  limit_receives_ = kInitialReceives;
  limit_bytes_ = kInitialBytes;
  ask_ = true;
}

// The credit, the request or the data was lost, or the peer gives none. A peer that never gave one
// may not know how; one that did gets a little at a time, on top of what may still be under way.
void CreditPacer::wait_is_over() {
  stalled_since_.reset();
  ask_ = true;
  ++waits_;
  if (!heard_ && waits_ >= kWaitsUntilBlind) {
    blind_ = true;
    return;
  }
  const auto more = [](std::uint64_t used, std::uint32_t extra, std::uint32_t most) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(used + extra, most));
  };
  limit_receives_ = more(receives_in_flight(), kInitialReceives, kMaxInFlight);
  limit_bytes_ = more(bytes_in_flight(), kInitialBytes, kMaxWindow);
}

CreditPacer::Checkpoint CreditPacer::checkpoint() const {
  return {.next = next_,
          .sent = sent_,
          .requested = requested_,
          .mark_count = mark_count_,
          .ask = ask_};
}

void CreditPacer::roll_back(const Checkpoint& to) {
  assert(Psn::diff(next_, to.next) >= 0 && sent_.bytes >= to.sent.bytes);
  next_ = to.next;
  sent_ = to.sent;
  requested_ = to.requested;
  mark_count_ = to.mark_count;
  ask_ = to.ask;
  // A peer that lies may have acknowledged what is taken back here.
  if (Psn::diff(base_, next_ - 1) > 0) base_ = next_ - 1;
  arrived_.bytes = std::min(arrived_.bytes, sent_.bytes);
  arrived_.receives = std::min(arrived_.receives, sent_.receives);
}

}  // namespace weft::hca
