// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"

namespace weft::wan {

// What is under way on an emulated path: bytes, where they were written first, until their time has
// come. They lie in blocks that are taken from the system as they are needed, up to a limit, and
// used again; what has come is dropped by its owner when there is no room, never kept beyond it.
class DelayLine {
 public:
  struct Held {
    Time due{};
    Bytes bytes;
    std::uint32_t flow = 0;          // whose it is: the owner's number
    std::uint8_t traffic_class = 0;  // with which it goes on
    std::uint32_t block = 0;         // where the bytes lie
  };
  static constexpr std::size_t kBlock = 1024 * 1024;

  // `memory`: bytes that blocks and their lists may take; at least two blocks are allowed.
  explicit DelayLine(std::size_t memory);

  // Room for `most` bytes, at most kBlock, at the same place until some are held. Empty when the
  // memory is used up.
  [[nodiscard]] MutableBytes room(std::size_t most);
  // The first `size` bytes of the last room() are taken, whatever is held of them.
  void take(std::size_t size);
  // Part of what was taken last comes out at its due time. Callable several times for one part.
  // Times do not decrease from call to call.
  void hold(Bytes part, Time due, std::uint32_t flow, std::uint8_t traffic_class);
  // The same for what others overtake, whose times may be any.
  void hold_late(Bytes part, Time due, std::uint32_t flow, std::uint8_t traffic_class);

  // When the next comes out.
  [[nodiscard]] std::optional<Time> due() const;
  // The next whose time has come, of equal times the one held first.
  [[nodiscard]] std::optional<Held> peek(Time now) const;
  // The same, and it is out. Its bytes stay until release().
  std::optional<Held> next(Time now);
  void release(const Held& held);

  [[nodiscard]] std::size_t packets() const { return in_order_.size() + late_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // held, until their time has come
  [[nodiscard]] std::size_t memory() const;                   // in use

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::uint32_t users = 0;  // what is held of it, one more while it is being filled
  };
  // The top of a queue is its greatest.
  struct Later {
    bool operator()(const Held& a, const Held& b) const { return a.due > b.due; }
  };
  [[nodiscard]] Held held(Bytes part, Time due, std::uint32_t flow, std::uint8_t traffic_class);
  [[nodiscard]] bool first_is_late() const;
  void leave(std::uint32_t block);
  [[nodiscard]] bool open_block();

  std::size_t limit_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_blocks_;
  std::optional<std::uint32_t> filling_;
  std::size_t filled_ = 0;
  std::deque<Held> in_order_;
  std::priority_queue<Held, std::vector<Held>, Later> late_;
  std::size_t bytes_ = 0;
};

}  // namespace weft::wan
