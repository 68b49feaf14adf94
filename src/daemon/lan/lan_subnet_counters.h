// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::daemon {

enum class LanSubnetCounter : std::uint8_t {
  kAsked,
  kUnanswered,
  kMalformed,
  kNotices,
  kNoticesTaken,
  kEndsAsked,
  kEndsUnanswered,
  kEndsMalformed,
  kEndsTold,
  kEndsRefused,
  kChannelsAsked,
  kChannelsMade,
  kChannelsRefused,
  kChannelsUnanswered,
  kChannelsEnded,
  kRequests,
  kRequestsRefused,
  kRequestsNotLan,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(LanSubnetCounter::kCount)>
    kLanSubnetCounters{{
        {"sa_asked", "questions to the subnet administrator"},
        {"sa_unanswered", "of these, those that it did not answer in time, or with an error"},
        {"sa_malformed",
         "records of its answers that make no sense, or are not what was asked for"},
        {"sa_notices", "ports that it said have come or gone"},
        {"sa_notices_taken", "reports of notices go to a program on this node, and not here: 1"},
        {"sidr_asked", "ports that were asked where they take datagrams"},
        {"sidr_unanswered", "of these, those that did not answer in time"},
        {"sidr_malformed", "of their answers, those that make no sense"},
        {"sidr_told", "ports that were told where this one takes datagrams"},
        {"sidr_refused", "ports that were not, since they speak another version or came too early"},
        {"channels_asked", "connections that this port asked for"},
        {"channels_made", "connections that were made, by either end"},
        {"channels_refused", "connections that peers refused"},
        {"channels_unanswered", "connections of which peers said nothing"},
        {"channels_ended", "connections that were made, and that peers have ended"},
        {"channel_requests", "connections that peers asked for"},
        {"channel_requests_refused", "of these, those that this port refused"},
        {"channel_requests_not_lan", "of these, those that are not of a LAN port of this version"},
    }};
using LanSubnetCounters = CounterSet<LanSubnetCounter, kLanSubnetCounters>;

}  // namespace weft::daemon
