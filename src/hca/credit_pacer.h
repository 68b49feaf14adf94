// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "hca/credit.h"

namespace weft::hca {

// The sending half of one flow. In flight is what was sent after the newest packet known to have
// arrived; a credit says how much of it the receiver has room for. No loss can stop a flow for
// good: without news for a while it goes on by itself.
//
// A packet uses up one of the peer's receive requests, or none: `receives` below is 1 or 0.
class CreditPacer {
 public:
  // What may go before the first credit: eight senders that start at once fit into the socket
  // buffer of a stock system together.
  static constexpr std::uint32_t kInitialReceives = 32;
  static constexpr std::uint32_t kInitialBytes = 32 * 1024;
  // The wait for a credit before going on without, at least: twice what credits have taken lately,
  // if that is more. It doubles with each wait in vain: a receiver that lost its CPU for a while
  // must not find more than its socket buffer holds.
  static constexpr Duration kPatience = 2ms;
  static constexpr Duration kMostPatience = 128ms;
  // A peer that never answered so often does not know how: it is sent to freely.
  static constexpr std::uint32_t kWaitsUntilBlind = 5;
  static constexpr Duration kIdle = 5ms;  // after which a credit is no longer believed

  CreditPacer() = default;
  explicit CreditPacer(Psn first) : next_(first), base_(first - 1) {}

  // How many packets that cost `bytes_each` may go now. Zero: wait until deadline().
  [[nodiscard]] std::uint32_t allowance(std::uint32_t bytes_each, Time now,
                                        std::uint32_t receives = 1);
  // Whether one more that costs `bytes` may go, in the same moment as the last allowance(); and how
  // many may.
  [[nodiscard]] bool admits(std::uint32_t bytes, std::uint32_t receives = 1) const;
  [[nodiscard]] std::uint32_t room(std::uint32_t bytes_each, std::uint32_t receives = 1) const;
  // A packet goes: returns its PSN and whether it asks for a credit.
  struct Stamp {
    Psn psn{};
    bool ack_request = false;
  };
  Stamp stamp(std::uint32_t bytes, std::uint32_t receives = 1);
  void credit(const Credit& credit, Time now);
  // When a stalled flow gives up waiting.
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] std::uint64_t stalls() const { return stalls_; }
  [[nodiscard]] std::uint32_t lost() const { return lost_; }
  [[nodiscard]] std::uint32_t in_flight() const;  // packets
  [[nodiscard]] bool blind() const { return blind_; }

 private:
  // Of everything up to some packet.
  struct Sums {
    std::uint64_t bytes = 0;  // cost
    std::uint64_t receives = 0;
  };

 public:
  // What stamp() changes, so that packets which the wire did not take can be taken back.
  struct Checkpoint {
    Psn next{};
    Sums sent{};
    Sums requested{};
    std::uint32_t mark_count = 0;
    bool ask = false;
  };
  [[nodiscard]] Checkpoint checkpoint() const;
  void roll_back(const Checkpoint& to);

 private:
  // Keep PSN differences unambiguous, from the oldest mark on too.
  static constexpr std::uint32_t kMaxInFlight = 1u << 20;  // packets
  static constexpr std::uint32_t kMaxWindow = 1u << 24;    // bytes

  struct Mark {
    Psn psn{};
    Sums through{};
    Time sent_at{};
  };
  // The marks around a packet: at or before it, if that is remembered, and behind it.
  struct Place {
    const Mark* before = nullptr;
    Mark behind{};
  };
  [[nodiscard]] Duration patience() const;
  void start_over();
  void wait_is_over();
  void mark();
  [[nodiscard]] bool worth_a_mark() const;
  [[nodiscard]] Place find(Psn psn) const;
  [[nodiscard]] Sums through(Psn psn) const { return through(find(psn), psn); }
  [[nodiscard]] Sums through(const Place& place, Psn psn) const;
  [[nodiscard]] std::uint64_t bytes_in_flight() const { return sent_.bytes - arrived_.bytes; }
  [[nodiscard]] std::uint64_t receives_in_flight() const {
    return sent_.receives - arrived_.receives;
  }

  Psn next_{};
  Psn base_ = Psn{0} - 1;                            // newest PSN known to have arrived
  std::uint32_t limit_receives_ = kInitialReceives;  // may be in flight after base_
  std::uint32_t limit_bytes_ = kInitialBytes;
  Sums sent_{};
  Sums arrived_{};                // through base_, or somewhat less
  Sums requested_{};              // sent when a credit was asked for last
  std::array<Mark, 64> marks_{};  // at least the last two windows; the oldest is overwritten
  std::uint32_t mark_count_ = 0;
  std::optional<Time> stalled_since_;
  Time used_at_{};
  Duration answer_time_{};   // from a packet to its credit; rises at once, falls slowly
  bool ask_ = true;          // the next packet asks for a credit
  bool heard_ = false;       // a credit has come, ever
  std::uint32_t waits_ = 0;  // in vain, since the last credit
  bool blind_ = false;       // none came in time: send freely until one does
  std::uint64_t stalls_ = 0;
  std::uint32_t lost_ = 0;
};

}  // namespace weft::hca
