// SPDX-License-Identifier: Apache-2.0
#include "link/port_counters.h"

#include <initializer_list>

namespace weft::link {
namespace {

std::uint64_t sum(const PortCounters& counters, std::initializer_list<PortCounter> which) {
  std::uint64_t total = 0;
  for (const PortCounter counter : which)
    total += counters.get(counter);
  return total;
}

}  // namespace

std::uint64_t port_xmit_discards(const PortCounters& counters) {
  return sum(counters, {PortCounter::kTxInactive, PortCounter::kTxNoVl, PortCounter::kTxMtu,
                        PortCounter::kTxHoqLife, PortCounter::kTxSwitchLife,
                        PortCounter::kTxVlStalled, PortCounter::kTxLinkLost});
}

std::uint64_t port_rcv_errors(const PortCounters& counters) {
  return sum(counters,
             {PortCounter::kRxBadVcrc, PortCounter::kRxBadLpcrc, PortCounter::kRxMalformed,
              PortCounter::kRxBadVl, PortCounter::kRxBadLinkPacket, PortCounter::kRxOverrun});
}

}  // namespace weft::link
