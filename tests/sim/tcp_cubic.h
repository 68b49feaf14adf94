// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/network.h"
#include "sim/scheduler.h"

namespace weft::sim::test {

// A transfer without end by TCP with CUBIC (RFC 9438), to share a link with. What a rival can see
// of it is there: window, slow start with HyStart's delay test (RFC 9406), selective
// acknowledgements, timeouts. Handshake, receive window and delayed acknowledgements are not, and
// what is sent again is numbered anew.
class TcpCubic {
 public:
  TcpCubic(Scheduler& scheduler, Network& network, const Gid& from, const Gid& to)
      : scheduler_(scheduler), network_(network), to_{to, kPort} {
    source_ = network_.open({from, kPort}, kBuffer, [this] { take_acknowledgements(); });
    sink_ = network_.open(to_, kBuffer, [this] { take_segments(); });
  }
  void start() {
    heard_at_ = scheduler_.now();
    watch();
    send();
  }
  // Bytes that have arrived.
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] double window() const { return window_; }  // segments

 private:
  static constexpr std::uint16_t kPort = 5001;
  static constexpr std::size_t kBuffer = 8 << 20;
  static constexpr std::size_t kSegment = 1448;
  static constexpr std::size_t kMoreHeaders = 24;  // than UDP: TCP's, with timestamps
  static constexpr double kKeep = 0.7;
  static constexpr double kScale = 0.4;  // segments per second cubed
  static constexpr Duration kTimeout = 200ms;

  void take_segments() {
    while (network_.readable(sink_)) {
      Run run = network_.read(sink_);
      delivered_ += kSegment * run.datagrams.size();
      for (auto& segment : run.datagrams) {
        segment.resize(sizeof(std::uint64_t));
        static_cast<void>(network_.send(sink_, Run{{}, run.from, {std::move(segment)}}));
      }
    }
  }
  void take_acknowledgements() {
    while (network_.readable(source_)) {
      const Run run = network_.read(source_);
      for (const auto& datagram : run.datagrams) {
        std::uint64_t number = 0;
        std::copy_n(datagram.data(), sizeof number, reinterpret_cast<std::byte*>(&number));
        acknowledged(number);
      }
    }
    send();
  }
  void acknowledged(std::uint64_t number) {
    const auto found = sent_at_.find(number);
    if (found == sent_at_.end()) return;
    heard_at_ = scheduler_.now();
    const Duration round_trip = heard_at_ - found->second;
    sent_at_.erase(found);
    least_ = std::min(least_, round_trip);
    smoothed_ = smoothed_ == 0ns ? round_trip : (smoothed_ * 7 + round_trip) / 8;
    // Three later ones have overtaken it.
    while (!sent_at_.empty() && sent_at_.begin()->first + 3 <= number) {
      if (sent_at_.begin()->first >= recovered_) give_way();
      sent_at_.erase(sent_at_.begin());
    }
    if (number >= recovered_) grow(number, round_trip);
  }
  void give_way() {
    recovered_ = next_;
    slow_start_ = false;
    before_ = window_ < before_ ? window_ * (1 + kKeep) / 2 : window_;  // fast convergence
    window_ = std::max(2.0, window_ * kKeep);
    estimate_ = window_;
    epoch_ = scheduler_.now();
  }
  void grow(std::uint64_t number, Duration round_trip) {
    if (slow_start_) {
      window_ += 1;
      if (number >= round_end_) {
        round_end_ = next_;
        round_least_ = Duration::max();
        samples_ = 0;
      }
      round_least_ = std::min(round_least_, round_trip);
      const Duration queue = std::clamp<Duration>(least_ / 8, 4ms, 16ms);
      if (++samples_ == 8 && round_least_ > least_ + queue) leave_slow_start();
      return;
    }
    estimate_ += 3 * (1 - kKeep) / (1 + kKeep) / window_;
    const auto seconds = [](Duration d) { return std::chrono::duration<double>(d).count(); };
    const double k = std::cbrt(std::max(0.0, before_ * (1 - kKeep) / kScale));
    const double t = seconds(scheduler_.now() - epoch_ + smoothed_) - k;
    const double target = std::clamp(before_ + kScale * t * t * t, window_, 1.5 * window_);
    window_ = std::max(window_ + (target - window_) / window_, estimate_);
  }
  void leave_slow_start() {
    slow_start_ = false;
    before_ = estimate_ = window_;
    epoch_ = scheduler_.now() -
             Duration(static_cast<std::int64_t>(1e9 * std::cbrt(before_ * (1 - kKeep) / kScale)));
  }
  void watch() {
    scheduler_.after(kTimeout / 4, [this] {
      if (!sent_at_.empty() && scheduler_.now() - heard_at_ >= std::max(kTimeout, 2 * smoothed_)) {
        give_way();
        sent_at_.clear();
        window_ = 1;
        heard_at_ = scheduler_.now();
        send();
      }
      watch();
    });
  }
  void send() {
    while (static_cast<double>(sent_at_.size()) + 1 <= window_) {
      if (const Time when = network_.when_writable(source_); when > scheduler_.now()) {
        if (!waiting_)
          scheduler_.at(when, [this] {
            waiting_ = false;
            send();
          });
        waiting_ = true;
        return;
      }
      std::vector<std::byte> segment(kSegment + kMoreHeaders);
      std::copy_n(reinterpret_cast<const std::byte*>(&next_), sizeof next_, segment.data());
      sent_at_[next_++] = scheduler_.now();
      static_cast<void>(network_.send(source_, Run{{}, to_, {std::move(segment)}}));
    }
  }

  Scheduler& scheduler_;
  Network& network_;
  Address to_;
  std::size_t source_ = 0;
  std::size_t sink_ = 0;
  std::uint64_t delivered_ = 0;

  std::map<std::uint64_t, Time> sent_at_;  // what is neither acknowledged nor lost
  std::uint64_t next_ = 0;
  std::uint64_t recovered_ = 0;  // what was sent before gives way no more
  double window_ = 10;
  bool slow_start_ = true;
  bool waiting_ = false;  // for its own link
  double before_ = 0;     // window at the last congestion
  double estimate_ = 0;   // Reno's
  Time epoch_{};
  Time heard_at_{};
  Duration smoothed_{};
  Duration least_ = Duration::max();
  std::uint64_t round_end_ = 0;
  Duration round_least_ = Duration::max();
  unsigned samples_ = 0;
};

}  // namespace weft::sim::test
