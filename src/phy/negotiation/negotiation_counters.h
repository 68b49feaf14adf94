// SPDX-License-Identifier: Apache-2.0
// What a port counts of its negotiations. Every MAD that it is given is taken, repeated, or counted
// under one of the reasons for dropping it.
#pragma once

#include "base/counters.h"

namespace weft::phy {

enum class NegotiationCounter : std::uint8_t {
  kAttempts,
  kAttemptsSpent,
  kRejoined,
  kSweeps,
  kEndedDdr,
  kEndedSdr,
  kFellBack,
  kTxRequests,
  kTxAcknowledgements,
  kRxTaken,
  kRxRepeated,
  kRxReserved,
  kRxOtherAttribute,
  kRxSize,
  kRxVersion,
  kRxMethod,
  kRxModifier,
  kRxRoute,
  kRxBandwidth,
  kRxNoIterations,
  kRxTooManyIterations,
  kRxChoice,
  kRxTooLong,
  kRxOwn,
  kRxStale,
  kRxOutOfPhase,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(NegotiationCounter::kCount)>
    kNegotiationCounters{{
        {"attempts", "negotiations begun"},
        {"attempts_spent", "negotiations not begun: too many came to nothing in a row"},
        {"rejoined", "of those begun, those because the peer had begun anew"},
        {"sweeps", "times that SerDes settings were tried at DDR"},
        {"ended_ddr", "negotiations that ended with the link up at DDR"},
        {"ended_sdr", "negotiations that ended at SDR, for whatever reason"},
        {"fell_back", "times that the link at DDR did not come up, or was lost"},
        {"tx_requests", "advertisements sent, copies counted each"},
        {"tx_acknowledgements", "acknowledgements sent, copies counted each"},
        {"rx_taken", "advertisements and acknowledgements that were acted on"},
        {"rx_repeated", "those that had been acted on before: other copies of them"},
        {"rx_reserved",
         "of all that could be read, those with reserved bits set, which is ignored"},
        {"rx_other_attribute", "MADs of another class or attribute, left to subnet management"},
        {"rx_size", "MADs dropped: not of 256 bytes"},
        {"rx_version", "MADs dropped: of another version of the base or the class"},
        {"rx_method", "MADs dropped: another method than Send"},
        {"rx_modifier", "MADs dropped: another modifier than 0x2C9"},
        {"rx_route", "MADs dropped: LIDs in them that are not permissive"},
        {"rx_bandwidth", "MADs dropped: the bandwidth is not 5000"},
        {"rx_no_iterations", "MADs dropped: a sweep of no iterations"},
        {"rx_too_many_iterations", "MADs dropped: a sweep of more than nine iterations"},
        {"rx_choice", "MADs dropped: a chosen iteration above eight"},
        {"rx_too_long", "MADs dropped: iterations longer than this port puts up with"},
        {"rx_own", "MADs dropped: this port's own, the link ends where it begins"},
        {"rx_stale", "MADs dropped: of an earlier negotiation"},
        {"rx_out_of_phase", "MADs dropped: of no use in this state"},
    }};

using NegotiationCounters = CounterSet<NegotiationCounter, kNegotiationCounters>;

}  // namespace weft::phy
