// SPDX-License-Identifier: Apache-2.0
// Two ends that speak RC over a fabric in virtual time, with a service between them that shows
// neither the other's QP numbers and changes the P_Keys of both; links that lose and reorder
// packets, and a stranger who guesses.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "hca/completion_queue.h"
#include "hca/connected_queue_pair.h"
#include "packets.h"
#include "service/runtime.h"
#include "sim/scheduler.h"

namespace weft::service::test {

struct WorldOptions {
  std::uint64_t seed = 1;
  double loss = 0.01;
  double reorder = 0.02;
  std::size_t messages = 30;    // of each end
  std::size_t longest = 6'000;  // bytes
  bool policy_changes = true;   // now and then all paths are asked for again
  std::vector<Service*> services{};
};

class ServiceWorld final : private RuntimeUser, private PathAsker {
 public:
  explicit ServiceWorld(const WorldOptions& options);
  ~ServiceWorld() override;

  // Connects, exchanges messages, RDMA writes and reads, and disconnects. What is wrong; empty:
  // nothing.
  [[nodiscard]] std::vector<std::string> run();

  [[nodiscard]] const Runtime& runtime() const { return runtime_; }
  // Packets that came to an end with wrong CRCs, or a QP number or LID that is none of its own.
  [[nodiscard]] std::uint64_t bad() const { return bad_; }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] Time now() const { return scheduler_.now(); }

  // Each data packet when its end hands it to the fabric: which end, and it.
  std::function<void(int, Bytes)> on_sent;
  // And when it gets to the other end.
  std::function<void(int, Bytes)> on_received;

 private:
  struct End;

  // --- the runtime's ---
  void send(Bytes packet, std::uint8_t port, bool sealed) override;
  void mirror(Bytes packet, const Arrival& arrival) override;
  void publish(std::size_t service, Bytes record) override;
  void ask(std::uint64_t number, const PathQuestion& question) override;

  [[nodiscard]] Duration delay();
  void to_service(Buffer packet);
  void from_service(Buffer packet);
  void arrive(End& end, const Buffer& packet);
  void arrive_message(End& end, const Fields& fields, const Buffer& packet);
  void tick();
  void guess();

  template <class Message>
  void say(const End& from, const Message& message);
  void request();
  void connect(End& end, Qpn peer, Psn peer_psn);
  void disconnect();
  void pump(End& end);
  void wake(End& end, Time when);
  void post_more(End& end);
  void post_receives(End& end);
  void complete(End& end, const hca::Completion& completion);
  [[nodiscard]] bool all_done() const;
  void complain(std::string what) { wrong_.push_back(std::move(what)); }

  WorldOptions options_;
  Random random_;
  sim::Scheduler scheduler_;
  SeededEntropy entropy_;
  Runtime runtime_;
  std::array<std::unique_ptr<End>, 2> ends_;
  std::vector<std::string> wrong_;
  std::uint64_t bad_ = 0;
  std::uint64_t delivered_ = 0;
  bool finished_ = false;
  bool disconnecting_ = false;
};

}  // namespace weft::service::test
