// SPDX-License-Identifier: Apache-2.0
#include "host/receiver.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "hca/credit.h"
#include "host/departures.h"
#include "host/patience.h"
#include "host/queue_pair.h"
#include "io/clock.h"
#include "wire/endian.h"

namespace weft::host {
namespace {

constexpr std::size_t kDestinationOffset = 5;  // in a BTH: 24 bits

}  // namespace

class Receiver::Token {
 public:
  explicit Token(std::atomic<bool>& token) : token_(token) {}
  ~Token() {
    if (held_) token_.store(false, std::memory_order_release);
  }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  bool take() { return held_ = !token_.exchange(true, std::memory_order_acquire); }
  void wait() {
    while (!take())
      std::this_thread::yield();
  }

 private:
  std::atomic<bool>& token_;
  bool held_ = false;
};

Receiver::Receiver(std::shared_ptr<port::Inlet> inlet, std::uint64_t tag,
                   std::shared_ptr<std::atomic<std::uint32_t>> busy, SendTurns& turns)
    : inlet_(std::move(inlet)),
      tag_(tag),
      busy_(std::move(busy)),
      shares_(hca::grant_budget(inlet_->capacity())),
      turns_(turns) {
}

void Receiver::add(QueuePair& queue_pair) {
  Token token(receiving_);
  token.wait();
  const std::lock_guard guard(mutex_);
  by_number_[queue_pair.qpn().value()] = &queue_pair;
  for (CompletionQueue* queue : queue_pair.completion_queues())
    ++completion_queues_[queue];
  sole_ = by_number_.size() == 1 ? &queue_pair : nullptr;
  was_shared_ = was_shared_ || sole_ == nullptr;
}

void Receiver::remove(QueuePair& queue_pair) {
  Token token(receiving_);
  token.wait();
  const std::lock_guard guard(mutex_);
  if (by_number_.erase(queue_pair.qpn().value()) == 0) return;
  if (std::erase(touched_, &queue_pair) != 0) queue_pair.drop_put_off_end();
  const std::size_t busy = shares_.active();
  shares_.leave(queue_pair.receive_share_);
  note_busy(busy);
  for (CompletionQueue* queue : queue_pair.completion_queues()) {
    if (--completion_queues_[queue] == 0) completion_queues_.erase(queue);
  }
  sole_ = by_number_.size() == 1 ? by_number_.begin()->second : nullptr;
}

std::size_t Receiver::queue_pairs() const {
  const std::lock_guard guard(mutex_);
  return by_number_.size();
}

std::uint64_t Receiver::activity() const {
  const std::lock_guard guard(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [queue, users] : completion_queues_)
    sum += queue->activity();
  return sum;
}

bool Receiver::driven() const {
  const std::lock_guard guard(mutex_);
  return std::any_of(completion_queues_.begin(), completion_queues_.end(),
                     [](const auto& entry) { return entry.first->driven(); });
}

bool Receiver::armed() const {
  const std::lock_guard guard(mutex_);
  for (const auto& [queue, users] : completion_queues_) {
    if (queue->armed()) return true;
  }
  return false;
}

std::optional<std::size_t> Receiver::receive(std::size_t budget, Acks acks, Reader reader) {
  Token token(receiving_);
  if (!token.take()) return std::nullopt;
  if (!touched_.empty()) finish(acks, Reader::kOther);
  const std::size_t count = inlet_->receive(*this, budget);
  // A sender in the midst of a stream waits for room, not for a reply.
  if (count > kFewDatagrams) acks = Acks::kAtOnce;
  if (!touched_.empty() && !put_off(acks, reader)) finish(acks, reader);
  return count;
}

// What is to be seen to at the end of a run takes a fifth of the time from a message to its answer.
// So a program that has a message to see gets that first. What it posts takes the acknowledgement
// along; the rest is done by its next look, or by whoever else looks first.
bool Receiver::put_off(Acks acks, Reader reader) {
  if (acks != Acks::kMayWait || reader != Reader::kPoll || touched_.size() != 1 || was_shared_) {
    return false;
  }
  QueuePair& queue_pair = *touched_.front();
  if (current_ != &queue_pair) return false;
  if (in_section_ == 0) queue_pair.lock_.lock();
  in_section_ = 1;
  const bool may = queue_pair.put_off_end(now_);
  switch_to(nullptr);
  if (may) queue_pair.note_look();
  return may;
}

void Receiver::end_run_put_off(Time until) {
  Token token(receiving_);
  if (!token.take()) return;
  if (!touched_.empty() && now_ <= until) finish(Acks::kAtOnce, Reader::kOther);
}

// What is read just after a poll would have been found by the next one: a program that polls again
// and again is not to be kept from it. It had only looked idle, because others had its processor.
bool Receiver::note_read(std::size_t count) {
  const std::uint64_t activity = this->activity();
  const bool polled = std::exchange(activity_seen_, activity) != activity;
  if (count > 0 && !polled) in_vain_ = 0;
  if (count > 0 && polled && kept_for_ > 0) ++in_vain_;
  if (kept_in_vain()) kept_for_ = 0;
  return polled;
}

bool Receiver::finish_run(Patience& patience) {
  Token token(receiving_);
  while (!token.take()) {
    if (!patience.left(io::now())) return false;
    std::this_thread::yield();
  }
  if (!touched_.empty()) finish(Acks::kAtOnce, Reader::kOther);
  return true;
}

void Receiver::send_owed() {
  std::vector<std::shared_ptr<QueuePair>> owing;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [number, queue_pair] : by_number_) {
      if (!queue_pair->has_deferred_sends()) continue;
      if (auto held = queue_pair->weak_from_this().lock()) owing.push_back(std::move(held));
    }
  }
  for (const auto& queue_pair : owing)
    queue_pair->send_owed();
}

