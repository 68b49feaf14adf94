// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "base/counters.h"

namespace weft::rdmacm {

enum class Counter {
  kCommands,
  kCommandsRefused,
  kEvents,
  kEventsUnowned,
  kRequestsUnheard,
  kRequestsOverBacklog,
  kRequestsBadIp,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(Counter::kCount)> kCounterInfo{{
    {"cm_commands", "commands of programs"},
    {"cm_commands_refused", "commands answered with an error"},
    {"cm_events", "events queued for programs"},
    {"cm_events_unowned", "events dropped because no program had taken the connection yet"},
    {"cm_requests_unheard", "peers' requests to an address on which nobody listens"},
    {"cm_requests_over_backlog", "peers' requests refused because the backlog was full"},
    {"cm_requests_bad_ip", "peers' requests refused for their IP header (IBA A11)"},
}};

using Counters = CounterSet<Counter, kCounterInfo>;

}  // namespace weft::rdmacm
