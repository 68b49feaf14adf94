// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "base/counters.h"

namespace weft::mgmt {

enum class ManagementCounter : std::uint8_t {
  kReceived,
  kAnswered,
  kForwarded,
  kTrapsSent,
  kTrapsRepressed,
  kDroppedQueuePair,
  kDroppedVersion,
  kDroppedRoute,
  kDroppedMkey,
  kDroppedMethod,
  kDroppedUnclaimed,
  kDroppedLoop,
  kDroppedTrap,
  kCount,
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ManagementCounter::kCount)>
    kManagementCounterInfo{{
        {"mads_received", "management datagrams for this node or on their way through it"},
        {"mads_answered", "requests that the node's own agents have answered"},
        {"smps_forwarded", "directed routes sent on by this node"},
        {"traps_sent", "traps sent to the subnet manager, repetitions included"},
        {"traps_repressed", "traps that the subnet manager has acknowledged"},
        {"mad_dropped_queue_pair", "datagrams whose class does not belong to their queue pair"},
        {"mad_dropped_version", "datagrams of a base version other than 1 that ask for no answer"},
        {"smp_dropped_route", "directed routes that no rule lets through"},
        {"smp_dropped_mkey", "subnet management packets without the M_Key that the port asks for"},
        {"mad_dropped_method", "datagrams with a method that their class does not have"},
        {"mad_dropped_unclaimed", "answers and messages that nobody here waits for"},
        {"mad_dropped_loop", "datagrams to this node itself beyond what may wait"},
        {"trap_dropped", "traps that had nowhere to go, or too many waited"},
    }};

using ManagementCounters = CounterSet<ManagementCounter, kManagementCounterInfo>;

}  // namespace weft::mgmt
