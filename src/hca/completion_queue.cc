// SPDX-License-Identifier: Apache-2.0
#include "hca/completion_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::hca {
namespace {

constexpr std::size_t kFirstStep = 16;  // slots of a queue that has just begun to be used

}  // namespace

CompletionQueue::CompletionQueue(std::size_t capacity) : capacity_(capacity) {
  assert(capacity >= 1);
}

CompletionQueue::Pushed CompletionQueue::push(const Completion& completion) {
  if (overrun_ || count_ == capacity_) {
    overrun_ = true;  // IBA 10.2.6: what a full queue cannot take is lost, and so is the queue
    return {};
  }
  if (count_ == ring_.size()) grow();
  const std::size_t tail = head_ + count_;
  ring_[tail < ring_.size() ? tail : tail - ring_.size()] = completion;
  ++count_;

  const bool wakes_solicited =
      completion.solicited || completion.status != CompletionStatus::kSuccess;
  const bool notify = armed_next_ || (armed_solicited_ && wakes_solicited);
  if (notify) armed_next_ = armed_solicited_ = false;
  return {.stored = true, .notify = notify};
}

std::size_t CompletionQueue::poll(std::span<Completion> out) {
  const std::size_t taken = std::min(out.size(), count_);
  for (std::size_t i = 0; i < taken; ++i) {
    out[i] = ring_[head_];
    if (++head_ == ring_.size()) head_ = 0;
  }
  count_ -= taken;
  return taken;
}

void CompletionQueue::arm(Arm arm) {
  if (arm == Arm::kNext) {
    armed_next_ = true;
  } else {
    armed_solicited_ = true;
  }
}

Expected<void> CompletionQueue::resize(std::size_t capacity, std::size_t coming) {
  const std::size_t outstanding = count_ + coming;
  if (capacity == 0 || capacity < outstanding) {
    return fail(std::errc::invalid_argument,
                fmt::format("completion queue of {} completions: {} are outstanding, at least {} "
                            "must fit",
                            capacity, outstanding, std::max<std::size_t>(outstanding, 1)));
  }
  if (ring_.size() > capacity) {
    std::vector<Completion> smaller(capacity);
    const std::size_t kept = poll(smaller);
    ring_ = std::move(smaller);
    head_ = 0;
    count_ = kept;
  }
  capacity_ = capacity;
  return {};
}

void CompletionQueue::forget(Qpn qpn) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const Completion& completion = ring_[(head_ + i) % ring_.size()];
    if (completion.qpn == qpn) continue;
    ring_[(head_ + kept) % ring_.size()] = completion;
    ++kept;
  }
  count_ = kept;
}

void CompletionQueue::grow() {
  assert(count_ == ring_.size() && count_ < capacity_);
  std::vector<Completion> larger(std::min(capacity_, std::max(kFirstStep, ring_.size() * 2)));
  const std::size_t kept = poll(larger);
  ring_ = std::move(larger);
  head_ = 0;
  count_ = kept;
}

}  // namespace weft::hca
