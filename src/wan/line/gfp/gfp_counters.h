// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace weft::wan {

enum class GfpSendCounter : std::uint8_t {
  kPackets,
  kIdleFrames,
  kManagementFrames,
  kTooLong,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(GfpSendCounter::kCount)>
    kGfpSendCounters{{
        {"gfp_tx_packets", "packets sent, each in a client data frame"},
        {"gfp_tx_idle_frames", "idle frames sent"},
        {"gfp_tx_management_frames", "client management frames sent"},
        {"gfp_tx_too_long", "packets dropped: longer than a frame can be"},
    }};

using GfpSendCounters = CounterSet<GfpSendCounter, kGfpSendCounters>;

// Of each frame that is delineated while in step, exactly one of kPackets to kFramesCut counts.
enum class GfpReceiveCounter : std::uint8_t {
  kPackets,
  kIdleFrames,
  kManagementFrames,
  kControlFrames,
  kTypeWrong,
  kExtensionWrong,
  kInvalid,
  kFcsWrong,
  kOtherPayload,
  kFcsMismatch,
  kExtensionMismatch,
  kUserMismatch,
  kChannelMismatch,
  kTooLong,
  kNotDescrambled,
  kFramesCut,
  kCoreCorrected,
  kTypeCorrected,
  kExtensionCorrected,
  kFramesUnconfirmed,
  kFalseDelineations,
  kSyncLosses,
  kOctetsHunted,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(GfpReceiveCounter::kCount)>
    kGfpReceiveCounters{{
        {"gfp_rx_packets", "packets handed on"},
        {"gfp_rx_idle_frames", "idle frames"},
        {"gfp_rx_management_frames", "client management frames"},
        {"gfp_rx_control_frames", "control frames that are reserved: PLI 1 to 3"},
        {"gfp_rx_type_wrong", "frames dropped: more than one bit of the type header is wrong"},
        {"gfp_rx_extension_wrong",
         "frames dropped: more than one bit of the extension header is wrong"},
        {"gfp_rx_invalid", "frames dropped: too short for the headers that they say they have"},
        {"gfp_rx_fcs_wrong", "frames dropped: the FCS of the payload is wrong"},
        {"gfp_rx_other_payload", "frames dropped: neither client data nor known client management"},
        {"gfp_rx_fcs_mismatch", "frames dropped: with an FCS where none is agreed, or without"},
        {"gfp_rx_extension_mismatch", "frames dropped: another extension header than agreed"},
        {"gfp_rx_user_mismatch", "frames dropped: another kind of payload than agreed"},
        {"gfp_rx_channel_mismatch", "frames dropped: of another channel"},
        {"gfp_rx_too_long", "frames dropped: packets longer than are taken here"},
        {"gfp_rx_not_descrambled",
         "frames dropped: fewer than 43 bits of payload were heard before them"},
        {"gfp_rx_frames_cut", "frames dropped: the line was interrupted within them"},
        {"gfp_rx_core_corrected", "core headers of which one bit was put right"},
        {"gfp_rx_type_corrected", "type headers of which one bit was put right"},
        {"gfp_rx_extension_corrected", "extension headers of which one bit was put right"},
        {"gfp_rx_frames_unconfirmed",
         "frames passed over until a further header confirms the step"},
        {"gfp_rx_false_delineations",
         "headers taken for such while hunting that were not confirmed"},
        {"gfp_rx_sync_losses",
         "times a core header had more than one wrong bit, or the line broke"},
        {"gfp_rx_octets_hunted", "octets passed over while no header was known"},
    }};

using GfpReceiveCounters = CounterSet<GfpReceiveCounter, kGfpReceiveCounters>;

}  // namespace weft::wan
