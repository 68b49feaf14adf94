// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::wan::sonet {

// Of one end of a line, both directions, or of one direction of what stands in it.
enum class SonetCounter : std::uint8_t {
  kFramesOut,
  kFramesIn,
  kReframed,
  kBadFraming,
  kSkipped,
  kB1Errors,
  kB1Frames,
  kB2Errors,
  kB2Frames,
  kB3Errors,
  kB3Containers,
  kLineRei,
  kPathRei,
  kIncrementsIn,
  kDecrementsIn,
  kNewDataIn,
  kIncrementsOut,
  kDecrementsOut,
  kNewDataOut,
  kAisOut,
  kOverruns,
  kUnderruns,
  kPayloadIn,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(SonetCounter::kCount)>
    kSonetCounters{{
        {"frames_out", "frames sent"},
        {"frames_in", "frames received in alignment"},
        {"reframed", "times frame alignment was found"},
        {"bad_framing", "frames received whose framing octets were wrong"},
        {"skipped_octets", "octets received in which frames were looked for"},
        {"b1_errors", "section errors: bits of B1 that were wrong"},
        {"b1_frames", "frames with wrong bits of B1"},
        {"b2_errors", "line errors: bits of B2 that were wrong"},
        {"b2_frames", "frames with wrong bits of B2"},
        {"b3_errors", "path errors: bits of B3 that were wrong"},
        {"b3_containers", "containers with wrong bits of B3"},
        {"line_rei", "line errors that the other end has told of in M1"},
        {"path_rei", "path errors that the other end has told of in G1"},
        {"increments_in", "pointers received that moved the container later"},
        {"decrements_in", "pointers received that moved the container earlier"},
        {"new_data_in", "pointers received after which the container began elsewhere"},
        {"increments_out", "pointers sent that moved the container later"},
        {"decrements_out", "pointers sent that moved the container earlier"},
        {"new_data_out", "pointers sent after which the container began elsewhere"},
        {"ais_out", "frames sent with an alarm indication instead of a container or a line"},
        {"overruns", "times more came than could be kept, and was dropped"},
        {"underruns", "times nothing was left to send on"},
        {"payload_octets_in", "octets of payload handed on"},
    }};

using SonetCounters = CounterSet<SonetCounter, kSonetCounters>;

}  // namespace weft::wan::sonet
