// SPDX-License-Identifier: Apache-2.0
// Where a queue pair finds receive requests: a queue of its own, or one that it shares (SRQ).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "hca/types.h"
#include "hca/work_queue.h"

namespace weft::hca {

// A receive request that has been taken out of its queue.
struct TakenReceive {
  std::uint64_t wr_id = 0;
  std::uint64_t length = 0;  // bytes of all pieces
  std::vector<Sge> pieces;   // reused from one to the next
};

enum class Take : std::uint8_t { kTaken, kNone, kTooShort };

class ReceiveSource {
 public:
  virtual ~ReceiveSource() = default;
  // The oldest request, if it has room for `length` bytes: one that has not stays where it is.
  virtual Take take_for(std::uint64_t length, TakenReceive& out) = 0;
  // The oldest request, of any length; false when there is none.
  bool take(TakenReceive& out) { return take_for(0, out) == Take::kTaken; }

  // How many wait, for the credits of IBA 9.7.7.2 and those of datagrams.
  [[nodiscard]] virtual std::size_t size() const = 0;
  // Acknowledgements of a connection give no credits for requests that others may take.
  [[nodiscard]] virtual bool shared() const = 0;
  // A queue pair has peers that wait for requests: the next post is told to it, by
  // QueuePair::receives_posted(). Of no use where posts go through the queue pair.
  virtual void await_post() {}
};

inline Take take_oldest(ReceiveQueue& queue, std::uint64_t length, TakenReceive& out) {
  if (queue.empty()) return Take::kNone;
  const ReceiveSlot& slot = queue.at(0);
  if (slot.length < length) return Take::kTooShort;
  const auto pieces = queue.pieces(0);
  out.wr_id = slot.wr_id;
  out.length = slot.length;
  out.pieces.assign(pieces.begin(), pieces.end());
  queue.pop_oldest();
  return Take::kTaken;
}

// Every request of `queue` completes as flushed.
inline void flush_receives(ReceiveQueue& queue, CompletionSink& completions, Qpn qpn, Time now) {
  while (!queue.empty()) {
    const std::uint64_t wr_id = queue.at(0).wr_id;
    queue.pop_oldest();
    completions.complete({.wr_id = wr_id,
                          .status = CompletionStatus::kFlushed,
                          .opcode = CompletionOpcode::kReceive,
                          .qpn = qpn,
                          .at = now});
  }
}

// The queue of a queue pair that shares none.
class OwnReceives final : public ReceiveSource {
 public:
  OwnReceives(std::uint32_t depth, std::uint32_t max_pieces) : queue(depth, max_pieces) {}
  Take take_for(std::uint64_t length, TakenReceive& out) override {
    return take_oldest(queue, length, out);
  }
  [[nodiscard]] std::size_t size() const override { return queue.size(); }
  [[nodiscard]] bool shared() const override { return false; }

  ReceiveQueue queue;
};

}  // namespace weft::hca
