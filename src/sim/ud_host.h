// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/random.h"
#include "hca/completion_queue.h"
#include "hca/shared_receive_queue.h"
#include "hca/ud_queue_pair.h"
#include "sim/network.h"
#include "sim/scheduler.h"

namespace weft::sim {

struct UdHostConfig {
  Gid gid;
  hca::UdConfig queue_pair;
  std::size_t socket_buffer = 425'984;        // what a stock Linux grants
  std::size_t memory = std::size_t{1} << 20;  // registered, bytes
  bool shared_receives = false;               // from a shared receive queue
  Duration read_time = 2us;                   // to take one run from the socket
  Duration poll_time = 5us;                   // until the program looks at its completions
};

// A program with one datagram queue pair on a simulated network: what src/host and src/port/udp are
// in the real world, in one class and in virtual time.
class UdHost final : private hca::BurstSink {
 public:
  UdHost(Scheduler& scheduler, Network& network, Random random, const UdHostConfig& config);

  // Through the states of IBA 10.3.1 to RTS. To be called before anything is sent.
  void start(QKey qkey, Psn first);
  void attach(const Gid& group);

  [[nodiscard]] hca::UdQueuePair& queue_pair() { return queue_pair_; }
  [[nodiscard]] hca::MemoryTable& memory_table() { return table_; }
  [[nodiscard]] MutableBytes memory() { return memory_; }
  [[nodiscard]] hca::Sge piece(std::size_t offset, std::size_t length) const;
  [[nodiscard]] const Gid& gid() const { return config_.gid; }
  [[nodiscard]] Qpn qpn() const { return config_.queue_pair.qpn; }

  std::errc post_send(const hca::SendRequest& request);
  std::errc post_receive(const hca::ReceiveRequest& request);

  // Called in virtual time with each completion, some while after it was made.
  std::function<void(const hca::Completion&)> on_completion;
  [[nodiscard]] std::uint64_t bad_icrc() const { return bad_icrc_; }

 private:
  class Sink final : public hca::CompletionSink {
   public:
    explicit Sink(UdHost& host) : host_(host) {}
    void complete(const hca::Completion& completion) override;

   private:
    UdHost& host_;
  };
  class Shared final : public hca::ReceiveSource {
   public:
    explicit Shared(const hca::UdConfig& config)
        : queue(config.max_receives, config.max_receive_pieces) {}
    hca::Take take_for(std::uint64_t length, hca::TakenReceive& out) override {
      return queue.take_for(length, out);
    }
    [[nodiscard]] std::size_t size() const override { return queue.size(); }
    [[nodiscard]] bool shared() const override { return true; }
    void await_post() override { post_awaited = true; }

    hca::SharedReceiveQueue queue;
    bool post_awaited = false;
  };
  static std::uint16_t port_of(Qpn qpn) { return static_cast<std::uint16_t>(qpn.value()); }

  hca::SendResult send(const hca::Burst& burst) override;
  void pump();
  void wake_at(Time when);
  void read_one();
  void receive(const Run& run, Bytes datagram);
  void poll();

  Scheduler& scheduler_;
  Network& network_;
  UdHostConfig config_;
  SeededEntropy entropy_;
  hca::MemoryTable table_;
  std::vector<std::byte> memory_;
  hca::MemoryRegion region_;
  hca::CompletionQueue completions_;
  Sink sink_;
  Shared shared_;
  hca::UdQueuePair queue_pair_;
  hca::Burst scratch_;
  std::size_t socket_;
  std::optional<Time> wake_at_;
  bool poll_due_ = false;
  bool pump_due_ = false;
  std::uint64_t bad_icrc_ = 0;
};

}  // namespace weft::sim
