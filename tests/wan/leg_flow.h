// SPDX-License-Identifier: Apache-2.0
// A sender that always has frames for a remote, at a rate that it adapts, and the remote, on a
// simulated network: both ends of a bundle with one leg.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sim/network.h"
#include "sim/scheduler.h"
#include "wan/frame.h"
#include "wan/path_bundle.h"
#include "wire/ip.h"

namespace weft::wan::test {

class NetworkPath final : public Path {
 public:
  NetworkPath(sim::Scheduler& scheduler, sim::Network& network, const sim::Address& own,
              const sim::Address& there, std::size_t frame, std::function<void()> readable)
      : scheduler_(scheduler),
        network_(network),
        there_(there),
        frame_(frame),
        socket_(network.open(own, std::size_t{1} << 30, std::move(readable))) {}

  [[nodiscard]] bool established() const override { return true; }
  [[nodiscard]] bool ready() const override {
    return network_.when_writable(socket_) <= scheduler_.now();
  }
  [[nodiscard]] std::size_t longest_frame() const override { return frame_; }
  void send(std::span<const OutFrame> frames, Time) override {
    for (const OutFrame& frame : frames) {
      std::vector<std::byte> datagram;
      datagram.reserve(frame.size);
      for (const Bytes part : frame.parts)
        datagram.insert(datagram.end(), part.begin(), part.end());
      static_cast<void>(
          network_.send(socket_, sim::Run{{}, there_, {std::move(datagram)}, wire::kEcnCapable}));
    }
  }
  // What has come, to a bundle, and its frames to `take`; but no more than an extender reads before
  // it does something else. Returns bytes of frames.
  std::uint64_t read_into(
      PathBundle& bundle, const std::function<void(Bytes)>& take = [](Bytes) {}) {
    constexpr std::uint64_t kTurn = std::uint64_t{128} << 10;
    std::uint64_t bytes = 0;
    while (readable() && bytes < kTurn) {
      const sim::Run run = network_.read(socket_);
      const bool marked = (run.traffic_class & wire::kEcnBits) == wire::kCongestionExperienced;
      for (const auto& datagram : run.datagrams) {
        const Bytes frame = bundle.receive(datagram, marked, scheduler_.now());
        bytes += frame.size();
        if (!frame.empty()) take(frame);
      }
    }
    return bytes;
  }
  [[nodiscard]] bool readable() const { return network_.readable(socket_); }
  [[nodiscard]] Time writable() const { return network_.when_writable(socket_); }

 private:
  sim::Scheduler& scheduler_;
  sim::Network& network_;
  const sim::Address there_;
  const std::size_t frame_;
  const std::size_t socket_;
};

class LegFlow {
 public:
  // Between two hosts of the network; its datagrams are of `frame` bytes.
  LegFlow(sim::Scheduler& scheduler, sim::Network& network, const Gid& from, const Gid& to,
          std::size_t frame, const PacingSettings& pacing = {.adapt = true})
      : scheduler_(scheduler),
        near_(scheduler, network, {from, kPort}, {to, port_of(from)}, frame, [this] { wake(); }),
        far_(scheduler, network, {to, port_of(from)}, {from, kPort}, frame, [this] { wake(); }),
        source_(carriers(near_), {.watched = true, .pacing = pacing}, scheduler.now()),
        sink_(carriers(far_), {}, scheduler.now()),
        frame_(frame - LegHead::kSize, std::byte{FrameHead::kVersion}) {
    wake();
  }

  // Bytes of frames that have arrived.
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
  [[nodiscard]] const Leg& leg() const { return *source_.legs().front(); }
  [[nodiscard]] std::uint64_t count(std::string_view counter) const {
    for (const CounterValue& value : leg().counters())
      if (value.name == counter) return value.value;
    return ~std::uint64_t{0};
  }
  void stop() { stopped_ = true; }
  // One of the ends has no processor until then, and finds later what has come meanwhile.
  void hold_up_sender(Time until) { near_held_ = std::max(near_held_, until); }
  void hold_up_receiver(Time until) { far_held_ = std::max(far_held_, until); }

 private:
  static constexpr std::uint16_t kPort = 7471;
  static constexpr Duration kTurnTime = 50us;  // that a turn of much to read takes
  static std::uint16_t port_of(const Gid& from) {
    return static_cast<std::uint16_t>(kPort + (from.ipv4() & 0xFF));
  }
  static std::array<Path*, 1> only(Path& path) { return {&path}; }
  std::span<Path* const> carriers(Path& path) {
    (&path == &near_ ? near_path_ : far_path_) = &path;
    return {&path == &near_ ? &near_path_ : &far_path_, 1};
  }

  void wake() { run(); }
  void run() {
    const Time now = scheduler_.now();
    std::optional<Time> next;
    const auto earlier = [&](std::optional<Time> when) {
      if (when && (!next || *when < *next)) next = when;
    };
    if (now >= near_held_) {
      near_.read_into(source_);
      source_.run(now);
      send(now);
      earlier(source_.deadline());
      if (!near_.ready()) earlier(near_.writable());
      if (near_.readable()) earlier(now + kTurnTime);
    } else {
      earlier(near_held_);
    }
    if (now >= far_held_) {
      arrived_ += far_.read_into(sink_);
      sink_.run(now);
      earlier(sink_.deadline());
      if (far_.readable()) earlier(now + kTurnTime);
    } else {
      earlier(far_held_);
    }
    if (next && (!alarm_ || *next < *alarm_ || *alarm_ <= now)) {
      alarm_ = std::max(*next, now + 1ns);
      scheduler_.at(*alarm_, [this, at = *alarm_] {
        if (alarm_ == at) run();
      });
    }
  }
  void send(Time now) {
    while (!stopped_ && source_.ready()) {
      const Bytes whole(frame_);
      const OutFrame frame{.parts = {&whole, 1}, .size = whole.size()};
      std::array<OutFrame, 16> frames;
      frames.fill(frame);
      const std::size_t count = std::clamp<std::size_t>(source_.burst() / frame.size, 1, 16);
      source_.send(std::span(frames).first(count), now);
    }
  }

  sim::Scheduler& scheduler_;
  Path* near_path_ = nullptr;
  Path* far_path_ = nullptr;
  NetworkPath near_;
  NetworkPath far_;
  PathBundle source_;
  PathBundle sink_;
  std::vector<std::byte> frame_;
  std::uint64_t arrived_ = 0;
  std::optional<Time> alarm_;
  Time near_held_{};
  Time far_held_{};
  bool stopped_ = false;
};

}  // namespace weft::wan::test
