// SPDX-License-Identifier: Apache-2.0
// Two programs that carry out a plan over a network, and the comparison of what happened with what
// the plan says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hca/shared_receive_queue.h"
#include "rc_plan.h"
#include "sim/connected_host.h"

namespace weft::sim::test {

struct WorldOptions {
  PlanOptions plan{};
  Faults faults{};
  ConnectionSetup setup{};
  bool extensions = true;
  bool near_wrap = false;  // PSNs begin just before 2^24
  std::size_t socket_buffer = 425'984;
  std::uint32_t depth = 64;          // of the send and receive queues
  std::uint64_t batch = 16;          // posted at a moment, at most
  Duration pause = 20us;             // between such moments, at most
  Duration receives_late = 0us;      // before the first receive is posted, at most
  std::uint64_t receive_batch = 64;  // receives posted at a moment
  bool one_socket = false;           // all queue pairs of a host share one
};

class RcWorld {
 public:
  static constexpr Time kEnd{600s};  // of virtual time: nothing takes so long unless it is stuck

  RcWorld(std::uint64_t seed, const WorldOptions& options);

  // Runs until all is over. What is wrong, if anything, is told through gtest.
  void run();
  // Everything that the plan says, whatever the network did. Reliable connections only.
  void check();
  // For unreliable connections: what did arrive is right, and nothing else was written.
  void check_unreliable();

  [[nodiscard]] bool gave_up() const { return gave_up_; }  // a retry count was exceeded
  [[nodiscard]] Time last_completion() const { return last_completion_; }
  [[nodiscard]] std::uint64_t counter(hca::ConnectedCounter which) const;
  [[nodiscard]] const NetworkCounts& network() const { return network_.counts(); }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] ConnectedHost& host(int i) { return *hosts_[i]; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] Network& wire() { return network_; }
  [[nodiscard]] static Qpn qpn(int host, std::size_t connection, bool one_socket);

 private:
  struct End {
    int host = 0;
    std::size_t connection = 0;
    Qpn qpn{};
    EndPlan* plan = nullptr;
    std::vector<RKey> windows;  // each with the key that it has, or had last
    std::size_t posted = 0;     // operations
    std::size_t receives_posted = 0;
    std::size_t completed = 0;  // operations, by the last completion
    std::size_t arrived = 0;
    bool failed = false;
  };
  void open(const WorldOptions& options, int host);
  void open_windows(End& end);
  [[nodiscard]] hca::WindowBinding binding_of(const End& end, std::size_t window) const;
  void name_window(const End& end, const Operation& op, hca::SendRequest& request) const;
  [[nodiscard]] static bool waits_for_window(const End& end);
  [[nodiscard]] bool is_bound(const End& end, std::size_t window) const;
  void post_sends(End& end);
  bool post_one(End& end, std::size_t n);
  void post_receives(End& end);
  void post_shared_receives(int host);
  [[nodiscard]] bool abandoned() const;
  [[nodiscard]] hca::ReceiveRequest receive_request(int host, std::uint64_t n,
                                                    const Receive& receive,
                                                    std::vector<hca::Sge>& pieces) const;
  void take_completion(int host, const hca::Completion& completion);
  void take_sent(End& end, const hca::Completion& completion);
  void take_received(End& end, const hca::Completion& completion);
  void take_shared(End& end, const hca::Completion& completion);
  void take_unreliable(End& end, const hca::Completion& completion);
  void take_error(End& end, const hca::Completion& completion);
  void compare_memory(int host);
  void expect_content(int host, const Receive& receive);
  [[nodiscard]] std::vector<std::byte> sent_bytes(int host, const std::vector<Range>& source);
  void except(int host, const Range& range);
  [[nodiscard]] hca::Sge piece(int host, const Range& range) const;
  [[nodiscard]] End& end_of(int host, Qpn qpn);
  [[nodiscard]] Duration some_time(Duration most);

  // The one shared receive queue of a host, as XRC packets name it.
  class OnlyQueue final : public hca::XrcQueues {
   public:
    static constexpr Qpn kNumber{77};
    Found found;
    [[nodiscard]] Found find(Qpn number) override { return number == kNumber ? found : Found{}; }
  };

  WorldOptions options_;
  Random random_;
  Plan plan_;
  Scheduler scheduler_;
  Network network_;
  std::unique_ptr<ConnectedHost> hosts_[2];
  hca::MemoryRegion local_[2];  // all memory
  hca::MemoryRegion shared_words_[2];
  std::vector<hca::MemoryRegion> target_[2];  // of each end
  std::vector<hca::MemoryRegion> words_[2];
  std::unique_ptr<hca::SharedReceiveQueue> shared_[2];
  OnlyQueue xrc_queues_[2];
  std::size_t shared_posted_[2] = {0, 0};
  std::vector<bool> shared_used_[2];
  std::vector<End> ends_[2];
  std::vector<std::byte> inline_scratch_;
  bool gave_up_ = false;
  std::uint64_t received_ = 0;
  Time last_completion_{};
};

}  // namespace weft::sim::test
