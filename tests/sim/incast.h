// SPDX-License-Identifier: Apache-2.0
// Connections that share a narrow link.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/connected_host.h"

namespace weft::sim::test {

inline constexpr std::size_t kMessage = 65'536;
inline constexpr std::uint32_t kDepth = 16;
inline constexpr Bottleneck kNarrow{.rate_bytes_per_s = 50'000'000, .queue = 1'000'000};
inline constexpr Duration kDelay = 50us;  // one way
// Without it a run always meets the queue at the same height, and one flow loses for the other
// (phase effects, Floyd and Jacobson 1992).
inline constexpr Duration kJitter = 100us;
inline constexpr Time kWarm{1s};
inline constexpr Time kEnd{6s};

inline const Gid kReceiver = Gid::from_ipv4(0x0A000001);

// Senders that write to one receiver without pause, each over a connection of its own.
class Incast {
 public:
  // `ecn`: packets are capable of it. `delay`: one way.
  Incast(std::size_t senders, std::uint64_t seed, const Bottleneck& bottleneck, bool ecn = false,
         Duration delay = kDelay)
      : ecn_(ecn),
        random_(seed),
        network_(scheduler_, random_.fork(), {.delay = delay, .jitter = kJitter}) {
    const Gid there = kReceiver;
    network_.narrow(there, bottleneck);
    hosts_.push_back(make_host(there));
    const auto region = hosts_[0]->add_region(0, kMessage, kAll);
    for (std::uint32_t i = 0; i < senders; ++i) {
      hosts_.push_back(make_host(Gid::from_ipv4(0x0A000100 + i)));
      senders_.push_back({.qpn = Qpn{0xD000}, .target = RKey{region.key}});
      Sender& sender = senders_.back();
      sender.source = hosts_.back()->add_region(0, kMessage, kAll).key;
      const Qpn peer{0xC000 + i};
      add(*hosts_[0], peer);
      add(*hosts_.back(), sender.qpn);
      connect(*hosts_[0], peer, hosts_.back()->gid(), sender.qpn);
      connect(*hosts_.back(), sender.qpn, there, peer);
    }
    for (std::size_t i = 0; i < senders; ++i) {
      hosts_[i + 1]->on_completion = [this, i](const hca::Completion& c) { completed(i, c); };
      const auto late = std::chrono::microseconds(random_.below(5'000));
      scheduler_.after(late, [this, i] {
        for (std::uint32_t n = 0; n < kDepth; ++n)
          post(i);
      });
    }
  }
  void narrow_way_back(const Bottleneck& bottleneck) {
    for (std::size_t i = 1; i < hosts_.size(); ++i)
      network_.narrow(hosts_[i]->gid(), bottleneck);
  }
  void run(Time end = kEnd) { scheduler_.run_until(end); }
  // Of all senders, and of all of the receiver's ends.
  [[nodiscard]] std::uint64_t at_senders(hca::ConnectedCounter which) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < senders_.size(); ++i)
      sum += count(*hosts_[i + 1], senders_[i].qpn, which);
    return sum;
  }
  [[nodiscard]] std::uint64_t at_receiver(hca::ConnectedCounter which) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < senders_.size(); ++i)
      sum += count(*hosts_[0], Qpn{0xC000 + i}, which);
    return sum;
  }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  // Bytes of each sender between kWarm and kEnd.
  [[nodiscard]] std::vector<double> bytes() const {
    std::vector<double> all;
    for (const Sender& sender : senders_)
      all.push_back(static_cast<double>(sender.counted) * kMessage);
    return all;
  }

 private:
  static constexpr std::uint32_t kAll = hca::kLocalWrite | hca::kRemoteWrite;
  struct Sender {
    Qpn qpn{};
    RKey target{};
    std::uint32_t source = 0;
    std::uint64_t counted = 0;
  };
  std::unique_ptr<ConnectedHost> make_host(const Gid& gid) {
    return std::make_unique<ConnectedHost>(
        scheduler_, network_, random_.fork(),
        ConnectedHostConfig{.gid = gid, .socket_buffer = 4 << 20, .memory = kMessage});
  }
  static std::uint64_t count(ConnectedHost& host, Qpn qpn, hca::ConnectedCounter which) {
    return host.queue_pair(qpn).connection().counters.get(which);
  }
  void add(ConnectedHost& host, Qpn qpn) const {
    hca::ConnectedConfig config{};
    config.qpn = qpn;
    config.max_sends = kDepth;
    config.max_receives = 1;
    config.extensions = true;
    config.ecn = ecn_;
    config.receive_budget = 2 << 20;
    host.add(config);
  }
  static void connect(ConnectedHost& host, Qpn qpn, const Gid& gid, Qpn peer) {
    ConnectionSetup setup;
    setup.ack_timeout = 14;
    const auto done = host.connect(qpn, gid, peer, setup);
    ASSERT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  }
  void post(std::size_t i) {
    const Sender& sender = senders_[i];
    const hca::Sge piece{
        .address = hosts_[i + 1]->address(0), .length = kMessage, .lkey = LKey{sender.source}};
    hca::SendRequest request{};
    request.opcode = hca::SendOpcode::kRdmaWrite;
    request.signaled = true;
    request.pieces = {&piece, 1};
    request.remote_address = hosts_[0]->address(0);
    request.rkey = sender.target;
    EXPECT_EQ(hosts_[i + 1]->post_send(sender.qpn, request), std::errc{});
  }
  void completed(std::size_t i, const hca::Completion& completion) {
    ASSERT_EQ(completion.status, hca::CompletionStatus::kSuccess);
    senders_[i].counted += scheduler_.now() >= kWarm ? 1 : 0;
    post(i);
  }

  bool ecn_;
  Random random_;
  Scheduler scheduler_;
  Network network_;
  std::vector<std::unique_ptr<ConnectedHost>> hosts_;
  std::vector<Sender> senders_;
};

inline double sum(const std::vector<double>& values) {
  double all = 0;
  for (const double value : values)
    all += value;
  return all;
}

inline double jain(const std::vector<double>& rates) {
  double squares = 0;
  for (const double rate : rates)
    squares += rate * rate;
  return sum(rates) * sum(rates) / (static_cast<double>(rates.size()) * squares);
}

// Bytes that the link can carry in the time that is measured.
inline double capacity() {
  return std::chrono::duration<double>(kEnd - kWarm).count() *
         static_cast<double>(kNarrow.rate_bytes_per_s);
}

}  // namespace weft::sim::test
