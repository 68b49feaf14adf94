// SPDX-License-Identifier: Apache-2.0
#include "host/departures.h"

#include <memory>
#include <span>
#include <utility>

#include "host/queue_pair.h"
#include "io/clock.h"

namespace weft::host {
namespace {

using Bursts = std::array<std::unique_ptr<hca::Burst>, hca::Burst::kMaxPackets>;

// Bursts are large and live for one pass: each thread has its own.
Bursts& thread_bursts() {
  [[gnu::tls_model("initial-exec")]] thread_local Bursts bursts;
  return bursts;
}

hca::Burst& burst_at(std::size_t which) {
  std::unique_ptr<hca::Burst>& burst = thread_bursts()[which];
  if (!burst) burst = std::make_unique<hca::Burst>();
  return *burst;
}

}  // namespace

bool Departures::flush(QueuePair& queue_pair) {
  if (!queue_pair.ask_to_send()) return false;
  hca::Burst& burst = burst_at(count_);
  if (!queue_pair.next_burst(burst, now_)) {
    queue_pair.stop_sending(now_);
    return true;
  }
  if (count_ > 0 && !takes(queue_pair, burst)) {
    std::unique_ptr<hca::Burst>& mine = thread_bursts()[count_];
    go();
    std::swap(thread_bursts().front(), mine);
  }
  take(queue_pair);
  return true;
}

void Departures::serve(SendTurns& turns) {
  while (auto next = turns.next(now_)) {
    flush(*next);
    served_.push_back(std::move(next));
  }
}

// Whether a burst may join those that wait: together they are like one.
bool Departures::takes(const QueuePair& queue_pair, const hca::Burst& burst) const {
  const hca::Burst& first = burst_at(0);
  const std::size_t length = first.packets().front().length();
  const std::size_t next = burst.packets().front().length();
  return (next == length || (next < length && burst.size() == 1)) &&
         packets_ + burst.size() <= hca::Burst::kMaxPackets &&
         bytes_ + burst.bytes() <= hca::Burst::kMaxBytes &&
         waiting_.front()->endpoint_->inlet() == queue_pair.endpoint_->inlet() &&
         queue_pair.endpoint_->same_way(first, burst);
}

void Departures::take(QueuePair& queue_pair) {
  const hca::Burst& burst = burst_at(count_);
  waiting_[count_++] = &queue_pair;
  packets_ += burst.size();
  bytes_ += burst.bytes();
  const std::size_t length = burst_at(0).packets().front().length();
  const bool shorter_last = burst.packets().back().length() < length;
  if (shorter_last || packets_ == hca::Burst::kMaxPackets ||
      bytes_ + length > hca::Burst::kMaxBytes) {
    go();
  }
}

void Departures::go() {
  if (count_ == 0) return;
  std::array<const hca::Burst*, kMost> bursts;
  for (std::size_t i = 0; i < count_; ++i)
    bursts[i] = &burst_at(i);
  std::optional<hca::SendResult> result;
  if (count_ > 1) {
    result = waiting_.front()->endpoint_->send_together(std::span(bursts).first(count_));
  }
  const std::size_t count = std::exchange(count_, 0);
  const bool as_one = result.has_value();
  // A run takes the kernel as long as a program takes to post many more.
  if (as_one) now_ = io::now();
  packets_ = bytes_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    QueuePair& queue_pair = *waiting_[i];
    hca::Burst& burst = burst_at(i);
    const bool more = !as_one || queue_pair.sent(burst, *result, now_);
    if (more) queue_pair.send_on(burst, now_);
    queue_pair.stop_sending(now_);
  }
}

}  // namespace weft::host
