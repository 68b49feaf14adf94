// SPDX-License-Identifier: Apache-2.0
// The traps of nodes on their way to the subscribers: which are new, and whose they are. IBA
// 13.4.9 and 13.4.11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "base/time.h"
#include "sm/sa/subnet_view.h"
#include "sm/sa/subscriptions.h"
#include "sm/smp_queue.h"

namespace weft::sm {

class TrapIntake {
 public:
  // Of traps that have come lately, so that they are known when they come again.
  static constexpr std::size_t kMostRecent = 256;
  // Between a trap and its repetition. Later it is taken for another one: who starts anew may give
  // the same TransactionIDs to other traps.
  static constexpr Duration kForgetAfter = 10s;
  // Traps that wait for the end of a sweep, because nobody knows their port yet.
  static constexpr std::size_t kMostStrangers = 256;

  // A trap comes again until its sender sees the TrapRepress.
  [[nodiscard]] bool is_repeated(const ReceivedTrap& trap, Time now);
  // What is to be reported of it. Its issuer is the port that its packet came from, whatever it
  // says itself. Nothing: there is no such port in the subnet.
  [[nodiscard]] static std::optional<Report> report_of(const SubnetView& view,
                                                       const ReceivedTrap& trap);
  // One of a port that the next sweep may find. False: too many wait.
  bool keep(const ReceivedTrap& trap);
  [[nodiscard]] std::deque<ReceivedTrap> take_kept() { return std::exchange(strangers_, {}); }

 private:
  struct Recent {
    ReceivedTrap trap;
    Time last{};
  };
  std::deque<Recent> recent_;
  std::deque<ReceivedTrap> strangers_;
};

}  // namespace weft::sm
