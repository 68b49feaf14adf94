// SPDX-License-Identifier: Apache-2.0
// How datagrams find their way: in, through, out, and from a node to itself.
#include "mgmt/node_management_impl.h"
#include "wire/sm/smp.h"

namespace weft::mgmt {
namespace {

namespace smp = wire::smp;
using wire::MgmtClass;

// A part routed by LID comes first: from the requester when D = 0, from the responder when D = 1.
bool begins_by_lid(wire::MadBytes mad) {
  return (smp::returning(mad) ? smp::dr_dlid(mad) : smp::dr_slid(mad)) != wire::kPermissiveLid;
}

bool has_lid(const wire::PortInfo& info, Lid lid) {
  const std::uint16_t first = info.lid.value();
  return first != 0 && lid.value() >= first && lid.value() - first < 1 << info.lmc;
}

}  // namespace

RouteElement NodeManagement::Impl::element() const {
  const wire::NodeInfo info = node_.node_info(0);
  return {.is_switch = info.type == wire::NodeType::kSwitch, .ports = info.ports};
}

void NodeManagement::Impl::receive(const MadEnvelope& envelope, wire::MadBytes received, Time now) {
  counters_.add(ManagementCounter::kReceived);
  const MgmtClass mgmt_class = mad_class(received);
  if (envelope.dest_qp != (is_smp(mgmt_class) ? kQp0 : kQp1)) {
    return drop(ManagementCounter::kDroppedQueuePair);
  }
  wire::MadBuffer copy;
  std::copy(received.begin(), received.end(), copy.begin());
  const wire::MutableMadBytes mad(copy);
  if (mgmt_class == MgmtClass::kSubnDirected) {
    const DirectedStep step = step_arrived(mad, envelope.port, element());
    if (step.kind != DirectedStep::Kind::kDeliver) return take_step(step, envelope, mad);
  }
  deliver(envelope, mad, now);
}

// On through this node, or out of it.
void NodeManagement::Impl::take_step(const DirectedStep& step, const MadEnvelope& envelope,
                                     wire::MutableMadBytes mad) {
  MadEnvelope onward = envelope;
  switch (step.kind) {
    case DirectedStep::Kind::kPort:
      onward.port = step.port;
      // The end that is beyond a part routed by LID stays in the header, for its answer.
      onward.slid = smp::returning(mad) ? smp::dr_dlid(mad) : smp::dr_slid(mad);
      onward.dlid = wire::kPermissiveLid;
      break;
    case DirectedStep::Kind::kLid:
      onward.port = 0;
      onward.slid = node_.port_info(0).lid;
      onward.dlid = step.lid;
      break;
    default:
      return drop(ManagementCounter::kDroppedRoute);
  }
  counters_.add(ManagementCounter::kForwarded);
  if (onward.port == 0 && has_lid(node_.port_info(0), onward.dlid)) {
    return loop_back(onward, mad);
  }
  outlet_.send(onward, mad);
}

void NodeManagement::Impl::send(const MadEnvelope& envelope, wire::MadBytes mad) {
  const MgmtClass mgmt_class = mad_class(mad);
  wire::MadBuffer copy;
  std::copy(mad.begin(), mad.end(), copy.begin());
  if (mgmt_class == MgmtClass::kSubnDirected && !begins_by_lid(copy)) {
    return send_directed(envelope, copy);
  }
  if (has_lid(node_.port_info(envelope.port), envelope.dlid)) return loop_back(envelope, copy);
  outlet_.send(envelope, copy);
}

void NodeManagement::Impl::send_directed(const MadEnvelope& envelope, wire::MutableMadBytes mad) {
  const DirectedStep step = step_sent(mad, envelope.port, element());
  if (step.kind != DirectedStep::Kind::kDeliver) return take_step(step, envelope, mad);
  // It has made its way of no hops: what takes it in must not step again, which HopPointer shows.
  loop_back(envelope, mad);
}

void NodeManagement::Impl::loop_back(const MadEnvelope& envelope, wire::MadBytes mad) {
  if (looped_.size() == kMaxLooped) return drop(ManagementCounter::kDroppedLoop);
  Looped& place = looped_.emplace_back();
  place.envelope = envelope;
  // It arrives where it was sent from.
  std::copy(mad.begin(), mad.end(), place.mad.begin());
}

}  // namespace weft::mgmt
