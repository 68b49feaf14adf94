// SPDX-License-Identifier: Apache-2.0
// Posting to a queue pair: what goes at once, and what waits for more.
#include "host/context.h"
#include "host/queue_pair.h"
#include "io/clock.h"

namespace weft::host {

std::uint64_t QueuePair::polls() const {
  std::uint64_t sum = 0;
  if (config_.send_queue) sum += config_.send_queue->polls();
  if (config_.receive_queue) sum += config_.receive_queue->polls();
  return sum;
}

std::errc QueuePair::post_send(const hca::SendRequest& request, bool more) {
  Next next = Next::kNothing;
  {
    const std::lock_guard guard(lock_);
    if (const std::errc error = core_->post_send(request); error != std::errc{}) return error;
    note_posts(1);
    if (more) return {};
    next = after_post();
  }
  act(next);
  return {};
}

std::errc QueuePair::post_send_list(std::span<const hca::SendRequest> requests) {
  std::errc error{};
  Next next = Next::kNothing;
  {
    const std::lock_guard guard(lock_);
    if (requests.size() > core_->send_room()) return std::errc::not_enough_memory;
    for (const hca::SendRequest& request : requests) {
      error = core_->post_send(request);
      if (error != std::errc{}) break;
    }
    note_posts(requests.size());
    next = after_post();
  }
  act(next);
  return error;
}

// What takes no sends, as XRC targets do, has refused them.
void QueuePair::note_posts(std::size_t requests) {
  if (config_.send_queue) config_.send_queue->note_posts(requests, polls());
}

// Whether what was posted goes at once: the first since the last poll does, others gather. Of a
// program that posted many between its polls, to whatever queue pairs, the first one gathers, too:
// more will come, and a call to the kernel costs as much as a dozen short messages.
QueuePair::Next QueuePair::after_post() {
  if (requests_held()) return Next::kNothing;
  const bool run_is_full = core_->queued_packets() >= kRunPackets ||
                           core_->queued_bytes() >= kRunBytes || core_->queue_fills();
  if (run_is_full) {
    if (!core_->has_work()) return Next::kNothing;  // an acknowledgement is waited for
    posts_on_ = config_.send_queue->in_run() && core_->queued_bytes() < kRunBytes;
    return Next::kFlush;
  }
  config_.send_queue->note_gathering();
  if (has_deferred_sends() && !only_acks_wait()) {
    // The clock is not for every one of many short messages.
    if (core_->queued_packets() % kPostsPerLook != 0) return Next::kNothing;
    return deferred_for(io::now()) >= kGatherTime ? Next::kFlush : Next::kNothing;
  }
  const bool polled = polls_at_send_ != polls();
  if (polled && !config_.send_queue->posted_in_run()) return Next::kFlush;
  const Time now = io::now();
  if (!polled && now - sent_at_ >= kGatherTime) return Next::kFlush;
  if (deferred_for(now) >= kGatherTime) return Next::kFlush;
  return set_deferred(Deferred::kSends, now) ? Next::kArm : Next::kNothing;
}

void QueuePair::act(Next next) {
  if (next == Next::kNothing) return;
  const Time now = io::now();
  if (next == Next::kFlush) flush(now);
  if (next == Next::kArm) await_poll(now + kGatherTime);
}

// What no poll would send goes at once.
void QueuePair::await_poll(Time until) {
  if (config_.send_queue) return context_->arm_flush(config_.send_queue, until);
  flush(io::now());
}

std::errc QueuePair::post_receive(const hca::ReceiveRequest& request) {
  bool newly_deferred = false;
  {
    const std::lock_guard guard(lock_);
    const std::errc error = core_->post_receive(request);
    if (error != std::errc{}) return error;
    // A peer may be waiting for the credit of this very receive.
    newly_deferred = defer_work();
  }
  if (newly_deferred) await_poll(io::now() + kGatherTime);
  return {};
}

void QueuePair::receives_posted() {
  bool newly_deferred = false;
  {
    const std::lock_guard guard(lock_);
    if (destroyed_) return;
    core_->receives_posted();
    newly_deferred = defer_work();
  }
  if (newly_deferred) await_poll(io::now() + kGatherTime);
}

}  // namespace weft::host
