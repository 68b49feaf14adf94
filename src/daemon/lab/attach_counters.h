// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::daemon {

enum class AttachCounter : std::uint8_t {
  kConnections,
  kEnded,
  kTurnedAway,
  kForeign,
  kNonsense,
  kUnread,
  kForged,
  kLied,
  kCopied,
  kNoPacket,
  kUndelivered,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(AttachCounter::kCount)>
    kAttachCounterInfo{{
        {"attach_connections", "connections of programs that were taken"},
        {"attach_connections_ended", "of these, those that have ended since"},
        {"attach_turned_away", "programs turned away for want of room or of descriptors"},
        {"attach_foreign", "connections of other users, ended at once"},
        {"attach_nonsense", "connections ended because the program said what makes no sense"},
        {"attach_unread", "connections ended because the program does not read its answers"},
        {"attach_forged", "programs cut off because they sent as somebody else"},
        {"attach_lied", "programs cut off because what is in their memory makes no sense"},
        {"attach_copied", "payloads copied for programs that cannot read where they are"},
        {"attach_no_packet", "packets of programs lost: the pool of packets is used up"},
        {"attach_undelivered", "packets dropped that came for a program after its end"},
    }};
using AttachCounters = CounterSet<AttachCounter, kAttachCounterInfo>;

}  // namespace weft::daemon
