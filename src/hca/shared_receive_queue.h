// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <system_error>

#include "base/error.h"
#include "hca/receive_source.h"
#include "hca/types.h"
#include "hca/work_queue.h"

namespace weft::hca {

// A receive queue that several queue pairs take from (IBA 10.2.9). Not thread-safe: the owner
// locks.
class SharedReceiveQueue final : public ReceiveSource {
 public:
  SharedReceiveQueue(std::uint32_t depth, std::uint32_t max_pieces)
      : queue_(depth, max_pieces), depth_(depth), max_pieces_(max_pieces) {}

  // Zero; EINVAL: too many pieces; ENOMEM: full.
  std::errc post(const ReceiveRequest& request);
  Take take_for(std::uint64_t length, TakenReceive& out) override;
  [[nodiscard]] std::size_t size() const override { return queue_.size(); }
  [[nodiscard]] bool shared() const override { return true; }

  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  [[nodiscard]] std::uint32_t max_pieces() const { return max_pieces_; }
  // Another depth, at least 1 (IBA 11.2.4.3). EINVAL for less than what waits now, or than the
  // limit.
  Expected<void> resize(std::uint32_t depth);

  // Once, when a take() leaves fewer requests than `limit`, an event is due, and the limit is
  // disarmed: it reads 0 then. 0: no event.
  void set_limit(std::uint32_t limit) { limit_ = limit; }
  [[nodiscard]] std::uint32_t limit() const { return limit_; }
  bool take_limit_event();

 private:
  ReceiveQueue queue_;
  std::uint32_t depth_;
  std::uint32_t max_pieces_;
  std::uint32_t limit_ = 0;
  bool limit_event_ = false;
};

}  // namespace weft::hca
