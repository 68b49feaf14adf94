// SPDX-License-Identifier: Apache-2.0
#include "hca/shared_receive_queue.h"

#include <fmt/format.h>

#include <utility>

namespace weft::hca {

std::errc SharedReceiveQueue::post(const ReceiveRequest& request) {
  if (request.pieces.size() > max_pieces_) return std::errc::invalid_argument;
  if (queue_.full()) return std::errc::not_enough_memory;
  push_receive(queue_, request);
  return {};
}

Take SharedReceiveQueue::take_for(std::uint64_t length, TakenReceive& out) {
  const Take taken = take_oldest(queue_, length, out);
  if (taken == Take::kTaken && queue_.size() < limit_) {
    limit_ = 0;
    limit_event_ = true;
  }
  return taken;
}

Expected<void> SharedReceiveQueue::resize(std::uint32_t depth) {
  if (depth == 0 || depth < queue_.size() || depth < limit_) {
    return fail(
        std::errc::invalid_argument,
        fmt::format("SRQ of {} requests: {} wait, the limit is {}", depth, queue_.size(), limit_));
  }
  ReceiveQueue larger(depth, max_pieces_);
  for (std::size_t i = 0; i < queue_.size(); ++i)
    larger.push(queue_.at(i), queue_.pieces(i));
  queue_ = std::move(larger);
  depth_ = depth;
  return {};
}

bool SharedReceiveQueue::take_limit_event() {
  return std::exchange(limit_event_, false);
}

}  // namespace weft::hca
