// SPDX-License-Identifier: Apache-2.0
// What a port makes of a MAD: whether it is of this negotiation, and which event it is.
#include <variant>

#include "phy/negotiation/ddr_negotiation.h"

namespace weft::phy {
namespace {

NegotiationCounter fault_counter(AdvertisementFault fault) {
  switch (fault) {
    case AdvertisementFault::kSize:
      return NegotiationCounter::kRxSize;
    case AdvertisementFault::kOtherAttribute:
      return NegotiationCounter::kRxOtherAttribute;
    case AdvertisementFault::kVersion:
      return NegotiationCounter::kRxVersion;
    case AdvertisementFault::kMethod:
      return NegotiationCounter::kRxMethod;
    case AdvertisementFault::kModifier:
      return NegotiationCounter::kRxModifier;
    case AdvertisementFault::kRoute:
      return NegotiationCounter::kRxRoute;
    case AdvertisementFault::kBandwidth:
      return NegotiationCounter::kRxBandwidth;
    case AdvertisementFault::kNoIterations:
      return NegotiationCounter::kRxNoIterations;
    case AdvertisementFault::kTooManyIterations:
      return NegotiationCounter::kRxTooManyIterations;
    case AdvertisementFault::kChoice:
      break;
  }
  return NegotiationCounter::kRxChoice;
}

std::uint32_t negotiation_of(const AdvertisementMad& mad) {
  return static_cast<std::uint32_t>(mad.transaction_id >> 32);
}

}  // namespace

DdrNegotiation::Receipt DdrNegotiation::receive(Bytes bytes, Time now) {
  const auto parsed = parse_advertisement_mad(bytes);
  if (const auto* const fault = std::get_if<AdvertisementFault>(&parsed)) {
    counters_.add(fault_counter(*fault));
    return *fault == AdvertisementFault::kOtherAttribute ? Receipt::kNotOurs : Receipt::kDropped;
  }
  const auto& mad = std::get<AdvertisementMad>(parsed);
  if (mad.advertisement.reserved_set) counters_.add(NegotiationCounter::kRxReserved);
  if (const auto reason = unusable(mad)) {
    counters_.add(*reason);
    return Receipt::kDropped;
  }
  const NegotiationEvent event = classify(mad);
  if (dispatch(event, &mad, now)) {
    counters_.add(NegotiationCounter::kRxTaken);
    return Receipt::kTaken;
  }
  output_.record({.kind = TimelineEvent::Kind::kIgnored,
                  .time = now,
                  .state = vars_.state,
                  .before = vars_.state,
                  .event = event,
                  .message = mad.advertisement,
                  .copies = 1});
  if (is_repeated(event)) {
    counters_.add(NegotiationCounter::kRxRepeated);
    return Receipt::kTaken;
  }
  counters_.add(NegotiationCounter::kRxOutOfPhase);
  return Receipt::kDropped;
}

// An acknowledgement copies the number of what it answers, a request has one of its sender.
std::optional<NegotiationCounter> DdrNegotiation::unusable(const AdvertisementMad& mad) const {
  const Advertisement& message = mad.advertisement;
  const std::uint32_t id = negotiation_of(mad);
  if (message.acknowledge) {
    if (id != vars_.own_id) return NegotiationCounter::kRxStale;
  } else if (id == vars_.own_id) {
    return NegotiationCounter::kRxOwn;
  } else if (is_past(id)) {
    return NegotiationCounter::kRxStale;
  } else if (message.serdes_configured && vars_.peer_id && *vars_.peer_id != id) {
    return NegotiationCounter::kRxStale;
  }
  const bool asks_for_sweep = message.ddr && !message.names_choice() && !options_.no_sweep;
  if (asks_for_sweep && message.iteration_ms * Duration(1ms) > options_.longest_iteration) {
    return NegotiationCounter::kRxTooLong;
  }
  return std::nullopt;
}

NegotiationEvent DdrNegotiation::classify(const AdvertisementMad& mad) const {
  const Advertisement& message = mad.advertisement;
  if (message.serdes_configured) {
    return message.acknowledge ? NegotiationEvent::kResultAcknowledge : NegotiationEvent::kResult;
  }
  if (!message.ddr) return NegotiationEvent::kRefusal;
  if (message.acknowledge) return NegotiationEvent::kAcknowledge;
  if (!in_capability_phase() && !in_result_phase()) return NegotiationEvent::kRequest;
  if (vars_.peer_id) {
    return *vars_.peer_id == negotiation_of(mad) ? NegotiationEvent::kRequest
                                                 : NegotiationEvent::kRestart;
  }
  // Only acknowledgements of it were heard. After a sweep it has no reason to ask again; without
  // one it may not have noticed yet that it was answered.
  return in_result_phase() && !skips_sweep() ? NegotiationEvent::kRestart
                                             : NegotiationEvent::kRequest;
}

bool DdrNegotiation::is_repeated(NegotiationEvent event) const {
  switch (event) {
    case NegotiationEvent::kRequest:
      return in_capability_phase() || vars_.state == NegotiationState::kEndedSdr;
    case NegotiationEvent::kAcknowledge:
      return in_capability_phase();
    case NegotiationEvent::kRefusal:
      return vars_.reason == NegotiationReason::kPeerRefused;
    case NegotiationEvent::kResult:
    case NegotiationEvent::kResultAcknowledge:
      return in_result_phase();
    default:
      return false;
  }
}

}  // namespace weft::phy
