// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "base/buffer_pool.h"
#include "base/bytes.h"

namespace weft::daemon {

// Places of one size for whole messages, in one stretch of memory that an adapter can know as one
// region. Packets refer to a message where it lies; the place is free when the last has gone. The
// system gives the memory as it is used.
class FrameMemory final : private BufferOwner {
 public:
  // `place`: bytes of one, rounded up to whole cache lines.
  FrameMemory(std::size_t places, std::size_t place);
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;

  [[nodiscard]] MutableBytes all() { return {memory_.get(), places_.size() * place_}; }
  [[nodiscard]] std::size_t free_places() const { return free_.size(); }
  // A place; empty: all are in use.
  [[nodiscard]] BufferRef take();
  // One more reference to the place that these bytes lie in; empty: they lie in none, or in one
  // that nobody has.
  [[nodiscard]] BufferRef share(Bytes bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  void returned(BufferBlock& block) override { free_.push_back(&block); }

  const std::size_t place_;
  const std::unique_ptr<std::byte[], Free> memory_;
  std::deque<BufferBlock> places_;
  std::vector<BufferBlock*> free_;  // with room for all
};

}  // namespace weft::daemon
