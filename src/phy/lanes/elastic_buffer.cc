// SPDX-License-Identifier: Apache-2.0
#include "phy/lanes/elastic_buffer.h"

#include <utility>

namespace weft::phy {
namespace {

constexpr std::uint8_t kMostSkipsHere = 5;  // that a SKIP set may have

}  // namespace

bool ElasticBuffer::is_all(const Column& column, Character character) const {
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (column[lane].error || column[lane].character != character) return false;
  }
  return true;
}

void ElasticBuffer::put(const Column& column) {
  if (size_ == kCapacity) {
    counters_.add(LaneCounter::kElasticOverflows);
    gap_ = true;
    return;
  }
  entries_[(first_ + size_) % kCapacity] = {column, std::exchange(gap_, false)};
  ++size_;
}

void ElasticBuffer::push(const Column& column, bool after_gap) {
  gap_ = gap_ || after_gap;
  if (is_all(column, kCom)) {
    in_set_ = true;
    skips_ = 0;
    put(column);
    return;
  }
  if (!in_set_ || !is_all(column, kSkp)) {
    in_set_ = false;
    put(column);
    return;
  }
  // One SKP remains whatever happens, and five are the most, so that it stays a SKIP set for
  // whoever comes next.
  const std::size_t before = size_;
  if (skips_ == kMostSkipsHere || (flowing_ && skips_ >= 1 && before > kMiddle + kSlack)) {
    counters_.add(LaneCounter::kSkipsRemoved);
    return;
  }
  ++skips_;
  put(column);
  if (flowing_ && skips_ < kMostSkipsHere && before < kMiddle - kSlack) {
    ++skips_;
    counters_.add(LaneCounter::kSkipsAdded);
    put(column);
  }
}

std::optional<ElasticBuffer::Entry> ElasticBuffer::pop() {
  if (!flowing_) {
    if (size_ < kMiddle) return std::nullopt;
    flowing_ = true;
  }
  if (size_ == 0) {
    flowing_ = false;
    gap_ = true;
    counters_.add(LaneCounter::kElasticUnderflows);
    return std::nullopt;
  }
  const Entry entry = entries_[first_];
  first_ = (first_ + 1) % kCapacity;
  --size_;
  return entry;
}

void ElasticBuffer::restart() {
  first_ = 0;
  size_ = 0;
  in_set_ = false;
  flowing_ = false;
  gap_ = true;
}

}  // namespace weft::phy
