// SPDX-License-Identifier: Apache-2.0
// What a node counts at one of its ports, behind what the link counts. Every packet that the link
// hands in and that goes nowhere has one of these reasons.
#pragma once

#include "base/counters.h"

namespace weft::fabric {

enum class NodeCounter : std::uint8_t {
  kForwarded,
  kReplicated,
  kManagement,
  kNoRoute,
  kLoop,
  kNoVl,
  kInboundPKey,
  kOutboundPKey,
  kInboundRaw,
  kOutboundRaw,
  kBadManagement,
  kNotMine,
  kBadPKey,
  kNoQueuePair,
  kNotRouted,
  kNoPacket,
  kSent,
  kLooped,
  kDelivered,
  kForged,
  kOutdated,
  kProgramFull,
  kProgramStuck,
  kDiverted,
  kRawBadIcrc,
  kRawNoQueue,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(NodeCounter::kCount)>
    kNodeCounters{{
        {"forwarded", "packets that came in here and were handed to another port"},
        {"replicated", "copies made of multicast packets that came in here"},
        {"management", "packets that came in here for the node's management"},
        {"no_route", "dropped: the forwarding tables have no port for its DLID"},
        {"loop", "dropped: it would leave by the port where it came in"},
        {"no_vl", "dropped: SL to VL has no lane for it"},
        {"inbound_pkey", "dropped: the port's partitions do not let it in"},
        {"outbound_pkey", "dropped: the port's partitions do not let it out"},
        {"inbound_raw", "dropped: raw packets are not let in"},
        {"outbound_raw", "dropped: raw packets are not let out"},
        {"bad_management", "dropped: for management, but no proper datagram"},
        {"not_mine", "dropped: its DLID is none of this port's"},
        {"bad_pkey", "dropped: its P_Key is not in this port's table"},
        {"no_queue_pair", "dropped: no queue pair has its number or is in its multicast group"},
        {"not_routed", "dropped: it came to a router that joins its subnet with no other one"},
        {"no_packet", "lost: the pool of packets is used up"},
        {"sent", "packets of programs of this port, on their way or dropped by the link"},
        {"looped", "packets that the port sent to itself"},
        {"delivered", "packets given to programs of this port"},
        {"forged", "refused: a program sent as somebody else, or what no program may"},
        {"outdated", "dropped: made by a program before it knew how the port is now"},
        {"program_full", "dropped: its program was slow, and others needed the room"},
        {"program_stuck", "dropped: its program did not take what waited for it"},
        {"diverted", "packets that went raw to the queues of a data service"},
        {"raw_bad_icrc", "dropped: for a data service, but its ICRC is wrong"},
        {"raw_no_queue", "dropped: for a data service that has no queue any more"},
    }};

using NodeCounters = CounterSet<NodeCounter, kNodeCounters>;

}  // namespace weft::fabric
