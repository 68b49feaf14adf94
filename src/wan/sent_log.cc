// SPDX-License-Identifier: Apache-2.0
#include "wan/sent_log.h"

#include <algorithm>
#include <cassert>

namespace weft::wan {
namespace {

// In a row: then the silence that is waited for grows no more.
constexpr unsigned kMostDoublings = 4;
// Frames that are given up together, to find out whether anything still comes.
constexpr int kProbes = 4;
// Frames, and pieces, that there is memory for when none are on their way.
constexpr std::size_t kSentLogAtRest = 4096;

}  // namespace

void SentLog::sent(std::span<const SentPiece> pieces, Time now) {
  assert(has_room());
  if (!pieces.empty() && awaited_ == 0) heard_at_ = now;
  std::uint32_t bytes = 0;
  for (const SentPiece& piece : pieces)
    bytes += piece.length;
  frames_.push({.sent_at = now,
                .piece = first_piece_ + pieces_.size(),
                .before = come_,
                .pieces = static_cast<std::uint32_t>(pieces.size()),
                .bytes = bytes,
                .state = pieces.empty() ? State::kSettled : State::kAwaited});
  if (!pieces.empty()) ++awaited_;
  under_way_ += bytes;
  if (restraint_ && bytes != 0) restraint_->sent(bytes, now);
  for (const SentPiece& piece : pieces)
    pieces_.push(piece);
  if (awaited_ == 0) trim();
}

void SentLog::settle(Frame& frame) {
  frame.state = State::kSettled;
  --awaited_;
  under_way_ -= frame.bytes;
}

void SentLog::come(std::uint64_t number, Time now, Observer& observer) {
  Frame& frame = at(number);
  if (frame.come) return;
  frame.come = true;
  if (frame.pieces == 0) return;
  if (number >= newest_come_) {
    round_trip_.sample(now - frame.sent_at);
    newest_come_ = number + 1;
  }
  heard_at_ = now;
  silences_ = 0;
  come_ += frame.bytes;
  const bool awaited = frame.state == State::kAwaited;
  if (restraint_) awaited ? restraint_->came(frame.bytes) : restraint_->came_after_all(frame.bytes);
  if (awaited) settle(frame);
  for (std::uint64_t i = 0; i < frame.pieces; ++i)
    observer.arrived(pieces_[frame.piece + i - first_piece_]);
}

// Only those that are not known to have come: acknowledgements say the same again and again.
void SentLog::come(std::uint64_t begin, std::uint64_t end, Time now, Observer& observer) {
  begin = std::max(begin, first_);
  if (begin >= end) return;
  auto from = known_.upper_bound(begin);
  if (from != known_.begin() && std::prev(from)->second >= begin) --from;
  std::uint64_t merged_begin = begin;
  std::uint64_t merged_end = end;
  std::uint64_t at = begin;
  auto to = from;
  for (; to != known_.end() && to->first <= end; ++to) {
    for (; at < to->first; ++at)
      come(at, now, observer);
    at = std::max(at, to->second);
    merged_begin = std::min(merged_begin, to->first);
    merged_end = std::max(merged_end, to->second);
  }
  for (; at < end; ++at)
    come(at, now, observer);
  known_.erase(from, to);
  known_.emplace(merged_begin, merged_end);
}

bool SentLog::acknowledged(std::uint64_t before, std::span<const AcknowledgeItem::Range> ranges,
                           Time now, Observer& observer) {
  const std::uint64_t end = next();
  if (before > end) return false;
  for (const auto& range : ranges) {
    if (before + range.offset + range.length > end) return false;
  }
  const std::uint64_t newest = newest_come_;
  // The newest first: the round trip time is that of a frame that was answered at once.
  for (const auto& range : ranges)
    come(before + range.offset, before + range.offset + range.length, now, observer);
  come(first_, before, now, observer);
  if (newest_come_ > newest) {
    const Frame& frame = at(newest_come_ - 1);
    window_.hear(come_ - frame.before, now - frame.sent_at, now);
    if (restraint_) restraint_->look(round_trip_.smoothed(), now);
  }
  trim();
  return true;
}

void SentLog::give_up(std::uint64_t number, Observer& observer) {
  Frame& frame = at(number);
  assert(frame.state == State::kAwaited);
  settle(frame);
  if (restraint_) restraint_->lost(frame.bytes);
  for (std::uint64_t i = 0; i < frame.pieces; ++i)
    observer.lost(pieces_[frame.piece + i - first_piece_]);
}

// A frame that is settled at the front may be forgotten: whether it comes late is all the same.
void SentLog::trim() {
  while (!frames_.empty() && frames_.front().state == State::kSettled) {
    const Frame& frame = frames_.front();
    for (std::uint64_t i = 0; i < frame.pieces; ++i)
      pieces_.pop_front();
    first_piece_ += frame.pieces;
    frames_.pop_front();
    ++first_;
  }
  frames_.rest(kSentLogAtRest);
  pieces_.rest(kSentLogAtRest);
  checked_ = std::max(checked_, first_);
  while (!known_.empty() && known_.begin()->second <= first_)
    known_.erase(known_.begin());
}

void SentLog::expire(Time now, Observer& observer) {
  if (restraint_) restraint_->go_on(now);
  const Duration patience = round_trip_.overtaken() + spread_;
  for (; checked_ < newest_come_; ++checked_) {
    const Frame& frame = at(checked_);
    if (frame.state == State::kSettled) continue;
    if (now < frame.sent_at + patience) break;
    give_up(checked_, observer);
  }
  if (awaited_ != 0 && now >= heard_at_ + round_trip_.silence() * (1 << silences_)) {
    heard_at_ = now;
    silences_ = std::min(silences_ + 1, kMostDoublings);
    for (int i = 0; i < kProbes; ++i) {
      const auto oldest = oldest_awaited();
      if (!oldest) break;
      give_up(*oldest, observer);
    }
  }
  trim();
}

std::optional<std::uint64_t> SentLog::oldest_awaited() const {
  for (std::uint64_t number = checked_; number < next(); ++number) {
    if (at(number).state == State::kAwaited) return number;
  }
  return std::nullopt;
}

std::optional<Time> SentLog::deadline() const {
  const auto resumes = restraint_ ? restraint_->pause() : std::nullopt;
  if (awaited_ == 0) return resumes;
  Time first = heard_at_ + round_trip_.silence() * (1 << silences_);
  if (resumes) first = std::min(first, *resumes);
  for (std::uint64_t number = checked_; number < newest_come_; ++number) {
    if (at(number).state == State::kSettled) continue;
    first = std::min(first, at(number).sent_at + round_trip_.overtaken() + spread_);
    break;
  }
  return first;
}

}  // namespace weft::wan
