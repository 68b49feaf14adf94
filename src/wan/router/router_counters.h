// SPDX-License-Identifier: Apache-2.0
// What a router between sites counts. Every packet that the fabric or another site gives it goes on
// or is counted under one of the reasons.
#pragma once

#include "base/counters.h"

namespace weft::wan {

enum class RouterCounter : std::uint8_t {
  kOut,
  kIn,
  kGroupOut,
  kGroupIn,
  kInterest,
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
  kNotWanted,
  kNoGroup,
  kBadInterest,
  kNoPath,
  kUnanswered,
  kTooMany,
  kAsked,
  kFound,
  kCopies,
  kNoCopy,
  kTold,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(RouterCounter::kCount)>
    kRouterCounters{{
        {"routed_out", "packets sent towards other sites"},
        {"routed_in", "packets from other sites sent into the subnet"},
        {"groups_out", "packets to multicast groups sent towards other sites, each counted once"},
        {"groups_in", "packets to multicast groups from other sites sent into the subnet"},
        {"interest_in", "what other sites said of the groups that they want"},
        {"no_grh", "dropped: without a global route header, or raw"},
        {"bad_grh", "dropped: version, next header or length of the header cannot be"},
        {"subnet_management", "dropped: subnet management does not leave its subnet"},
        {"hop_limit", "dropped: it has no hops left"},
        {"link_local", "dropped: a GID in it has the link-local prefix"},
        {"multicast", "dropped: from a multicast GID, or to a group of the subnet's own"},
        {"no_route", "dropped: no site has a prefix of its DGID"},
        {"not_away", "dropped: came from the subnet, and its DGID is of the subnet too"},
        {"not_here", "dropped: came from another site, and its DGID is not of this subnet"},
        {"foreign_source", "dropped: its SGID is not of the side that it came from"},
        {"site_down", "dropped: the site that its DGID is at is not there"},
        {"group_not_wanted", "dropped: no site wants packets to this multicast group"},
        {"no_group", "dropped: came from another site, and the subnet has no such group"},
        {"bad_interest", "dropped: what another site said of groups cannot be, or is too much"},
        {"no_path", "dropped: the subnet administrator knows no path to its DGID"},
        {"path_unanswered", "dropped: the subnet administrator did not answer"},
        {"path_waiting", "dropped: too many packets or destinations waited for a path"},
        {"paths_asked", "paths that the subnet administrator was asked for"},
        {"paths_found", "of these, those that it knew"},
        {"group_copies", "of packets to multicast groups, those sent, one to each site"},
        {"group_no_room", "not sent to a site: there was no room for one more copy"},
        {"interest_out", "what other sites were told of the groups that this one wants"},
    }};

using RouterCounters = CounterSet<RouterCounter, kRouterCounters>;

}  // namespace weft::wan
