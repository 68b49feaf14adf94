// SPDX-License-Identifier: Apache-2.0
// Tells subscribers what they asked for: Report(Notice), IBA 13.4.11. Notices wait in a queue for
// each port that they come from, and the queues take turns: who reports a lot waits for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/time.h"
#include "mgmt/mad/mad_layer.h"
#include "sm/sa/sa_counters.h"
#include "sm/sa/subnet_view.h"
#include "sm/sa/subscriptions.h"
#include "sm/sa/trap_intake.h"

namespace weft::sm {

struct ReportLimits {
  std::size_t under_way = 1024;      // reports that are not confirmed yet
  std::size_t waiting_of_one = 256;  // notices of one port
  std::size_t waiting = 16'384;      // of all ports
  std::size_t waiting_own = 65'536;  // of the administrator: all ports may come or go at once
};

class Reporter {
 public:
  // All outlive it.
  Reporter(mgmt::MadLayer& port, const SubnetView& view, Subscriptions& subscriptions,
           SaCounterSet& counters, const ReportLimits& limits)
      : port_(port),
        view_(view),
        subscriptions_(subscriptions),
        counters_(counters),
        limits_(limits) {}
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // `now` may be a little in the past.
  void take_trap(const ReceivedTrap& trap, Time now);
  // What the administrator says itself.
  void add(Report report);
  // The view is another one: traps of ports that it has now are reported.
  void view_changed();
  // Nothing that waits is told any more.
  void clear();

  // Sends what may be sent. Each report has a cookie other than 0, with which finished() is called.
  void run(mgmt::AgentId agent, Time now);
  void finished(bool confirmed);
  // Whether run() would send something.
  [[nodiscard]] bool is_due() const {
    return under_way_ < limits_.under_way && (!to_.empty() || !waiting_.empty());
  }

 private:
  [[nodiscard]] bool has_room(const Report& report, std::size_t waiting) const;
  // The next notice, and whom it is for. False: none waits.
  bool begin_next();
  void send(mgmt::AgentId agent, const Recipient& recipient, Time now);

  mgmt::MadLayer& port_;
  const SubnetView& view_;
  Subscriptions& subscriptions_;
  SaCounterSet& counters_;
  const ReportLimits limits_;
  TrapIntake intake_;
  std::map<Lid, std::deque<Report>> waiting_;  // by the port that they come from
  std::size_t waiting_of_ports_ = 0;
  Lid last_served_{};
  Report current_{};
  std::vector<Recipient> to_;  // who is still to be told of it
  std::size_t under_way_ = 0;
  std::uint32_t last_cookie_ = 0;
};

}  // namespace weft::sm
