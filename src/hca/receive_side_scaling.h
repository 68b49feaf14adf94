// SPDX-License-Identifier: Apache-2.0
// Spreads packets over many receive queues, so that as many threads can work on them: a keyed hash
// of a packet's flow chooses an entry of a table, and that says which queue. All packets of a flow
// go to one queue, in order.
//
// The key is drawn when the table is made: a peer that chooses its addresses cannot aim at one
// queue, nor find out who shares one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/entropy.h"
#include "base/error.h"
#include "hca/packet_flow.h"
#include "hca/toeplitz_hash.h"

namespace weft::hca {

class ReceiveSideScaling {
 public:
  using Queue = std::uint16_t;  // by a number of the owner's
  static constexpr std::size_t kEntries = 128;
  static constexpr std::size_t kMostQueues = kEntries;

  explicit ReceiveSideScaling(Entropy& entropy);
  // With a key that both ends of a test know.
  using Key = std::array<std::byte, PacketFlow::kSize + 4>;
  explicit ReceiveSideScaling(const Key& key) : hash_(Bytes(key)) {}

  // --- queues ------------------------------------------------------------------------------------
  // `core`: on which whoever serves the queue runs, for direct(). The queue gets its share of the
  // entries from those that have most. file_exists: it is there already. no_buffer_space: there are
  // kMostQueues.
  Expected<void> add(Queue queue, std::optional<unsigned> core = std::nullopt);
  // What it had goes to those that have least, at once. invalid_argument: it is not there.
  Expected<void> remove(Queue queue);
  [[nodiscard]] std::size_t queues() const { return places_.size(); }
  [[nodiscard]] std::optional<unsigned> core_of(Queue queue) const;

  // Flows that change queues do so only when the queue that they leave has nothing of them: an
  // entry moves when drained() says that all that went to its queue has been worked on.
  void drained(Queue queue);
  // Whether something waits for it.
  [[nodiscard]] bool awaits(Queue queue) const;
  // The entry of flows of that hash moves to a queue of that core, the one with fewest entries:
  // whoever uses what the flow brings runs there. invalid_argument: no queue is of that core.
  Expected<void> direct(std::uint32_t hash, unsigned core);
  // Of what the table says, as ethtool and its like show it; entries on the move where they are.
  [[nodiscard]] std::array<std::optional<Queue>, kEntries> table() const;

  // --- packets -----------------------------------------------------------------------------------
  [[nodiscard]] std::uint32_t hash(const PacketFlow& flow) const;
  // Nothing: there is no queue.
  [[nodiscard]] std::optional<Queue> queue_for(std::uint32_t hash) const {
    return entries_[entry_of(hash)].queue;
  }

 private:
  struct Entry {
    std::optional<Queue> queue;
    std::optional<Queue> next;  // moves there
  };
  struct Place {
    Queue queue = 0;
    std::optional<unsigned> core;
    std::size_t entries = 0;  // that it has or will have
  };

  // A bit of the hash is a sum of bits of the flow: queue pairs whose numbers follow each other may
  // have it all alike, and one queue would get them all. A bit of the product depends on all bits
  // below it, and not by sums alone (Knuth: "The Art of Computer Programming", 6.4).
  [[nodiscard]] static std::size_t entry_of(std::uint32_t hash) {
    constexpr std::uint32_t kGolden = 0x9E37'79B1;  // 2^32 divided by the golden ratio, a prime
    static_assert(kEntries == 1u << 7);
    return (hash * kGolden) >> (32 - 7);
  }
  [[nodiscard]] std::vector<Place>::iterator find(Queue queue);
  void move(Entry& entry, Place& to);
  void even_out();
  [[nodiscard]] Place& least();
  [[nodiscard]] Place& most();

  ToeplitzHash hash_;
  std::array<Entry, kEntries> entries_{};
  std::vector<Place> places_;
};

}  // namespace weft::hca
