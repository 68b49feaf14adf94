// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/time.h"
#include "hca/datagram.h"

namespace weft::host {

class QueuePair;
class SendTurns;

// Sends what several queue pairs have waiting, in as few calls to the kernel as it takes: short
// bursts of queue pairs that share a socket leave together when they go to one socket of a peer.
// With a thousand connections between two processes that is most of them.
//
// For one pass over queue pairs that stay where they are until go(), in one thread.
class Departures {
 public:
  explicit Departures(Time now) : now_(now) {}
  ~Departures() { go(); }
  Departures(const Departures&) = delete;
  Departures& operator=(const Departures&) = delete;

  // As QueuePair::flush(), but what it sends may not be gone before go().
  bool flush(QueuePair& queue_pair);
  // Those whose turn has come.
  void serve(SendTurns& turns);
  void go();

 private:
  static constexpr std::size_t kMost = hca::Burst::kMaxPackets;

  [[nodiscard]] bool takes(const QueuePair& queue_pair, const hca::Burst& burst) const;
  void take(QueuePair& queue_pair);

  Time now_;
  std::vector<std::shared_ptr<QueuePair>> served_;  // until they are gone
  // Who waits, with its sending token, and its burst: that of the same number of the thread's.
  std::array<QueuePair*, kMost> waiting_;
  std::size_t count_ = 0;
  // Of all these bursts.
  std::size_t packets_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace weft::host
