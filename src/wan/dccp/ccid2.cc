// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/ccid2.h"

#include <algorithm>
#include <cassert>

namespace weft::wan::dccp {
namespace {

constexpr Duration kLeastPatience = 1s;  // RFC 6298, 2.4
constexpr Duration kMostPatience = 60s;  // 2.5
constexpr unsigned kMostBackoff = 6;

std::size_t first_window(std::size_t packet) {
  constexpr std::size_t kBytes = 4380;  // RFC 3390
  return std::clamp<std::size_t>(kBytes / std::max<std::size_t>(packet, 1), 2, 4);
}

}  // namespace

Ccid2::Ccid2(std::size_t packet, std::size_t most)
    : most_(std::clamp<std::size_t>(most, 2, kMostWindow)), window_(first_window(packet)) {
}

void Ccid2::sent(Sequence sequence, bool is_data, Time now) {
  assert(!any_sent_ || sequence == newest_sent_ + 1);
  if (sent_.size() == kMostKept) {
    if (sent_.front().kind == Kind::kData) --pipe_;
    sent_.pop_front();
  }
  if (is_data && pipe_ == 0) restarted_ = now;
  newest_sent_ = sequence;
  any_sent_ = true;
  sent_.push_back({.at = now, .kind = is_data ? Kind::kData : Kind::kSettled});
  if (!is_data) return forget_settled();
  ++pipe_;
  if (pipe_ >= window_) filled_by_ = sequence;
}

std::size_t Ccid2::index_of(Sequence sequence) const {
  const std::int64_t back = newest_sent_.after(sequence);
  if (back < 0 || static_cast<std::size_t>(back) >= sent_.size()) return SIZE_MAX;
  return sent_.size() - 1 - static_cast<std::size_t>(back);
}

Ccid2::Change Ccid2::acknowledge(Sequence newest, Bytes cells, Time now) {
  Change change;
  // Of the newest alone: what is acknowledged late says nothing of the way.
  const std::size_t first = index_of(newest);
  const bool has_come = !cells.empty() && std::to_integer<unsigned>(cells[0]) < 0x80;
  if (first != SIZE_MAX && has_come && sent_[first].kind == Kind::kData) {
    round_trip_.sample(now - sent_[first].at);
  }
  for_each_run(newest, cells, [&](Sequence from, std::size_t count, Arrival state) {
    if (state == Arrival::kMissing) return;
    settle_run(from, count, state == Arrival::kMarked, change);
  });
  find_lost(change);
  if (change.acknowledged != 0) {
    backoff_ = 0;
    restarted_ = now;
    if (!change.halved) grow(change.acknowledged, now);
  }
  forget_settled();
  return change;
}

void Ccid2::settle_run(Sequence newest, std::size_t count, bool marked, Change& change) {
  for (std::size_t i = 0; i < count; ++i) {
    const Sequence sequence = newest - i;
    const std::size_t at = index_of(sequence);
    if (at == SIZE_MAX) {
      if (sequence.after(newest_sent_) > 0) continue;
      return;  // all before it are settled
    }
    if (sent_[at].kind != Kind::kData) continue;
    sent_[at].kind = Kind::kSettled;
    --pipe_;
    ++change.acknowledged;
    note_highest(sequence);
    if (!marked) continue;
    ++change.marked;
    congested(sequence, change);
  }
}

void Ccid2::note_highest(Sequence sequence) {
  std::size_t at = 0;
  while (at < highest_count_ && highest_[at].after(sequence) > 0)
    ++at;
  if (at == kOvertaken) return;
  if (highest_count_ < kOvertaken) ++highest_count_;
  std::move_backward(highest_.begin() + static_cast<std::ptrdiff_t>(at),
                     highest_.begin() + static_cast<std::ptrdiff_t>(highest_count_ - 1),
                     highest_.begin() + static_cast<std::ptrdiff_t>(highest_count_));
  highest_[at] = sequence;
}

void Ccid2::find_lost(Change& change) {
  if (highest_count_ < kOvertaken) return;
  const std::size_t end = index_of(highest_[kOvertaken - 1]);
  if (end == SIZE_MAX) return;
  for (std::size_t at = 0; at < end; ++at) {
    if (sent_[at].kind != Kind::kData) continue;
    sent_[at].kind = Kind::kSettled;
    --pipe_;
    ++change.lost;
    congested(newest_sent_ - (sent_.size() - 1 - at), change);
  }
}

// Once in a window: what was sent before the last time belongs to that.
void Ccid2::congested(Sequence sequence, Change& change) {
  if (recovering_ && sequence.after(recovered_at_) <= 0) return;
  recovering_ = true;
  recovered_at_ = newest_sent_;
  window_ = std::max<std::size_t>(window_ / 2, 1);
  threshold_ = std::max<std::size_t>(window_, 2);
  since_growth_ = 0;
  change.halved = true;
}

// Slow start: by one for each data packet that is acknowledged, and no more than half the ratio at
// a time; beyond it: by one for each window (RFC 4341, 5). Only while the window is in use.
void Ccid2::grow(std::uint64_t acknowledged, Time now) {
  const std::uint16_t ratio = ack_ratio();
  data_since_ratio_ += acknowledged;
  const std::uint64_t windows =
      ratio_ > 2 ? window_ / (std::uint64_t{ratio_} * ratio_ - ratio_) : 0;
  if (ratio_ > 2 && data_since_ratio_ > std::max<std::uint64_t>(windows, 1) * window_) {
    --ratio_;
    data_since_ratio_ = 0;
  }
  const bool was_full = filled_by_ && highest_[0].after(*filled_by_) <= 0;
  if (!was_full || now < held_until_) return;
  if (window_ < threshold_) {
    const auto most = std::max<std::uint64_t>(ratio / 2U, 1);
    window_ += static_cast<std::size_t>(std::min(acknowledged, most));
  } else {
    since_growth_ += acknowledged;
    if (since_growth_ < window_) return;
    since_growth_ -= window_;
    ++window_;
  }
  window_ = std::min(window_, most_);
}

void Ccid2::forget_settled() {
  while (!sent_.empty() && sent_.front().kind == Kind::kSettled)
    sent_.pop_front();
}

void Ccid2::lost_acknowledgements() {
  if (data_since_ratio_ < window_) return;  // once in a window
  data_since_ratio_ = 0;
  const std::size_t most = std::max<std::size_t>((window_ + 1) / 2, 2);
  ratio_ =
      static_cast<std::uint16_t>(std::min<std::size_t>({std::size_t{ratio_} * 2, most, 0xFFFF}));
}

void Ccid2::reduce() {
  window_ = std::max<std::size_t>(window_ - 1, 1);
}

void Ccid2::hold(Time now) {
  held_until_ = now + round_trip_.smoothed();
}

std::uint16_t Ccid2::ack_ratio() const {
  return static_cast<std::uint16_t>(std::min<std::size_t>(ratio_, (window_ + 1) / 2));
}

Duration Ccid2::patience() const {
  const Duration once = std::max(round_trip_.silence(), kLeastPatience);
  return std::min(once * (1U << std::min(backoff_, kMostBackoff)), kMostPatience);
}

std::optional<Time> Ccid2::deadline() const {
  if (pipe_ == 0) return std::nullopt;
  return restarted_ + patience();
}

Ccid2::Change Ccid2::expire(Time now) {
  Change change;
  const auto due = deadline();
  if (!due || now < *due) return change;
  change.lost = pipe_;
  change.halved = true;
  threshold_ = std::max<std::size_t>(window_ / 2, 2);
  window_ = 1;
  pipe_ = 0;
  since_growth_ = 0;
  sent_.clear();
  recovering_ = true;
  recovered_at_ = newest_sent_;
  restarted_ = now;
  ++backoff_;
  return change;
}

}  // namespace weft::wan::dccp
