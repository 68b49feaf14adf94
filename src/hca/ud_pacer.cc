// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <limits>

#include "hca/ud_credit.h"

namespace weft::hca {

std::uint32_t UdPacer::in_flight() const {
  const std::int32_t packets = Psn::diff(next_, base_) - 1;
  assert(packets >= 0);
  return static_cast<std::uint32_t>(packets);
}

std::uint32_t UdPacer::allowance(std::uint32_t bytes_each, Time now) {
  assert(bytes_each > 0);
  if (stalled_since_ && now - *stalled_since_ >= patience()) {
    wait_is_over();
  } else if (!stalled_since_ && now - used_at_ > kIdle) {
    start_over();
  }
  used_at_ = now;
  if (blind_) return std::numeric_limits<std::uint32_t>::max();
  if (!admits(bytes_each)) {
    if (!stalled_since_) {
      stalled_since_ = now;
      ++stalls_;
    }
    return 0;
  }
  stalled_since_.reset();
  const std::uint32_t packets = limit_packets_ - in_flight();
  const std::uint64_t bytes =
      limit_bytes_ - std::min<std::uint64_t>(limit_bytes_, bytes_in_flight());
  // One always: a datagram may be larger than any window.
  return std::max(1u, std::min(packets, static_cast<std::uint32_t>(bytes / bytes_each)));
}

bool UdPacer::admits(std::uint32_t bytes) const {
  if (blind_) return true;
  const std::uint32_t packets = in_flight();
  if (packets >= limit_packets_) return false;
  return packets == 0 || bytes_in_flight() + bytes <= limit_bytes_;
}

UdPacer::Stamp UdPacer::stamp(std::uint32_t bytes) {
  Stamp stamp{.psn = next_};
  ++next_;
  sent_bytes_ += bytes;
  ++since_request_packets_;
  since_request_bytes_ += bytes;
  if (in_flight() > kMaxInFlight) base_ = next_ - kMaxInFlight - 1;

  const std::uint32_t window_packets = blind_ ? kInitialPackets : limit_packets_;
  const std::uint32_t window_bytes = blind_ ? kInitialBytes : limit_bytes_;
  // Ask early enough that the answer comes before the window is used up, and at its very end in
  // case it does not.
  stamp.ack_request = ask_ || since_request_packets_ >= window_packets / 2 ||
                      since_request_bytes_ >= window_bytes / 2 || !admits(bytes);
  const Mark& last = marks_[(mark_count_ - 1) % marks_.size()];
  if (stamp.ack_request) {
    ask_ = false;
    since_request_packets_ = 0;
    since_request_bytes_ = 0;
    mark();
  } else if (mark_count_ == 0 || sent_bytes_ - last.bytes_through >= window_bytes / 32 ||
             Psn::diff(stamp.psn, last.psn) >= static_cast<std::int32_t>(window_packets / 32)) {
    mark();
  }
  return stamp;
}

void UdPacer::mark() {
  marks_[mark_count_ % marks_.size()] = {.psn = next_ - 1, .bytes_through = sent_bytes_};
  ++mark_count_;
}

std::uint64_t UdPacer::bytes_through(Psn psn) const {
  if (psn == next_ - 1) return sent_bytes_;
  const auto marks =
      std::min<std::uint32_t>(mark_count_, static_cast<std::uint32_t>(marks_.size()));
  for (std::uint32_t i = 1; i <= marks; ++i) {
    const Mark& mark = marks_[(mark_count_ - i) % marks_.size()];
    // A mark of packets that were taken back may be left over: never more than was sent.
    if (Psn::diff(psn, mark.psn) >= 0) {
      return std::max(base_bytes_, std::min(mark.bytes_through, sent_bytes_));
    }
  }
  return base_bytes_;
}

void UdPacer::credit(const UdCredit& credit, Time now) {
  used_at_ = std::max(used_at_, now);
  if (Psn::diff(next_ - 1, credit.seen) < 0) return;  // names a packet that was never sent
  heard_ = true;
  blind_ = false;
  waits_ = 0;
  stalled_since_.reset();
  const std::int32_t ahead = Psn::diff(credit.seen, base_);
  if (ahead < 0) return;  // overtaken by a newer one
  const std::uint32_t packets = std::min(credit.packets, kMaxInFlight);
  const std::uint32_t bytes = std::min(credit.bytes, kMaxWindow);
  if (ahead == 0) {  // of two with the same news the larger holds, whichever was first
    limit_packets_ = std::max(limit_packets_, packets);
    limit_bytes_ = std::max(limit_bytes_, bytes);
    return;
  }
  base_bytes_ = bytes_through(credit.seen);
  base_ = credit.seen;
  limit_packets_ = packets;
  limit_bytes_ = bytes;
  lost_ = credit.lost;
  assert(base_bytes_ <= sent_bytes_);
}

std::optional<Time> UdPacer::deadline() const {
  if (!stalled_since_) return std::nullopt;
  return *stalled_since_ + patience();
}

// After a pause nothing is in flight any more, and what was granted has gone to others.
void UdPacer::start_over() {
  base_ = next_ - 1;
  base_bytes_ = sent_bytes_;
  limit_packets_ = kInitialPackets;
  limit_bytes_ = kInitialBytes;
  ask_ = true;
}

// The credit, the request or the data was lost, or the peer gives none. A peer that never gave one
// may not know how; one that did gets a little at a time, on top of what may still be under way.
void UdPacer::wait_is_over() {
  stalled_since_.reset();
  ask_ = true;
  ++waits_;
  if (!heard_ && waits_ >= kWaitsUntilBlind) {
    blind_ = true;
    return;
  }
  limit_packets_ = in_flight() + kInitialPackets;
  limit_bytes_ = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(bytes_in_flight() + kInitialBytes, kMaxWindow));
}

UdPacer::Checkpoint UdPacer::checkpoint() const {
  return {.next = next_,
          .sent_bytes = sent_bytes_,
          .since_request_packets = since_request_packets_,
          .since_request_bytes = since_request_bytes_,
          .mark_count = mark_count_,
          .ask = ask_};
}

void UdPacer::roll_back(const Checkpoint& to) {
  assert(Psn::diff(next_, to.next) >= 0 && sent_bytes_ >= to.sent_bytes);
  next_ = to.next;
  sent_bytes_ = to.sent_bytes;
  since_request_packets_ = to.since_request_packets;
  since_request_bytes_ = to.since_request_bytes;
  mark_count_ = to.mark_count;
  ask_ = to.ask;
  // A peer that lies may have acknowledged what is taken back here.
  if (Psn::diff(base_, next_ - 1) > 0) base_ = next_ - 1;
  base_bytes_ = std::min(base_bytes_, sent_bytes_);
}

}  // namespace weft::hca
