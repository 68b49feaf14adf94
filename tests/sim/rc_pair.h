// SPDX-License-Identifier: Apache-2.0
// Two hosts and one connection between them, for tests that say themselves what is posted.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "sim/connected_host.h"

namespace weft::sim::test {

struct PairOptions {
  Faults faults{};
  ConnectionSetup setup{};
  hca::QpType service = hca::QpType::kRc;
  bool extensions = true;
  bool lossless = false;
  std::size_t memory = 1 << 20;
  std::size_t socket_buffer = 425'984;
  std::uint32_t receive_budget = 132'000;
  std::uint32_t depth = 64;
  std::uint64_t seed = 1;
  Duration read_time = 2us;  // as in ConnectedHostConfig
  Duration poll_time = 5us;
  Duration keep_alive{};  // zero: none
};

class RcPair {
 public:
  static constexpr Qpn kQpn[2] = {Qpn{0xC000}, Qpn{0xD000}};
  static constexpr std::uint32_t kAll =
      hca::kLocalWrite | hca::kRemoteWrite | hca::kRemoteRead | hca::kRemoteAtomic;

  explicit RcPair(const PairOptions& options = {})
      : options_(options), network_(scheduler_, Random(options.seed), options.faults) {
    for (int i = 0; i < 2; ++i) {
      hosts_[i] = std::make_unique<ConnectedHost>(
          scheduler_, network_, Random(options.seed * 2 + static_cast<unsigned>(i)),
          ConnectedHostConfig{.gid = Gid::from_ipv4(0x0A000001 + static_cast<std::uint32_t>(i)),
                              .socket_buffer = options.socket_buffer,
                              .memory = options.memory,
                              .read_time = options.read_time,
                              .poll_time = options.poll_time});
      regions_[i] = hosts_[i]->add_region(0, options.memory, kAll);
      hca::ConnectedConfig config{};
      config.qpn = kQpn[i];
      config.type = options.service;
      config.max_sends = options.depth;
      config.max_receives = options.depth;
      config.max_send_pieces = 2;
      config.max_receive_pieces = 2;
      config.extensions = options.extensions;
      config.lossless = options.lossless;
      config.receive_budget = options.receive_budget;
      config.keep_alive = options.keep_alive;
      hosts_[i]->add(config);
      hosts_[i]->on_completion = [this, i](const hca::Completion& c) {
        completions_[i].push_back(c);
        if (on_completion) on_completion(i, c);
      };
      hosts_[i]->on_events = [this, i](Qpn, std::uint32_t events) { events_[i] |= events; };
    }
  }

  void connect() {
    for (int i = 0; i < 2; ++i) {
      const auto done =
          hosts_[i]->connect(kQpn[i], hosts_[1 - i]->gid(), kQpn[1 - i], options_.setup);
      ASSERT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    }
  }

  [[nodiscard]] ConnectedHost& host(int i) { return *hosts_[i]; }
  [[nodiscard]] hca::ConnectedQueuePair& queue_pair(int i) {
    return hosts_[i]->queue_pair(kQpn[i]);
  }
  [[nodiscard]] const hca::MemoryRegion& region(int i) const { return regions_[i]; }
  [[nodiscard]] hca::Sge piece(int i, std::size_t offset, std::size_t length) const {
    return {.address = hosts_[i]->address(offset),
            .length = static_cast<std::uint32_t>(length),
            .lkey = LKey{regions_[i].key}};
  }

  std::errc post_receive(int i, std::uint64_t wr_id, std::size_t offset, std::size_t length) {
    const std::array pieces{piece(i, offset, length)};
    return hosts_[i]->post_receive(kQpn[i], {.wr_id = wr_id, .pieces = pieces});
  }
  // From or to [offset, offset + length) of both.
  std::errc post(int i, std::uint64_t wr_id, hca::SendOpcode opcode, std::size_t offset,
                 std::size_t length, bool signaled = true) {
    const std::array pieces{piece(i, offset, length)};
    hca::SendRequest request{};
    request.wr_id = wr_id;
    request.opcode = opcode;
    request.signaled = signaled;
    request.pieces = pieces;
    request.remote_address = hosts_[1 - i]->address(offset);
    request.rkey = RKey{regions_[1 - i].key};
    return hosts_[i]->post_send(kQpn[i], request);
  }

  bool run(Duration most = 60s) { return scheduler_.run_until(scheduler_.now() + most); }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] const std::vector<hca::Completion>& completions(int i) const {
    return completions_[i];
  }
  [[nodiscard]] std::uint32_t events(int i) const { return events_[i]; }
  [[nodiscard]] std::uint64_t counter(int i, hca::ConnectedCounter which) {
    return queue_pair(i).connection().counters.get(which);
  }
  void forget_completions() {
    for (auto& list : completions_)
      list.clear();
  }

  std::function<void(int, const hca::Completion&)> on_completion;

 private:
  PairOptions options_;
  Scheduler scheduler_;
  Network network_;
  std::array<std::unique_ptr<ConnectedHost>, 2> hosts_;
  std::array<hca::MemoryRegion, 2> regions_;
  std::array<std::vector<hca::Completion>, 2> completions_;
  std::array<std::uint32_t, 2> events_{};
};

}  // namespace weft::sim::test
