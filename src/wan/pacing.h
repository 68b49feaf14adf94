// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace weft::wan {

struct PacingSettings {
  std::uint64_t most_bytes_per_s = 0;            // the user's limit; 0: none
  bool adapt = false;                            // to what the path shows; else always the limit
  std::uint64_t first_bytes_per_s = 12'500'000;  // where adapting begins
  std::uint64_t least_bytes_per_s = 125'000;     // and never goes below; not 0
  // How much longer than at its shortest the way may take, not 0; or an eighth of the round trip,
  // where that is more.
  Duration queue = 5ms;
};

// What the far end has seen since it said so last. `delay` is the least time from there to here of
// these packets by two clocks that need not agree: only how it changes counts.
struct PathFeedback {
  std::uint64_t bytes = 0;    // that arrived
  std::uint64_t packets = 0;  // that arrived
  std::uint64_t marked = 0;   // of them, with congestion experienced (ECN)
  std::uint64_t lost = 0;     // packets that did not arrive
  std::optional<Duration> delay;
  Duration round_trip = 0ns;  // of something small, with what the far end waits before it tells
};

// When packets may go into a WAN: with gaps between them, so that what is nobody's fault but the
// sender's, a full queue on the way, does not drop any. The rate is the user's; or it is adapted
// once a round trip: doubled until the path shows a queue or a mark, then raised by little while
// there is neither. Where there is a queue, it is the rate at which packets do arrive, and a little
// more or less, so that the queue comes to about half of what it may be: to more where the rate is
// low, and to less where it is high, so that of several senders who see the same queue the slower
// ones become faster. A queue that does not drain although this sender gives way belongs to others
// who never do, as TCP; it then takes the share that one of those would (RFC 9438), until the queue
// is gone. Marks cost a share of the rate
// that follows how many there are, as in RFC 8257 (DCTCP). Loss counts when it is more than one
// packet in fifty: there is recovery for what a WAN loses by itself, and giving way to that gains
// nobody anything. What arrives of a sender that had no processor for a while, or nothing to send,
// is less than the path can carry: then it is the rate that is changed a little, and not what
// arrives.
class Pacer {
 public:
  // So much of the time is made up for when the sender is woken late.
  static constexpr Duration kMostLate = 1ms;
  // What leaves in one call, as time at the rate.
  static constexpr Duration kRun = 50us;

  Pacer(const PacingSettings& settings, Time now);

  // Whether a packet, or a run of them, may leave now; when the next may.
  [[nodiscard]] bool admits(Time now) const { return now >= free_; }
  [[nodiscard]] Time next() const { return free_; }
  // Bytes that may leave together; more than that may only be one packet.
  [[nodiscard]] std::size_t run() const;
  // So many have left. `limited`: there was more to send.
  void sent(std::size_t bytes, bool limited, Time now);

  void feedback(const PathFeedback& feedback, Time now);

  // Bytes per second; nothing where there is no limit.
  [[nodiscard]] std::optional<std::uint64_t> rate() const;
  // How long the queue on the way was in the last round.
  [[nodiscard]] Duration queue() const { return queue_; }

 private:
  struct Round {
    Time begin{};
    PathFeedback sum;
    bool limited = false;
    Duration unused = 0ns;  // in which more might have left than did
  };
  void end_round(Time now);
  // A time in which nothing left, though it might have: there was no processor for this end, or
  // nothing to send. What is made up for is none.
  void look_at_gap(Time now);
  void give_way(double arrived, double keep);
  void grow(double arrived);
  void hold_queue(double arrived, double lasted);
  void look_at_crowd(double keep, double lasted);
  void give_way_competing(double arrived, Time now);
  void compete(Time now);
  [[nodiscard]] Duration queue_of(const PathFeedback& saw) const;
  [[nodiscard]] Duration longest_queue() const;
  [[nodiscard]] double most_growth() const;
  [[nodiscard]] Duration wanted_queue() const;
  // Bytes per second that the path can carry, as far as that is known.
  [[nodiscard]] double carried(double arrived) const;
  void set(double bytes_per_s);
  [[nodiscard]] bool looks_for_least_delay(double arrived, Time now);
  void fall_silent(Time now);

  PacingSettings settings_;
  double rate_ = 0;  // bytes per second; 0: no limit
  Time free_{};
  Round round_;
  bool starting_ = true;   // no queue and no mark has been seen yet
  bool gave_way_ = false;  // in the last round
  bool had_gaps_ = false;  // the same: much of it was not used
  bool asked_ = true;      // the path for all that the rate allows, as far as what arrives tells
  Time gaps_until_{};      // are in a round
  double full_ = 0;        // bytes per second that arrived when the path was last full
  double marked_ = 1;      // share of marked packets, smoothed (alpha of RFC 8257)
  Duration queue_ = 0ns;
  Duration least_now_ = Duration::max();  // of this span of time, and of the one before
  Duration least_before_ = Duration::max();
  Time least_since_{};
  // A queue that is too long.
  struct Crowd {
    Duration begin{};      // how long it was at first
    double drained = 0;    // seconds by which this sender alone would have made it shorter
    double given_way = 0;  // the same, of the round that has begun
    double rate = 0;       // bytes per second at first
  };
  std::optional<Crowd> crowd_;
  bool competing_ = false;
  Time gave_way_at_{};            // while it competes
  Duration round_trip_ = 0ns;     // of the last round
  std::optional<double> resume_;  // the rate, after the rounds that drain the queue
  int looks_ = 0;                 // such rounds that are left
  Time look_at_{};                // when the last of them began
  Time heard_{};                  // or slowed down because nothing was
  Duration patience_ = 1s;
};

}  // namespace weft::wan
