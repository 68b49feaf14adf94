// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counters.h"

namespace weft::link {

// What became of what two ports gave their link, both directions together.
enum class LinkCounter : std::uint8_t {
  kPackets,
  kFlowControl,
  kDown,
  kLost,
  kCreditLost,
  kDamaged,
  kDuplicated,
  kReordered,
  kNoMemory,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(LinkCounter::kCount)>
    kLinkCounters{{
        {"packets", "packets that ports gave the link"},
        {"flow_control", "flow-control packets that ports gave the link"},
        {"down", "packets lost because the link was or went down"},
        {"lost", "packets lost on purpose"},
        {"credit_lost", "flow-control packets lost on purpose"},
        {"damaged", "packets of both kinds delivered with bits wrong"},
        {"duplicated", "packets delivered twice, on purpose"},
        {"reordered", "packets overtaken by the next one, on purpose"},
        {"no_memory", "packets lost, or not doubled, for want of memory"},
    }};

using LinkCounters = CounterSet<LinkCounter, kLinkCounters>;

}  // namespace weft::link
