// SPDX-License-Identifier: Apache-2.0
// A datagram network in virtual time, with the faults of a real one drawn from a seed, and sockets
// with bounded buffers at its ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/time.h"
#include "sim/scheduler.h"

namespace weft::sim {

// Probabilities apply to each datagram by itself.
struct Faults {
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;       // takes up to `reorder_delay` longer, and so lets others pass
  double corrupt = 0;       // arrives with one bit wrong
  std::size_t longest = 0;  // bytes of a datagram that some link takes: longer ones vanish; 0: any
  double credit_loss = 0;   // for datagrams that `Network::is_credit` picks, besides `loss`
  Duration delay = 20us;    // one way
  Duration jitter = 0us;    // of whole runs, which stay in order
  Duration reorder_delay = 200us;
  std::uint64_t rate_bytes_per_s = 1'250'000'000;  // of each sender
};

// A link that everything to one host passes, one datagram at a time, behind a queue.
struct Bottleneck {
  std::uint64_t rate_bytes_per_s = 125'000'000;
  std::size_t queue = 1'000'000;  // bytes that may wait, frames counted whole; more is dropped
  std::size_t mark = 0;           // with more waiting, what is capable of ECN is marked; 0: never
};

struct Address {
  Gid gid;
  std::uint16_t port = 0;
  friend auto operator<=>(const Address&, const Address&) = default;
};

// Datagrams that left in one call. What is not lost or reordered arrives as one buffer, as a
// segmented send does over a path with receive offload.
struct Run {
  Address from;
  Address to;
  std::vector<std::vector<std::byte>> datagrams;
  std::uint8_t traffic_class = 0;
  [[nodiscard]] std::size_t bytes() const;
};

struct NetworkCounts {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t delivered = 0;
  std::uint64_t marked = 0;       // by a bottleneck: congestion experienced
  std::uint64_t dropped = 0;      // because the queue before a bottleneck was full
  std::uint64_t overrun = 0;      // dropped because a socket's buffer was full
  std::uint64_t unreachable = 0;  // sent to an address that nobody has
};

class Network {
 public:
  Network(Scheduler& scheduler, Random random, const Faults& faults)
      : scheduler_(scheduler), random_(random), faults_(faults) {}

  // A socket with `buffer` bytes for what waits to be read, charged as Linux charges (truesize).
  // `readable` is called when something arrives where nothing was waiting. Returns its number.
  std::size_t open(const Address& address, std::size_t buffer, std::function<void()> readable);
  void join(std::size_t socket, const Gid& group);
  // From now on, on the way to `host`, behind the senders' own links and the delay.
  void narrow(const Gid& host, const Bottleneck& bottleneck) {
    bottlenecks_[host] = {.link = bottleneck};
  }

  // False when the sender's queue is full: again at when_writable().
  bool send(std::size_t socket, Run run);
  [[nodiscard]] Time when_writable(std::size_t socket) const;
  // The oldest run that waits at a socket; empty when none does.
  [[nodiscard]] Run read(std::size_t socket);
  [[nodiscard]] bool readable(std::size_t socket) const { return !sockets_[socket].queue.empty(); }

  [[nodiscard]] const NetworkCounts& counts() const { return counts_; }
  // One line for each thing that happened, for tests that compare whole runs.
  [[nodiscard]] const std::string& trace() const { return trace_; }
  void keep_trace() { tracing_ = true; }

  std::function<bool(Bytes)> is_credit = [](Bytes) { return false; };
  // Which datagrams of a run are lost besides, by their place in it.
  std::function<bool(const Run&, std::size_t)> loses = [](const Run&, std::size_t) {
    return false;
  };

  // What Linux charges a socket for one buffer, on the high side.
  static constexpr std::size_t truesize(std::size_t bytes) { return 1280 + bytes + bytes / 10; }

 private:
  static constexpr Duration kSendQueue = 200us;  // what a sender may have waiting, as time

  struct Socket {
    Address address;
    std::size_t capacity;
    std::function<void()> readable;
    std::deque<Run> queue;
    std::size_t used = 0;
    std::size_t read_but_held = 0;  // Linux gives a UDP socket's memory back in quarters
    Time link_free{};               // when its link has sent everything
    Time last_arrival{};            // of what it sent, so that runs stay in order
  };
  void carry(std::size_t from, std::size_t to, const Run& run);
  void arrive_later(std::size_t to, Run run, Time when);
  void pass(std::size_t to, Run run);
  void arrive(std::size_t to, Run run);
  void note(const char* what, const Run& run, std::size_t bytes);
  [[nodiscard]] std::vector<std::byte> damage(std::vector<std::byte> datagram);

  Scheduler& scheduler_;
  Random random_;
  Faults faults_;
  std::vector<Socket> sockets_;
  std::map<Address, std::size_t> by_address_;
  std::map<Gid, std::vector<std::size_t>> groups_;
  struct Narrow {
    Bottleneck link;
    Time free{};  // when it has sent everything that waits
  };
  std::map<Gid, Narrow> bottlenecks_;
  NetworkCounts counts_;
  bool tracing_ = false;
  std::string trace_;
};

}  // namespace weft::sim
