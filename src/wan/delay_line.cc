// SPDX-License-Identifier: Apache-2.0
#include "wan/delay_line.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::wan {

DelayLine::DelayLine(std::size_t memory) : limit_(std::max(memory, 2 * kBlock)) {
}

std::size_t DelayLine::memory() const {
  return (blocks_.size() - free_blocks_.size()) * kBlock + packets() * sizeof(Held);
}

// A block whose users are gone is used again before another one is taken from the system.
bool DelayLine::open_block() {
  if (memory() + kBlock > limit_) return false;
  if (free_blocks_.empty()) {
    free_blocks_.push_back(static_cast<std::uint32_t>(blocks_.size()));
    // Not cleared: the pages come from the system as they are written.
    blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[kBlock]), 0});
  }
  filling_ = free_blocks_.back();
  free_blocks_.pop_back();
  blocks_[*filling_].users = 1;
  filled_ = 0;
  return true;
}

MutableBytes DelayLine::room(std::size_t most) {
  assert(most <= kBlock);
  if (filling_ && kBlock - filled_ < most) {
    leave(*filling_);
    filling_.reset();
  }
  if (!filling_ && !open_block()) return {};
  if (packets() * sizeof(Held) > limit_) return {};
  return MutableBytes(blocks_[*filling_].bytes.get() + filled_, most);
}

void DelayLine::take(std::size_t size) {
  assert(filling_ && filled_ + size <= kBlock);
  filled_ += size;
}

DelayLine::Held DelayLine::held(Bytes part, Time due, std::uint32_t flow,
                                std::uint8_t traffic_class) {
  assert(filling_);
  ++blocks_[*filling_].users;
  bytes_ += part.size();
  return {due, part, flow, traffic_class, *filling_};
}

void DelayLine::hold(Bytes part, Time due, std::uint32_t flow, std::uint8_t traffic_class) {
  assert(in_order_.empty() || in_order_.back().due <= due);
  in_order_.push_back(held(part, due, flow, traffic_class));
}

void DelayLine::hold_late(Bytes part, Time due, std::uint32_t flow, std::uint8_t traffic_class) {
  late_.push(held(part, due, flow, traffic_class));
}

bool DelayLine::first_is_late() const {
  if (late_.empty()) return false;
  return in_order_.empty() || late_.top().due < in_order_.front().due;
}

std::optional<Time> DelayLine::due() const {
  if (packets() == 0) return std::nullopt;
  return first_is_late() ? late_.top().due : in_order_.front().due;
}

std::optional<DelayLine::Held> DelayLine::peek(Time now) const {
  if (packets() == 0) return std::nullopt;
  const Held& first = first_is_late() ? late_.top() : in_order_.front();
  return first.due <= now ? std::optional(first) : std::nullopt;
}

std::optional<DelayLine::Held> DelayLine::next(Time now) {
  const auto first = peek(now);
  if (!first) return std::nullopt;
  if (first_is_late()) {
    late_.pop();
  } else {
    in_order_.pop_front();
  }
  bytes_ -= first->bytes.size();
  return first;
}

void DelayLine::release(const Held& held) {
  leave(held.block);
}

void DelayLine::leave(std::uint32_t block) {
  assert(blocks_[block].users > 0);
  if (--blocks_[block].users == 0) free_blocks_.push_back(block);
}

}  // namespace weft::wan
