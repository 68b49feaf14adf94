// SPDX-License-Identifier: Apache-2.0
// What a bridge for RoCE counts. Every frame that its Ethernet or another site gives it goes on or
// is counted under one of the reasons.
#pragma once

#include "base/counters.h"

namespace weft::wan {

enum class RoceCounter : std::uint8_t {
  kOut,
  kIn,
  kAsked,
  kMarked,
  kMalformed,
  kOther,
  kHere,
  kUnknown,
  kLooped,
  kTooMany,
  kTooMuch,
  kSiteDown,
  kNoMemory,
  kForeign,
  kNotHere,
  kStations,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(RoceCounter::kCount)>
    kRoceCounters{{
        {"roce_out", "RoCEv2 packets sent towards other sites"},
        {"roce_in", "RoCEv2 packets from other sites sent to hosts"},
        {"resolution", "questions and answers of ARP and neighbour discovery, either way"},
        {"marked", "of those sent, with congestion experienced: the way was filling up"},
        {"malformed", "frames dropped: they cannot be"},
        {"other_traffic", "frames left alone: neither RoCEv2, ARP nor neighbour discovery"},
        {"here", "frames left alone: for a host of this Ethernet"},
        {"unknown_host", "frames dropped: nothing was ever heard from the host they are for"},
        {"looped", "frames dropped: from a host that another site has just been heard of"},
        {"too_many_questions", "frames dropped: questions to all come faster than they may"},
        {"no_credit", "frames dropped: too much waits for the site"},
        {"site_down", "frames dropped: the site they are for is not there"},
        {"no_memory", "frames dropped: there was no memory for them"},
        {"foreign_host", "frames of other sites dropped: in the name of a host that is here"},
        {"not_here", "frames of other sites dropped: for a host that is not here"},
        {"hosts_forgotten", "hosts that had to be forgotten for others"},
    }};

using RoceCounters = CounterSet<RoceCounter, kRoceCounters>;

}  // namespace weft::wan
