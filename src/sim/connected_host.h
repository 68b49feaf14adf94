// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "hca/completion_queue.h"
#include "hca/connected_queue_pair.h"
#include "sim/network.h"
#include "sim/scheduler.h"

namespace weft::sim {

struct ConnectedHostConfig {
  Gid gid;
  std::size_t socket_buffer = 425'984;        // of each socket: what a stock Linux grants
  std::size_t memory = std::size_t{1} << 20;  // bytes; the program registers parts of it
  std::size_t completions = 65'536;           // depth of the one completion queue
  Duration read_time = 2us;                   // to take one run from a socket
  Duration poll_time = 5us;                   // until the program looks at its completions
};

// What a program sets of a connection with modify, the same at both ends unless it says otherwise.
struct ConnectionSetup {
  std::uint32_t path_mtu = 1024;  // bytes
  Psn sq_psn{};
  Psn rq_psn{};
  std::uint32_t access = hca::kRemoteWrite | hca::kRemoteRead | hca::kRemoteAtomic;
  std::uint8_t max_reads_out = 4;
  std::uint8_t max_reads_in = 4;
  std::uint8_t rnr_timer = 1;     // 10 us
  std::uint8_t ack_timeout = 10;  // 4.2 ms
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
};

// A program with connected queue pairs on a simulated network: what src/host and src/port/udp are
// in the real world, in one class and in virtual time. Queue pairs whose numbers agree in the low
// 16 bits share a socket.
class ConnectedHost {
 public:
  static constexpr hca::PdHandle kPd = 1;

  ConnectedHost(Scheduler& scheduler, Network& network, Random random,
                const ConnectedHostConfig& config);

  [[nodiscard]] const Gid& gid() const { return config_.gid; }
  [[nodiscard]] MutableBytes memory() { return memory_; }
  [[nodiscard]] hca::MemoryTable& memory_table() { return table_; }
  // Registers memory()[offset, offset + length), whose addresses are those of the process.
  hca::MemoryRegion add_region(std::size_t offset, std::size_t length, std::uint32_t access);
  [[nodiscard]] std::uint64_t address(std::size_t offset) const;

  // A queue pair in the reset state, in kPd.
  hca::ConnectedQueuePair& add(hca::ConnectedConfig config, hca::ReceiveSource* shared = nullptr,
                               hca::XrcQueues* queues = nullptr);
  [[nodiscard]] hca::ConnectedQueuePair& queue_pair(Qpn qpn) { return *at(qpn).queue_pair; }
  // From the reset state through INIT and RTR to RTS (XRC targets have no send queue but go there
  // too). The first may be had alone, so that receives can be posted between.
  Expected<void> initialize(Qpn qpn, const ConnectionSetup& setup);
  Expected<void> connect(Qpn qpn, const Gid& gid, Qpn peer, const ConnectionSetup& setup);
  Expected<void> modify(Qpn qpn, const hca::QpAttributes& attributes, std::uint32_t mask);

  std::errc post_send(Qpn qpn, const hca::SendRequest& request);
  std::errc post_receive(Qpn qpn, const hca::ReceiveRequest& request);
  // After the queue pair was used otherwise, or a shared receive queue was filled.
  void look_at(Qpn qpn);
  // What it puts its completions into: for shared receive queues of XRC targets.
  [[nodiscard]] hca::CompletionSink& completions() { return sink_; }
  // The process is gone: nothing is read, nothing is sent.
  void vanish() { vanished_ = true; }

  // Called in virtual time with each completion, some while after it was made, and with QpEvents.
  std::function<void(const hca::Completion&)> on_completion;
  std::function<void(Qpn, std::uint32_t)> on_events;
  // May look at, change or refuse what a queue pair is about to hand to the wire.
  std::function<hca::SendResult(Qpn, const hca::Burst&)> on_send;

  [[nodiscard]] std::uint64_t bad_icrc() const { return bad_icrc_; }
  [[nodiscard]] std::uint64_t misdirected() const { return misdirected_; }
  // Rules between an engine and its port that a queue pair has broken: none, unless it has a bug.
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  class Sink final : public hca::CompletionSink {
   public:
    explicit Sink(ConnectedHost& host) : host_(host) {}
    void complete(const hca::Completion& completion) override { host_.complete(completion); }

   private:
    ConnectedHost& host_;
  };
  struct Attached {
    std::unique_ptr<hca::ConnectedQueuePair> queue_pair;
    std::size_t socket = 0;
    std::optional<Time> wake_at;
    bool pump_due = false;
    bool received = false;         // since the last end_run
    std::uint32_t idle_wakes = 0;  // in one moment
  };
  static std::uint16_t port_of(Qpn qpn) { return static_cast<std::uint16_t>(qpn.value()); }

  Attached& at(Qpn qpn);
  std::size_t socket_for(std::uint16_t port);
  void complete(const hca::Completion& completion);
  void poll();
  void pump(Attached& attached);
  void pump_soon(Qpn qpn);
  void after_call(Attached& attached);
  void wake_at(Attached& attached, Time when);
  void read_one(std::size_t socket);
  void receive(const Run& run, Bytes datagram);
  void end_run(std::size_t socket);
  hca::SendResult send(const Attached& attached, const hca::Burst& burst);
  void check(const hca::Burst& burst);
  void complain(std::string what);

  Scheduler& scheduler_;
  Network& network_;
  ConnectedHostConfig config_;
  SeededEntropy entropy_;
  std::vector<std::byte> memory_;
  hca::MemoryTable table_;
  hca::CompletionQueue completions_;
  Sink sink_;
  std::map<std::uint32_t, Attached> attached_;    // by queue pair number
  std::map<std::uint16_t, std::size_t> by_port_;  // numbers of sockets
  hca::Burst scratch_;
  bool poll_due_ = false;
  bool vanished_ = false;
  std::uint64_t bad_icrc_ = 0;
  std::uint64_t misdirected_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace weft::sim
