// SPDX-License-Identifier: Apache-2.0
// The bulk buffer of an extender: for each remote site, and there for each virtual lane, a FIFO of
// packets that came over the WAN and wait for credit of the local link. Each FIFO has room of its
// own, so that no lane and no site waits for another; lanes may be emptied in any order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/ring.h"
#include "link/packet.h"
#include "link/receive_buffer.h"
#include "wan/bulk_memory.h"
#include "wan/landing.h"
#include "wan/tunnel_credit.h"

namespace weft::wan {

inline constexpr std::size_t kLanes = 15;  // VL15 has no FIFO: it has no credits (IBA 7.6.4)

// Room is counted as credit counts it, in blocks. Packets that must wait for others that were sent
// before them take room from the moment they have come, and are in the queue only later.
class Fifo {
 public:
  Fifo(std::uint64_t capacity_bytes, BlockSize block)
      : block_(block), capacity_(block.whole_blocks(capacity_bytes)) {}

  // False: there is no room for so many blocks.
  [[nodiscard]] bool reserve(std::uint64_t blocks);
  // What was reserved is not needed after all.
  void give_up(std::uint64_t blocks);
  // Behind all others; its room is reserved.
  void push(link::PacketPtr packet);
  // Null when empty. Its room is free then.
  [[nodiscard]] link::PacketPtr pop();
  // Returns how many packets that were.
  std::size_t clear();

  [[nodiscard]] BlockSize block() const { return block_; }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  // Null when empty.
  [[nodiscard]] const link::Packet* front() const {
    return queue_.empty() ? nullptr : queue_.front().get();
  }
  // Blocks: in the queue; reserved altogether; that at most so far; of room.
  [[nodiscard]] std::uint64_t queued() const { return queued_; }
  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t most_used() const { return most_used_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

 private:
  const BlockSize block_;
  const std::uint64_t capacity_;
  std::uint64_t used_ = 0;
  std::uint64_t queued_ = 0;
  std::uint64_t most_used_ = 0;
  Ring<link::PacketPtr> queue_;
};

class BulkBuffer {
 public:
  struct Options {
    // Of each lane of each remote. Below kLeastBytes only where distances are short.
    std::uint64_t lane_bytes = std::uint64_t{512} << 20;
    BlockSize block{};
    std::size_t remotes = 1;  // N - 1 of N sites
    // Whether what is free stays in the cache rather than go back to the system: slabs to keep.
    std::size_t spare_slabs = 16;
    // Of payloads that were copied, and of those that stay where they came to; FIFOs together may
    // promise more than there is.
    std::uint64_t most_memory = ~std::uint64_t{0};
  };
  // What a standard link grants at most, 2048 blocks of 64 bytes, is no longer a bulk buffer.
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{128} << 10;

  explicit BulkBuffer(const Options& options);

  // What one remote's packets have.
  class Share {
   public:
    Share(const Options& options, BulkMemory& memory, Landing& landing);
    [[nodiscard]] Fifo& fifo(Vl vl) { return *fifos_[vl.value()]; }
    [[nodiscard]] const Fifo& fifo(Vl vl) const { return *fifos_[vl.value()]; }
    [[nodiscard]] BulkMemory& memory() { return memory_; }
    [[nodiscard]] Landing& landing() { return landing_; }
    [[nodiscard]] BlockSize block() const { return fifos_[0]->block(); }
    // Bytes that packets take in all of them, as credit counts.
    [[nodiscard]] std::uint64_t used_bytes() const;
    // The most that each FIFO had, in sum.
    [[nodiscard]] std::uint64_t most_used_bytes() const;

   private:
    std::array<std::unique_ptr<Fifo>, kLanes> fifos_;
    BulkMemory& memory_;
    Landing& landing_;
  };
  [[nodiscard]] Share& share(std::size_t remote) { return *shares_[remote]; }
  [[nodiscard]] const BulkMemory& memory() const { return memory_; }
  // What frames are read into, so that their packets need not be copied.
  [[nodiscard]] Landing& landing() { return landing_; }

 private:
  BulkMemory memory_;
  Landing landing_;
  std::vector<std::unique_ptr<Share>> shares_;
};

}  // namespace weft::wan
