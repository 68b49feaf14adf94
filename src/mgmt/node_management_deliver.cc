// SPDX-License-Identifier: Apache-2.0
// Whose a datagram is that has arrived at its node: the subnet agent's, the performance agent's, or
// that of an agent who has registered at the port.
#include "mgmt/node_management_impl.h"
#include "mgmt/own_pkey.h"
#include "mgmt/sm/notices.h"
#include "wire/device_management.h"
#include "wire/perf.h"
#include "wire/sm/smp.h"

namespace weft::mgmt {
namespace {

using wire::MadMethod;
using wire::MadStatus;
using wire::MgmtClass;

std::uint8_t class_version(wire::MadBytes mad) {
  return wire::load_u8(mad.data() + 2);
}

PortNumber named_port(wire::MadBytes mad) {
  return wire::load_u8(mad.data() + 23);  // the lowest byte of the modifier
}

constexpr std::uint8_t kAnswerHopLimit = 255;

}  // namespace

void NodeManagement::Impl::deliver(const MadEnvelope& envelope, wire::MutableMadBytes mad,
                                   Time now) {
  const MadMethod method = mad_method(mad);
  if (wire::load_u8(mad.data()) != wire::MadHeader::kBaseVersion) {
    if (asks_for_answer(method)) return answer(envelope, mad, MadStatus::kBadVersion);
    return drop(ManagementCounter::kDroppedVersion);
  }
  const MgmtClass mgmt_class = mad_class(mad);
  if (is_smp(mgmt_class)) return deliver_smp(envelope, mad, now);
  if (mgmt_class == MgmtClass::kPerf && !answers(method)) {
    return deliver_perf(envelope, mad, now);
  }
  if (mgmt_class == MgmtClass::kDeviceMgt && device_agent_.has_controllers()) {
    return deliver_device(envelope, mad, now);
  }
  deliver_to_agents(envelope, mad, now);
}

void NodeManagement::Impl::deliver_smp(const MadEnvelope& envelope, wire::MutableMadBytes mad,
                                       Time now) {
  const MadMethod method = mad_method(mad);
  const bool get = method == MadMethod::kGet;
  const bool set = method == MadMethod::kSet;
  bool veil = false;
  if (method == MadMethod::kTrapRepress) {
    if (!admit(envelope, mad, veil, now)) return;
    if (traps_.repress(wire::load_be64(mad.data() + 8))) return;
    return deliver_to_agents(envelope, mad, now);
  }
  // SMInfo is the managers' own: whether one is here, they say.
  const auto attribute = static_cast<wire::SmAttribute>(wire::load_be16(mad.data() + 16));
  if ((!get && !set) || attribute == wire::SmAttribute::kSmInfo) {
    return deliver_to_agents(envelope, mad, now);
  }
  if (class_version(mad) != wire::kSmClassVersion) {
    return answer(envelope, mad, MadStatus::kBadVersion);
  }
  if (!admit(envelope, mad, veil, now)) return;
  const SubnetAgent::Request request{
      .set = set,
      .arrival = envelope.port,
      .veil_mkey = veil,
      .is_sm = subnet_managers_.contains(management_port(envelope.port))};
  answer(envelope, mad, subnet_agent_.handle(request, mad, now));
}

bool NodeManagement::Impl::admit(const MadEnvelope& envelope, wire::MadBytes mad, bool& veil,
                                 Time now) {
  const PortNumber port = management_port(envelope.port);
  const auto allowed = [&](PortNumber guarded) {
    const auto verdict = guard_.check(guarded, mad_method(mad), wire::smp::mkey(mad), now);
    veil = veil || verdict == MkeyGuard::Verdict::kVeiled;
    return verdict != MkeyGuard::Verdict::kRefuse;
  };
  if (allowed(port) && (!names_other_port(port, mad) || allowed(named_port(mad)))) return true;
  drop(ManagementCounter::kDroppedMkey);
  traps_.raise(port, bad_mkey_notice(type(), envelope, mad), now);
  return false;
}

// On a channel adapter each port has a key of its own, and PortInfo may be asked for by number.
bool NodeManagement::Impl::names_other_port(PortNumber port, wire::MadBytes mad) const {
  const wire::NodeInfo info = node_.node_info(port);
  const auto attribute = static_cast<wire::SmAttribute>(wire::load_be16(mad.data() + 16));
  if (info.type == wire::NodeType::kSwitch || attribute != wire::SmAttribute::kPortInfo) {
    return false;
  }
  const PortNumber named = named_port(mad);
  return named != 0 && named != port && named <= info.ports;
}

void NodeManagement::Impl::deliver_perf(const MadEnvelope& envelope, wire::MutableMadBytes mad,
                                        Time now) {
  const MadMethod method = mad_method(mad);
  if (method != MadMethod::kGet && method != MadMethod::kSet) {
    return deliver_to_agents(envelope, mad, now);
  }
  if (class_version(mad) != wire::kPerfClassVersion) {
    return answer(envelope, mad, MadStatus::kBadVersion);
  }
  const bool set = method == MadMethod::kSet;
  answer(envelope, mad, performance_agent_.handle(set, management_port(envelope.port), mad, now));
}

void NodeManagement::Impl::deliver_device(const MadEnvelope& envelope, wire::MutableMadBytes mad,
                                          Time now) {
  const MadMethod method = mad_method(mad);
  if (method != MadMethod::kGet && method != MadMethod::kSet) {
    return deliver_to_agents(envelope, mad, now);
  }
  if (class_version(mad) != wire::kDeviceManagementClassVersion) {
    return answer(envelope, mad, MadStatus::kBadVersion);
  }
  answer(envelope, mad, device_agent_.handle(method == MadMethod::kSet, mad));
}

void NodeManagement::Impl::deliver_to_agents(const MadEnvelope& envelope, wire::MutableMadBytes mad,
                                             Time now) {
  const auto port = mad_ports_.find(management_port(envelope.port));
  if (port != mad_ports_.end() && port->second->receive(envelope, mad, now)) return;
  const MadMethod method = mad_method(mad);
  if (method == MadMethod::kGet || method == MadMethod::kSet) {
    // IBA 13.4.7: nobody here does this for this attribute. Linux answers the same.
    return answer(envelope, mad, MadStatus::kBadMethodAttribute);
  }
  if (asks_for_answer(method)) return answer(envelope, mad, MadStatus::kBadMethod);
  drop(answers(method) || method == MadMethod::kSend || method == MadMethod::kTrap ||
               method == MadMethod::kReport
           ? ManagementCounter::kDroppedUnclaimed
           : ManagementCounter::kDroppedMethod);
}

void NodeManagement::Impl::answer(const MadEnvelope& request, wire::MutableMadBytes mad,
                                  MadStatus status) {
  counters_.add(ManagementCounter::kAnswered);
  make_answer(mad, status);
  const PortNumber port = management_port(request.port);
  // From the LID that was asked, which may be any of the port's; a permissive one is not an
  // answer's.
  const bool named = request.dlid != wire::kPermissiveLid;
  MadEnvelope back{
      .port = port,
      .slid = named ? request.dlid : node_.port_info(port).lid,
      .dlid = request.slid,
      .sl = request.sl,
      .source_qp = request.dest_qp,
      .dest_qp = request.source_qp,
      .qkey = request.dest_qp == kQp1 ? kGsiQKey : QKey{},
      .pkey = request.dest_qp == kQp1 ? own_pkey(node_, port, request.pkey).pkey : request.pkey};
  if (request.grh) {
    back.grh = wire::Grh{.traffic_class = request.grh->traffic_class,
                         .flow_label = request.grh->flow_label,
                         .hop_limit = kAnswerHopLimit,
                         .sgid = request.grh->dgid,
                         .dgid = request.grh->sgid};
  }
  send(back, mad);
}

}  // namespace weft::mgmt
