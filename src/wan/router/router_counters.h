// SPDX-License-Identifier: Apache-2.0
// What a router between sites counts. Every packet that the fabric or another site gives it goes on
// or is counted under one of the reasons.
#pragma once

#include "base/counters.h"

namespace weft::wan {

enum class RouterCounter : std::uint8_t {
  kOut,
  kIn,
  kNoGrh,
  kBadGrh,
  kManagement,
  kHopLimit,
  kLinkLocal,
  kMulticast,
  kNoRoute,
  kNotAway,
  kNotHere,
  kForeign,
  kSiteDown,
  kNoPath,
  kUnanswered,
  kTooMany,
  kAsked,
  kFound,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(RouterCounter::kCount)>
    kRouterCounters{{
        {"routed_out", "packets sent towards other sites"},
        {"routed_in", "packets from other sites sent into the subnet"},
        {"no_grh", "dropped: without a global route header, or raw"},
        {"bad_grh", "dropped: version, next header or length of the header cannot be"},
        {"subnet_management", "dropped: subnet management does not leave its subnet"},
        {"hop_limit", "dropped: it has no hops left"},
        {"link_local", "dropped: a GID in it has the link-local prefix"},
        {"multicast", "dropped: to or from a multicast GID, which are not routed"},
        {"no_route", "dropped: no site has a prefix of its DGID"},
        {"not_away", "dropped: came from the subnet, and its DGID is of the subnet too"},
        {"not_here", "dropped: came from another site, and its DGID is not of this subnet"},
        {"foreign_source", "dropped: its SGID is not of the side that it came from"},
        {"site_down", "dropped: the site that its DGID is at is not there"},
        {"no_path", "dropped: the subnet administrator knows no path to its DGID"},
        {"path_unanswered", "dropped: the subnet administrator did not answer"},
        {"path_waiting", "dropped: too many packets or destinations waited for a path"},
        {"paths_asked", "paths that the subnet administrator was asked for"},
        {"paths_found", "of these, those that it knew"},
    }};

using RouterCounters = CounterSet<RouterCounter, kRouterCounters>;

}  // namespace weft::wan
