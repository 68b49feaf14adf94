// SPDX-License-Identifier: Apache-2.0
// Some hosts that send datagrams to one (or to a group), each message known by its content.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sim/network.h"
#include "sim/scheduler.h"
#include "sim/seeds.h"
#include "sim/ud_host.h"
#include "wire/bth.h"

namespace weft::sim::test {

struct UdWorldOptions {
  Faults faults{};
  std::size_t senders = 1;
  std::size_t receivers = 1;     // more than one: multicast
  std::uint64_t messages = 300;  // of each sender
  std::uint64_t shortest = 12;   // bytes
  std::uint64_t longest = 4096;
  std::uint32_t receive_depth = 512;
  std::size_t socket_buffer = 425'984;
  std::uint32_t batch = 64;  // posted at once, at most
  Duration poll_time = 5us;
  bool credits = true;
  bool shared_receives = false;
  bool trace = false;
};

class UdWorld {
 public:
  static constexpr std::uint64_t kHeader = 12;  // sender, message
  static constexpr std::uint32_t kMtu = 4096;
  static constexpr std::uint32_t kSendDepth = 128;
  static constexpr QKey kKey{0x1234};
  static constexpr Time kEnd{60s};  // of virtual time: nothing takes so long unless it is stuck

  UdWorld(std::uint64_t seed, const UdWorldOptions& options)
      : options_(options),
        random_(seed),
        network_(scheduler_, random_.fork(), options.faults),
        content_seed_(random_.next()) {
    if (options.trace) network_.keep_trace();
    network_.is_credit = [](Bytes datagram) {
      return wire::Bth::parse(datagram)->opcode == wire::Opcode::weft_ud_credit;
    };
    for (std::size_t i = 0; i < options.receivers; ++i)
      add_receiver(i);
    for (std::size_t i = 0; i < options.senders; ++i)
      add_sender(i);
  }

  // False when something was still going on at the end of time.
  bool run() {
    for (std::size_t i = 0; i < senders_.size(); ++i)
      post_more(i);
    return scheduler_.run_until(kEnd);
  }

  [[nodiscard]] bool multicast() const { return options_.receivers > 1; }
  [[nodiscard]] std::uint64_t sent() const { return options_.senders * options_.messages; }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] std::uint64_t counter(hca::UdCounter which) {
    std::uint64_t sum = 0;
    for (const auto& host : receivers_)
      sum += host->queue_pair().counters().get(which);
    return sum;
  }
  [[nodiscard]] std::uint64_t sender_counter(hca::UdCounter which) {
    std::uint64_t sum = 0;
    for (const auto& sender : senders_)
      sum += sender.host->queue_pair().counters().get(which);
    return sum;
  }
  [[nodiscard]] const NetworkCounts& network() const { return network_.counts(); }
  [[nodiscard]] const std::string& trace() const { return network_.trace(); }
  [[nodiscard]] Time now() const { return scheduler_.now(); }
  [[nodiscard]] Time last_delivery() const { return last_delivery_; }

  // What holds whatever the network does.
  void check_invariants() {
    EXPECT_EQ(damaged_, 0u) << "a message arrived that nobody sent so";
    const std::uint64_t copies = multicast() ? sent() * options_.receivers : sent();
    EXPECT_LE(delivered_, copies + network().duplicated);
    if (network().duplicated == 0) {
      for (const auto& [message, times] : times_delivered_)
        EXPECT_LE(times, 1u) << "twice, though the network duplicated nothing";
    }
    for (const Sender& sender : senders_) {
      EXPECT_EQ(sender.posted, options_.messages);
      EXPECT_EQ(sender.host->queue_pair().queued_packets(), 0u) << "stuck";
      EXPECT_EQ(sender.completions, sender.expected) << "one for each signalled request, in order";
      EXPECT_EQ(sender.host->bad_icrc(), 0u);
    }
  }

 private:
  struct Sender {
    std::unique_ptr<UdHost> host;
    Random random{0};
    std::uint64_t posted = 0;
    std::vector<std::uint64_t> expected;  // signalled requests
    std::vector<std::uint64_t> completions;
  };

  static Gid group() { return Gid::from_ipv4(0xEF010203); }
  hca::UdConfig queue_pair_config(std::uint32_t qpn) const {
    return {.qpn = Qpn{qpn},
            .mtu = kMtu,
            .max_sends = kSendDepth,
            .max_receives = options_.receive_depth,
            .credits = options_.credits,
            .socket_bytes = static_cast<std::uint32_t>(options_.socket_buffer)};
  }

  void add_receiver(std::size_t i) {
    const std::size_t slot = hca::kGrhArea + kMtu;
    UdHostConfig config{.gid = Gid::from_ipv4(0x0A000001 + static_cast<std::uint32_t>(i)),
                        .queue_pair = queue_pair_config(0xC000),
                        .socket_buffer = options_.socket_buffer,
                        .memory = slot * options_.receive_depth,
                        .shared_receives = options_.shared_receives,
                        .poll_time = options_.poll_time};
    receivers_.push_back(std::make_unique<UdHost>(scheduler_, network_, random_.fork(), config));
    UdHost& host = *receivers_.back();
    host.start(kKey, Psn{0});
    if (multicast()) host.attach(group());
    for (std::uint32_t r = 0; r < options_.receive_depth; ++r)
      post_receive(host, r);
    host.on_completion = [this, i](const hca::Completion& c) { receive(i, c); };
  }

