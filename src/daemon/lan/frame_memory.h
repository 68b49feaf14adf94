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
// system gives the memory as it is used, and has it back when this has gone and the last packet
// too: some may still be on links when an interface goes.
class FrameMemory final {
 public:
  // `place`: bytes of one, rounded up to whole cache lines.
  FrameMemory(std::size_t places, std::size_t place);
  ~FrameMemory();
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;

  [[nodiscard]] MutableBytes all();
  [[nodiscard]] std::size_t free_places() const { return places_->free.size(); }
  // A place; empty: all are in use.
  [[nodiscard]] BufferRef take();
  // One more reference to the place that these bytes lie in; empty: they lie in none, or in one
  // that nobody has.
  [[nodiscard]] BufferRef share(Bytes bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Places final : BufferOwner {
    Places(std::size_t count, std::size_t length);
    [[nodiscard]] bool all_free() const { return free.size() == blocks.size(); }
    void returned(BufferBlock& block) override;

    const std::size_t length;
    const std::unique_ptr<std::byte[], Free> memory;
    std::deque<BufferBlock> blocks;
    std::vector<BufferBlock*> free;  // with room for all
    bool left = false;               // by the FrameMemory: the last block that returns is the end
  };

  Places* const places_;  // owns itself when it was left
};

}  // namespace weft::daemon
