// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::daemon {

enum class LabCounter : std::uint8_t { kAdminSessions, kTurnedAway, kForeign, kNonsense, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(LabCounter::kCount)> kLabCounters{
    {
        {"lab_admin_sessions", "connections to the lab's administration that were taken"},
        {"lab_turned_away", "connections ended at once, for want of room or of descriptors"},
        {"lab_foreign", "connections of other users, ended at once"},
        {"lab_nonsense", "connections ended because what they asked for makes no sense"},
    }};

}  // namespace weft::daemon
