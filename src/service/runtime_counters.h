// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "base/counters.h"

namespace weft::service {

enum class RuntimeCounter : std::uint8_t {
  kPackets,
  kBytes,
  kTapped,
  kForwarded,
  kForwardedByFlow,
  kMirrored,
  kHeld,
  kReleased,
  kBadRecords,
  kServicePackets,
  kServicePacketsRefused,
  kIcrcKept,
  kIcrcCorrectedPKey,
  kIcrcCorrectedHeaders,
  kIcrcAnew,
  kPathQuestions,
  kFlowsKept,
  kFlowsNotKept,
  kCmRewritten,
  kAlternatePathsTakenOut,
  kDropMalformed,
  kDropNoChain,
  kDropByService,
  kDropNoGids,
  kDropNoPath,
  kDropPathBusy,
  kDropLoop,
  kDropHopLimit,
  kDropHoldFull,
  kDropHoldExpired,
  kDropAlternatePath,
  kDropNoMapping,
  kDropForeignQp,
  kDropBadQKey,
  kDropUnknownConnection,
  kDropMapFull,
  kDropBufferDamaged,
  kCount,
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(RuntimeCounter::kCount)>
    kRuntimeCounters{{
        {"packets", "packets that came for services"},
        {"bytes", "their bytes, LRH through VCRC"},
        {"tapped", "copies that were looked at and go nowhere"},
        {"forwarded", "packets that went on"},
        {"forwarded_by_flow", "of these, by what is known of their flow"},
        {"mirrored", "copies that were sent to the mirror"},
        {"held", "packets kept until a path or a service's decision is known"},
        {"released", "of these, those that went on"},
        {"bad_records", "records of other instances that cannot be, or found no room"},
        {"service_packets", "packets that services have made themselves"},
        {"service_packets_refused", "the same, not sent: more than came at a time"},
        {"icrc_kept", "packets forwarded with the ICRC of their sender"},
        {"icrc_corrected_pkey",
         "packets whose ICRC was corrected for another P_Key, and LIDs of "
         "packets without a GRH"},
        {"icrc_corrected_headers", "packets whose ICRC was corrected for QP numbers or Q_Keys too"},
        {"icrc_anew", "packets whose payload was changed: their ICRC was read over all of it"},
        {"path_questions", "questions to the subnet administrator"},
        {"flows_kept", "flows whose verdict was kept"},
        {"flows_not_kept", "flows for which there was no place among those in use"},
        {"cm_rewritten", "messages of the communication manager with other paths or partitions"},
        {"alternate_paths_taken_out", "alternate paths around the service, taken out of requests"},
        {"drop_malformed", "dropped: headers or lengths that cannot be"},
        {"drop_no_chain", "dropped: no service has the LID that they came to"},
        {"drop_by_service", "dropped by a service, which has the reasons"},
        {"drop_no_gids", "dropped: no GRH, and no mapping says where they go"},
        {"drop_no_path", "dropped: there is no path to their destination, or no answer"},
        {"drop_path_busy", "dropped: too many questions about paths are open"},
        {"drop_loop", "dropped: they would come back to this service"},
        {"drop_hop_limit", "dropped: they were to cross to another subnet, and have no hops left"},
        {"drop_hold_full", "dropped: too many packets are held already"},
        {"drop_hold_expired", "dropped: the service did not decide in time"},
        {"drop_alternate_path", "dropped: LAP for ends of its own"},
        {"drop_no_mapping", "dropped: to a QP number that nobody was told"},
        {"drop_foreign_qp",
         "dropped: to a QP number that another end was told, or telling a link-layer address that "
         "is another end's"},
        {"drop_bad_qkey", "dropped: not the Q_Key that their sender was told"},
        {"drop_unknown_connection", "dropped: CM messages about nothing that was seen"},
        {"drop_map_full", "dropped: no room for another queue pair or connection"},
        {"drop_buffer_damaged", "dropped: changed on the way through by something else than this"},
    }};

using RuntimeCounters = CounterSet<RuntimeCounter, kRuntimeCounters>;

}  // namespace weft::service