QueuePair* Receiver::find(const hca::InDatagram& datagram) {
  if (sole_ != nullptr) return sole_;  // checks by itself
  const bool raw = datagram.raw != nullptr;
  if (!raw && datagram.transport.size() < kDestinationOffset + 3) return nullptr;
  const std::uint32_t number =
      raw ? datagram.raw->to.value()
          : wire::load_be24(datagram.transport.data() + kDestinationOffset);
  if (current_ != nullptr && current_->qpn().value() == number) return current_;
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

void Receiver::switch_to(QueuePair* queue_pair) {
  if (in_section_ > 0) current_->lock_.unlock();
  in_section_ = 0;
  current_ = queue_pair;
  if (queue_pair == nullptr || queue_pair->touched_) return;
  queue_pair->touched_ = true;
  touched_.push_back(queue_pair);
}

void Receiver::deliver(const hca::InDatagram& datagram) {
  if (datagram.multicast && sole_ == nullptr) {
    // Cores know which groups they are attached to.
    for (const auto& [number, queue_pair] : by_number_) {
      if (queue_pair->type() == hca::QpType::kUd) hand_to(queue_pair, datagram);
    }
    return;
  }
  hand_to(find(datagram), datagram);
}

void Receiver::hand_to(QueuePair* to, const hca::InDatagram& datagram) {
  if (to == nullptr) {
    strays_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (now_ == Time{}) now_ = io::now();
  if (to != current_) switch_to(to);
  // A lock section for every few datagrams, so that a posting thread never waits long.
  if (in_section_ == 0) current_->lock_.lock();
  current_->take_in(datagram, now_);
  if (++in_section_ == kPerSection) {
    current_->lock_.unlock();
    in_section_ = 0;
  }
}

// It names who was to get the packet, not who sent it: that one knows its own.
void Receiver::undelivered(const hca::Undelivered& packet) {
  if (now_ == Time{}) now_ = io::now();
  switch_to(nullptr);
  for (const auto& [number, queue_pair] : by_number_) {
    {
      const std::lock_guard guard(queue_pair->lock_);
      if (!queue_pair->take_undelivered(packet, now_)) continue;
    }
    if (std::exchange(queue_pair->touched_, true)) continue;
    touched_.push_back(queue_pair);
  }
}

// What it may be granted now that something came.
std::uint32_t Receiver::share_of(QueuePair& queue_pair) {
  const std::size_t before = shares_.active();
  const std::uint32_t all = std::max(busy_->load(std::memory_order_relaxed), 1u);
  const std::uint32_t share = shares_.arrived(queue_pair.receive_share_, now_, kMostInAll / all);
  note_busy(before);
  return share;
}

void Receiver::note_busy(std::size_t before) {
  // Modulo 2^32, so that fewer are added as well.
  const auto change = static_cast<std::uint32_t>(shares_.active() - before);
  if (change != 0) busy_->fetch_add(change, std::memory_order_relaxed);
}

// With the token still held: whoever destroys a queue pair waits for it.
void Receiver::finish(Acks acks, Reader reader) {
  switch_to(nullptr);
  Departures departures(now_);
  for (QueuePair* queue_pair : touched_) {
    queue_pair->touched_ = false;
    if (reader != Reader::kOther) queue_pair->note_look();
    std::optional<std::uint32_t> share;
    if (was_shared_) share = share_of(*queue_pair);
    if (queue_pair->end_run(now_, acks, share)) departures.flush(*queue_pair);
  }
  departures.serve(turns_);
  departures.go();
  touched_.clear();
  now_ = Time{};
}

}  // namespace weft::host