  void add_sender(std::size_t i) {
    UdHostConfig config{.gid = Gid::from_ipv4(0x0A010001 + static_cast<std::uint32_t>(i)),
                        .queue_pair = queue_pair_config(0xD000),
                        .socket_buffer = options_.socket_buffer,
                        .memory = std::size_t{kMtu} * kSendDepth};
    Sender sender;
    sender.host = std::make_unique<UdHost>(scheduler_, network_, random_.fork(), config);
    sender.random = random_.fork();
    sender.host->start(kKey, Psn{static_cast<std::uint32_t>(random_.next())});
    senders_.push_back(std::move(sender));
    senders_.back().host->on_completion = [this, i](const hca::Completion& c) {
      EXPECT_EQ(c.status, hca::CompletionStatus::kSuccess);
      senders_[i].completions.push_back(c.wr_id);
    };
  }

  void post_receive(UdHost& host, std::uint64_t slot) {
    const std::size_t size = hca::kGrhArea + kMtu;
    const std::array pieces{host.piece(slot * size, size)};
    ASSERT_EQ(host.post_receive({.wr_id = slot, .pieces = pieces}), std::errc{});
  }

  // The content of a message: who, which, and bytes that follow from both.
  void write_message(MutableBytes out, std::uint32_t sender, std::uint64_t message) const {
    std::memcpy(out.data(), &sender, 4);
    std::memcpy(out.data() + 4, &message, 8);
    Random content(content_seed_ ^ (std::uint64_t{sender} << 40) ^ message);
    for (std::size_t at = kHeader; at < out.size(); at += 8) {
      const std::uint64_t word = content.next();
      std::memcpy(out.data() + at, &word, std::min<std::size_t>(8, out.size() - at));
    }
  }

  void post_more(std::size_t i) {
    Sender& sender = senders_[i];
    const Gid to = multicast() ? group() : receivers_[0]->gid();
    const hca::Path path{.sgid = sender.host->gid(), .dgid = to};
    for (std::uint32_t n = 0; n < options_.batch && sender.posted < options_.messages; ++n) {
      if (sender.host->queue_pair().queued_packets() == kSendDepth) break;
      const std::uint64_t message = sender.posted++;
      const std::size_t offset = (message % kSendDepth) * kMtu;
      const std::uint64_t length = sender.random.between(options_.shortest, options_.longest);
      write_message(sender.host->memory().subspan(offset, length), static_cast<std::uint32_t>(i),
                    message);
      const std::array pieces{sender.host->piece(offset, length)};
      const bool signaled = sender.random.chance(0.5);
      if (signaled) sender.expected.push_back(message);
      ASSERT_EQ(
          sender.host->post_send({.wr_id = message,
                                  .signaled = signaled,
                                  .pieces = pieces,
                                  .path = &path,
                                  .remote_qpn = multicast() ? kMulticastQpn : receivers_[0]->qpn(),
                                  .remote_qkey = kKey}),
          std::errc{});
    }
    if (sender.posted < options_.messages) scheduler_.after(10us, [this, i] { post_more(i); });
  }

  void receive(std::size_t receiver, const hca::Completion& c) {
    UdHost& host = *receivers_[receiver];
    ASSERT_EQ(c.status, hca::CompletionStatus::kSuccess);
    const std::size_t size = hca::kGrhArea + kMtu;
    const Bytes payload =
        Bytes(host.memory()).subspan(c.wr_id * size + hca::kGrhArea, c.byte_length - hca::kGrhArea);
    last_delivery_ = scheduler_.now();
    ++delivered_;
    if (payload.size() < kHeader) {
      ++damaged_;
    } else {
      std::uint32_t sender = 0;
      std::uint64_t message = 0;
      std::memcpy(&sender, payload.data(), 4);
      std::memcpy(&message, payload.data() + 4, 8);
      std::vector<std::byte> expected(payload.size());
      write_message(expected, sender, message);
      if (!std::equal(payload.begin(), payload.end(), expected.begin())) ++damaged_;
      ++times_delivered_[{receiver, sender, message}];
    }
    post_receive(host, c.wr_id);
  }

  UdWorldOptions options_;
  Random random_;
  Scheduler scheduler_;
  Network network_;
  std::uint64_t content_seed_;
  std::vector<std::unique_ptr<UdHost>> receivers_;
  std::vector<Sender> senders_;
  std::map<std::tuple<std::size_t, std::uint32_t, std::uint64_t>, std::uint64_t> times_delivered_;
  std::uint64_t delivered_ = 0;
  std::uint64_t damaged_ = 0;
  Time last_delivery_{};
};

}  // namespace weft::sim::test
