// SPDX-License-Identifier: Apache-2.0
// Traps: a node tells its subnet manager that something has happened, again and again until the
// manager answers with TrapRepress (IBA 13.4.9, 14.2.5.1). One that is on its way stands for all of
// its kind, so that a link that flaps does not flood the manager.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "mgmt/mad_envelope.h"
#include "mgmt/managed_node.h"
#include "mgmt/management_counters.h"
#include "wire/sm/notice.h"

namespace weft::mgmt {

class TrapSender {
 public:
  static constexpr std::size_t kMaxPending = 32;
  // Between two of the same trap: at first PortInfo.SubnetTimeOut, then twice as long each time.
  static constexpr Duration kLongestPause = 60s;

  TrapSender(ManagedNode& node, MadOutlet& outlet, ManagementCounters& counters)
      : node_(node), outlet_(outlet), counters_(counters) {}

  // From port `from` (of a switch 0), whose manager gets it. The issuer's LID is filled in.
  void raise(PortNumber from, wire::Notice notice, Time now);
  // True when it was one of these traps.
  bool repress(std::uint64_t transaction_id);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

 private:
  struct Pending {
    PortNumber from;
    std::uint64_t transaction_id;
    wire::Notice notice;
    Duration pause;
    Time again;
  };
  void send(Pending& pending, Time now);

  ManagedNode& node_;
  MadOutlet& outlet_;
  ManagementCounters& counters_;
  std::vector<Pending> pending_;
  std::uint32_t last_id_ = 0;
};

}  // namespace weft::mgmt
