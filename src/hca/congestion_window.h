// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "hca/loss_noise.h"

namespace weft::hca {

// How much one connection may have in flight, in bytes by the cost rule of kPacketCost, and the
// round trip time of its path.
//
// Grows by slow start, then as CUBIC does (RFC 9438), but quickly while the round trip time shows
// that no queue builds up on the way. A loss is taken for congestion when the round trip time has
// been inflated for a round trip, when more than about one packet in fifty is lost, and otherwise
// unless the window still grows quickly for the first time, so that either would soon show, or the
// path has been seen to lose packets anyway (LossNoise): giving way to those gains nobody anything.
// What is taken for congestion, or is said to be by the network, costs a seventh of the window, and
// what had been sent by then costs nothing more. Then growth is CUBIC's alone for a while, so that
// flows which share a path come to equal shares.
//
// A wire that is lossless, a fabric with credits, holds back who sends too much. On a long path
// over one the window is as large as the fastest that a sender can fill would need, from the first
// measured round trip on.
class CongestionWindow {
 public:
  // Two or three times what TCP begins with (RFC 6928): eight that begin at once do not flood a
  // queue that is made for TCP.
  static constexpr std::uint32_t kInitial = 32 * 1024;
  // More in flight gains nothing on the paths that a user-space sender can fill, but on lossless
  // ones of kLong and more.
  static constexpr std::uint32_t kMost = 1024 * 1024;
  // On those, bytes per second; and bytes however long the path is.
  static constexpr std::uint64_t kLosslessRate = 5'000'000'000;
  static constexpr std::uint32_t kMostLossless = 1024 * 1024 * 1024;
  // A round trip that queues in the sender's own machine do not explain.
  static constexpr Duration kLong = 1ms;

  // Forgets everything. `packet`: bytes of a full packet on the wire. `lossless`: what finds no
  // room on the way waits, and is not dropped.
  void start(std::uint32_t packet, bool lossless = false);

  [[nodiscard]] std::uint32_t bytes() const { return window_; }
  // How much of it may leave at once, so that a queue on the way need not hold more: about what the
  // path takes in a millisecond (RFC 9002, 7.7), two packets at least.
  [[nodiscard]] std::uint32_t run() const;

  // A measured round trip. `clean`: of a packet that waited for no work at the other end, so that
  // it tells of queues on the way.
  void sample(Duration round_trip, bool clean, Time now);
  // So many bytes in so many packets have arrived, as one acknowledgement tells. `limited`: the
  // sender would have sent more, had it been allowed to; else there is no need to grow.
  void delivered(std::uint64_t bytes, std::uint32_t packets, bool limited, Time now);
  // One packet that left at `sent_at` was lost on the way.
  void lost(Time sent_at, Time now);
  // The network says that it is congested (ECN, CNP).
  void congested(Time now);
  // Nothing came back for a whole timeout.
  void timed_out(Time now);

  // Smoothed as by RFC 6298; nothing before the first sample.
  [[nodiscard]] std::optional<Duration> round_trip() const { return smoothed_; }
  // The least one of the last ten to twenty seconds; zero before the first sample.
  [[nodiscard]] Duration least_round_trip() const;

 private:
  void fit_to(Duration shortest);
  void give_way(double keep, Time now);
  void take_back();
  void grow(std::uint64_t bytes, Time now);
  [[nodiscard]] double calm(Time now) const;
  [[nodiscard]] bool full_lately(Time now) const;
  [[nodiscard]] bool is_low() const;
  [[nodiscard]] bool finds_out(Time now) const;
  [[nodiscard]] double friendly_gain() const;
  [[nodiscard]] double reno_gain() const;
  [[nodiscard]] double cubic_time() const;
  [[nodiscard]] double cubic_target(Time now) const;
  [[nodiscard]] bool inflated() const;
  [[nodiscard]] bool queue_stands() const;
  [[nodiscard]] Duration clear_round_trip() const;
  [[nodiscard]] std::uint32_t least() const { return 2 * packet_; }
  void set(double window);

  std::uint32_t packet_ = 0;
  std::uint32_t window_ = kInitial;
  std::uint32_t most_ = kMost;
  bool lossless_ = false;
  Duration shortest_ = Duration::max();  // clean sample ever: no queue of ours makes it longer
  double fraction_ = 0;                  // of a byte, left over from growing
  bool slow_start_ = true;
  std::uint32_t grown_ = kInitial;  // the window when it had last grown by a quarter,
  Time grew_at_{};                  // and when; or the first sample
  std::optional<Time> gave_way_at_;
  std::optional<Time> full_at_;   // when the network, or losses, said last that the path was full
  bool in_doubt_ = false;         // the window gave way to what may have been noise,
  bool from_slow_start_ = false;  // and left slow start by that
  double before_ = 0;             // the window when it last gave way
  double start_ = 0;              // what that left of it
  Time epoch_{};                  // when growing began anew after that

  std::optional<Duration> smoothed_;
  std::optional<Duration> recent_;  // follows clean samples faster than smoothed_
  Duration least_now_ = Duration::max();
  Duration least_before_ = Duration::max();
  Time least_since_{};
  // The least clean samples of this round trip and of the one before.
  Duration round_least_ = Duration::max();
  Duration round_least_before_ = Duration::max();
  Time round_since_{};

  std::uint32_t packets_ = 0;  // delivered or lost lately
  std::uint32_t losses_ = 0;
  LossNoise noise_;
};

}  // namespace weft::hca
