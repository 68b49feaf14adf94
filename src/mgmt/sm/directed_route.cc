// SPDX-License-Identifier: Apache-2.0
#include "mgmt/sm/directed_route.h"

#include "wire/sm/smp.h"

namespace weft::mgmt {
namespace {

namespace smp = wire::smp;
using Kind = DirectedStep::Kind;

DirectedStep out_of(std::uint8_t port, const RouteElement& element) {
  if (port == 0 || port > element.ports) return {};
  return {.kind = Kind::kPort, .port = port};
}

// The end of the part that is routed by ports.
DirectedStep end_of_ports(Lid beyond, const RouteElement& element) {
  if (beyond == wire::kPermissiveLid) return {.kind = Kind::kDeliver};
  if (!element.is_switch) return {};
  return {.kind = Kind::kLid, .lid = beyond};
}

// Outbound, D = 0: C14-9.
DirectedStep outbound(wire::MutableMadBytes mad, PortNumber arrival, const RouteElement& element) {
  const std::uint8_t hops = smp::hop_count(mad);
  const std::uint8_t hop = smp::hop_pointer(mad);
  if (hop == hops + 1) return {.kind = Kind::kDeliver};  // came by LID, behind the ports
  if (hops > 0 && hop == 0) {
    // Only what came by LID may begin its ports here; a neighbour would have counted its own hop.
    if (!element.is_switch || smp::dr_slid(mad) == wire::kPermissiveLid) return {};
    smp::set_hop_pointer(mad, 1);
    return out_of(smp::initial_path(mad, 1), element);
  }
  if (hop > hops) return {};
  if (hop > 0) smp::set_return_path(mad, hop, arrival);
  smp::set_hop_pointer(mad, static_cast<std::uint8_t>(hop + 1));
  if (hop == hops) return end_of_ports(smp::dr_dlid(mad), element);
  if (!element.is_switch) return {};
  return out_of(smp::initial_path(mad, hop + 1u), element);
}

// On the way back, D = 1: C14-13.
DirectedStep inbound(wire::MutableMadBytes mad, const RouteElement& element) {
  const std::uint8_t hops = smp::hop_count(mad);
  const std::uint8_t hop = smp::hop_pointer(mad);
  if (hop == 0) return {.kind = Kind::kDeliver};  // came by LID, behind the ports
  if (hop == 1 && hops > 0) {
    smp::set_hop_pointer(mad, 0);
    return end_of_ports(smp::dr_slid(mad), element);
  }
  if (hop > hops + 1 || hops == 0 || !element.is_switch) return {};
  // From a neighbour, or by LID from the responder (HopPointer is HopCount + 1).
  smp::set_hop_pointer(mad, static_cast<std::uint8_t>(hop - 1));
  return out_of(smp::return_path(mad, hop - 1u), element);
}

}  // namespace

DirectedStep step_arrived(wire::MutableMadBytes mad, PortNumber arrival,
                          const RouteElement& element) {
  if (smp::hop_count(mad) > wire::kMaxHops) return {};
  return smp::returning(mad) ? inbound(mad, element) : outbound(mad, arrival, element);
}

DirectedStep step_sent(wire::MutableMadBytes mad, PortNumber from, const RouteElement& element) {
  const std::uint8_t hops = smp::hop_count(mad);
  const std::uint8_t hop = smp::hop_pointer(mad);
  if (hops > wire::kMaxHops) return {};
  if (!smp::returning(mad)) {
    if (hop != 0) return {};
    if (hops == 0) {
      smp::set_hop_pointer(mad, 1);
      return end_of_ports(smp::dr_dlid(mad), element);
    }
    smp::set_hop_pointer(mad, 1);
    const DirectedStep step = out_of(smp::initial_path(mad, 1), element);
    // The requester's port is the first of the way; a switch may begin at any.
    if (!element.is_switch && step.port != from) return {};
    return step;
  }
  if (hop != hops + 1) return {};
  smp::set_hop_pointer(mad, hops);
  if (hops == 0) return end_of_ports(smp::dr_slid(mad), element);
  const DirectedStep step = out_of(smp::return_path(mad, hops), element);
  if (!element.is_switch && step.port != from) return {};
  return step;
}

}  // namespace weft::mgmt
