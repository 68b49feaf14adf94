// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/shared_mapping.h"
#include "io/unique_fd.h"
#include "port/ring/shared_memory.h"

namespace weft::port {

// The program's end of the memory between it and the daemon of its lab (ring/shared_memory.h).
// Sending and receiving are independent; each is done by one thread at a time.
class ProgramEnd {
 public:
  // `program` and `daemon`: the two files, each of which may be closed afterwards. `doorbell` wakes
  // the daemon; `arrivals` becomes readable when the daemon wakes the program.
  static Expected<std::unique_ptr<ProgramEnd>> map(int program, int daemon, io::UniqueFd doorbell,
                                                   io::UniqueFd arrivals);

  // Sending. Whether so many packets can be handed over now, so many of them with a block.
  [[nodiscard]] bool has_room(std::size_t packets, std::size_t blocks);
  // After has_room() said so: a block, the caller's until it is published in a slot or given back.
  [[nodiscard]] std::uint32_t take_block() { return free_[--free_count_]; }
  void give_back(std::uint32_t block) { free_[free_count_++] = block; }
  [[nodiscard]] MutableBytes block(std::uint32_t number) {
    return memory_of_program().blocks[number];
  }
  // The slot of the next packet but `ahead` that is handed over.
  [[nodiscard]] ring::SendSlot& slot(std::size_t ahead) {
    return memory_of_program().slots[(sent_ + ahead) % ring::kSlots];
  }
  // Hands over the packets in the next `count` slots.
  void publish(std::size_t count);

  // Receiving. How many packets are there.
  [[nodiscard]] std::size_t arrived();
  // The oldest but `ahead`, which is below arrived(). The daemon may write to it at any time.
  [[nodiscard]] const ring::ArrivalSlot& arrival(std::size_t ahead) const {
    return memory_of_daemon().slots[(taken_ + ahead) % ring::kSlots];
  }
  // Blocks of packets that are not taken yet.
  [[nodiscard]] Bytes daemon_block(std::uint32_t number) const {
    return memory_of_daemon().blocks[number];
  }
  [[nodiscard]] Bytes own_block(std::uint32_t number) const {
    return memory_of_program().blocks[number];
  }
  // The oldest `count` are done with.
  void take(std::size_t count);

  // Readable when something may have arrived, once for each wait(). Fewer once the daemon is gone:
  // what it has left open would be readable for ever.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Somebody waits on the descriptors from now on. Any thread.
  void wait();

  // The daemon has written what cannot be: nothing goes either way any more.
  [[nodiscard]] bool is_broken() const { return broken_.load(std::memory_order_relaxed); }

 private:
  ProgramEnd(io::SharedMapping program, io::SharedMapping daemon, io::UniqueFd doorbell,
             io::UniqueFd arrivals, io::UniqueFd woken);
  void collect_blocks();
  bool break_off();
  [[nodiscard]] ring::ProgramMemory& memory_of_program() const {
    return *static_cast<ring::ProgramMemory*>(program_.begin());
  }
  [[nodiscard]] const ring::DaemonMemory& memory_of_daemon() const {
    return *static_cast<const ring::DaemonMemory*>(daemon_.begin());
  }

  io::SharedMapping program_;
  io::SharedMapping daemon_;
  io::UniqueFd doorbell_;
  io::UniqueFd arrivals_;
  io::UniqueFd woken_;  // by this side
  std::atomic<bool> broken_{false};
  std::atomic<bool> abandoned_{false};  // by the daemon

  // By the sending thread.
  std::uint64_t sent_ = 0;
  std::uint64_t accepted_ = 0;  // as last seen
  std::uint64_t freed_ = 0;     // as far as collected
  std::array<std::uint32_t, ring::kBlocks> free_;
  std::size_t free_count_ = 0;
  std::bitset<ring::kBlocks> handed_over_;

  // By the receiving thread.
  std::uint64_t taken_ = 0;
};

}  // namespace weft::port
