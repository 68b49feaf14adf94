// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/cm_mads.h"

#include <algorithm>

#include "daemon/lab/address_records.h"
#include "daemon/sa_question.h"
#include "io/clock.h"
#include "mgmt/own_pkey.h"
#include "wan/router/group_interest.h"
#include "wire/sa/member_record.h"
#include "wire/sa/path_record.h"
#include "wire/sa/sa_header.h"
#include "wire/sa/service_record.h"

namespace weft::daemon {
namespace {

using wire::MadHeader;
using wire::MadMethod;
using wire::MemberRecord;
using wire::PathRecord;

// What makes a group that is not there yet.
constexpr std::uint64_t kToJoin = MemberRecord::kHasMgid | MemberRecord::kHasPortGid |
                                  MemberRecord::kHasQKey | MemberRecord::kHasTrafficClass |
                                  MemberRecord::kHasPKey | MemberRecord::kHasSl |
                                  MemberRecord::kHasFlowLabel | MemberRecord::kHasJoinState;
constexpr std::uint64_t kToLeave =
    MemberRecord::kHasMgid | MemberRecord::kHasPortGid | MemberRecord::kHasJoinState;
constexpr Duration kJoinPatience = 3s;
constexpr std::uint8_t kAnyHops = 255;

constexpr std::uint16_t kFullMember = 0x8000;  // of a P_Key

constexpr unsigned kRetries = 3;
constexpr Duration kLeastPatience = 100ms;  // for one answer

wire::MadBuffer path_question(const rdmacm::RouteQuestion& asked, std::uint32_t transaction) {
  std::uint64_t mask = PathRecord::kHasDgid | PathRecord::kHasSgid | PathRecord::kHasReversible |
                       PathRecord::kHasNumbPath;
  PathRecord record{.dgid = asked.dgid, .sgid = asked.sgid, .reversible = true, .paths = 1};
  // As Linux has it: the type of service is the class of service.
  if (asked.traffic_class != 0) {
    mask |= PathRecord::kHasQosClass;
    record.qos_class = asked.traffic_class;
  }
  return sa_question(MadMethod::kGet, mask, record, transaction);
}

wire::MadBuffer group_question(const rdmacm::GroupQuestion& asked, MadMethod method,
                               std::uint64_t mask, std::uint32_t transaction) {
  const MemberRecord record{
      .mgid = asked.mgid,
      .port_gid = asked.port_gid,
      .qkey = asked.qkey,
      .traffic_class = asked.traffic_class,
      .pkey = asked.pkey,
      // OpenSM takes it as it stands, said to count or not.
      .hop_limit = (mask & MemberRecord::kHasHopLimit) != 0 ? kAnyHops : std::uint8_t{0},
      .join_state = asked.send_only ? MemberRecord::kSendOnlyNonMember : MemberRecord::kFullMember};
  return sa_question(method, mask, record, transaction);
}

rdmacm::GroupRecord group_of(const MemberRecord& record) {
  return {.mgid = record.mgid,
          .mlid = record.mlid,
          .qkey = record.qkey,
          .sl = record.sl,
          .rate = record.rate.value,
          .flow_label = record.flow_label,
          .hop_limit = record.hop_limit,
          .traffic_class = record.traffic_class};
}

mgmt::MadAddress address_of(const hca::Path& to, std::uint16_t pkey_index) {
  mgmt::MadAddress out{.lid = to.dlid,
                       .sl = to.sl,
                       .path_bits = to.source_path_bits,
                       .qpn = kQp1,
                       .qkey = kGsiQKey,
                       .pkey_index = pkey_index};
  if (to.global) {
    out.global = mgmt::GlobalAddress{.gid = to.dgid,
                                     .gid_index = to.sgid_index,
                                     .flow_label = to.flow_label,
                                     .hop_limit = to.hop_limit,
                                     .traffic_class = to.traffic_class};
  }
  return out;
}

}  // namespace

CmMads::CmMads(const LabHosts& hosts, std::size_t node, Receiver& receiver)
    : hosts_(hosts), node_(node), receiver_(receiver) {
}

CmMads::~CmMads() {
  for (const PortAgents& each : ports_) {
    mad_port(each.port).remove_agent(each.connections);
    mad_port(each.port).remove_agent(each.administration);
  }
  node().management_used();
}

Expected<void> CmMads::open() {
  for (unsigned port = 1; port <= node().port_count(); ++port) {
    if (auto opened = open_port(static_cast<mgmt::PortNumber>(port)); !opened) return opened;
  }
  return {};
}

Expected<void> CmMads::open_port(mgmt::PortNumber port) {
  mgmt::AgentRequest connections{.mgmt_class = wire::MgmtClass::kCommMgt,
                                 .class_version = wire::kCmClassVersion,
                                 .own_transactions = true};
  connections.methods.set(static_cast<std::size_t>(MadMethod::kSend));
  const mgmt::AgentRequest administration{.mgmt_class = wire::MgmtClass::kSubnAdm,
                                          .class_version = wire::kSaClassVersion};
  const auto first = mad_port(port).add_agent(connections, *this);
  if (!first) return tl::unexpected(first.error());
  const auto second = mad_port(port).add_agent(administration, *this);
  if (!second) {
    mad_port(port).remove_agent(*first);
    return tl::unexpected(second.error());
  }
  ports_.push_back({port, *first, *second});
  return {};
}

void CmMads::send(const hca::Path& to, PKey pkey, std::span<const std::byte, mgmt::kMadSize> mad) {
  const auto send_from = [&](mgmt::PortNumber port) {
    // Whichever kind of member the port is.
    const PKey full(static_cast<std::uint16_t>(pkey.value() | kFullMember));
    const std::uint16_t index = mgmt::own_pkey(node(), port, full).index;
    return mad_port(port).send(ports_[port - 1u].connections,
                               {.to = address_of(to, index), .mad = mad}, io::now());
  };
  const auto place = hosts_.find(to.sgid);
  const bool ours = place && place->node == node_;
  const auto sent =
      ours ? send_from(place->port) : Expected<void>(fail(std::errc::address_not_available, ""));
  counters_.add(sent ? CmMadCounter::kTxMads : CmMadCounter::kTxLost);
  node().management_used();
}

std::errc CmMads::send_question(mgmt::PortNumber port, Bytes mad, std::uint32_t handle,
                                Duration patience) {
  const wire::PortInfo info = node().port_info(port);
  if (info.state != wire::PortState::kActive || !hca::is_unicast(info.master_sm_lid)) {
    return std::errc::network_unreachable;
  }
  const mgmt::MadRequest request{
      .to = {.lid = info.master_sm_lid, .sl = info.master_sm_sl, .qpn = kQp1, .qkey = kGsiQKey},
      .mad = mad,
      .timeout = std::max(patience / (kRetries + 1), kLeastPatience),
      .retries = kRetries,
      .cookie = handle};
  const auto sent = mad_port(port).send(ports_[port - 1u].administration, request, io::now());
  node().management_used();
  return sent ? std::errc{} : sent.error().code;
}

std::errc CmMads::ask(std::uint32_t identifier, const rdmacm::RouteQuestion& question) {
  const std::errc error = send_question(question.port, path_question(question, ++asked_),
                                        identifier, question.patience);
  if (error == std::errc{}) counters_.add(CmMadCounter::kRoutesAsked);
  return error;
}

std::errc CmMads::find_host(std::uint32_t identifier, const rdmacm::HostQuestion& question) {
  const std::errc error = send_question(question.port, address_question(question.address, ++asked_),
                                        identifier, question.patience);
  if (error == std::errc{}) counters_.add(CmMadCounter::kHostsAsked);
  return error;
}

std::errc CmMads::join(std::uint32_t membership, const rdmacm::GroupQuestion& question) {
  // Not every administrator gives packets to such groups the hops that they need (IBA 8.3.6).
  const bool leaves_subnet = wan::is_routed_group(question.mgid);
  const std::errc error = send_join(membership, question,
                                    leaves_subnet ? kToJoin | MemberRecord::kHasHopLimit : kToJoin);
  if (error != std::errc{}) return error;
  counters_.add(CmMadCounter::kGroupsAsked);
  if (leaves_subnet) with_hops_.insert_or_assign(membership, question);
  return error;
}

std::errc CmMads::send_join(std::uint32_t membership, const rdmacm::GroupQuestion& question,
                            std::uint64_t mask) {
  return send_question(question.port, group_question(question, MadMethod::kSet, mask, ++asked_),
                       membership, kJoinPatience);
}

void CmMads::leave(const rdmacm::GroupQuestion& question) {
  const std::errc error =
      send_question(question.port, group_question(question, MadMethod::kDelete, kToLeave, ++asked_),
                    0, kJoinPatience);
  if (error == std::errc{}) counters_.add(CmMadCounter::kGroupsLeft);
}

void CmMads::forget(std::uint32_t handle) {
  with_hops_.erase(handle);
  for (const PortAgents& each : ports_)
    mad_port(each.port).cancel(each.administration, handle);
}

void CmMads::received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) {
  const auto of = std::find_if(ports_.begin(), ports_.end(), [agent](const PortAgents& each) {
    return each.connections == agent || each.administration == agent;
  });
  if (of == ports_.end()) return;
  if (of->administration == agent) {
    if (mad.cookie) take_answer(static_cast<std::uint32_t>(*mad.cookie), mad.mad);
    return;
  }
  counters_.add(CmMadCounter::kRxMads);
  hca::Path from;
  from.sgid = hosts_.gid_of({node_, of->port});
  from.dlid = mad.from.lid;
  from.sl = mad.from.sl;
  from.source_path_bits = mad.from.path_bits;
  from.global = mad.from.global.has_value();
  if (mad.from.global) {
    from.dgid = mad.from.global->gid;
    from.flow_label = mad.from.global->flow_label;
    from.hop_limit = mad.from.global->hop_limit;
    from.traffic_class = mad.from.global->traffic_class;
  }
  receiver_.received(mad.mad, from, mgmt::pkey_at(node(), of->port, mad.from.pkey_index));
}

void CmMads::take_answer(std::uint32_t handle, Bytes mad) {
  const auto header = MadHeader::parse(mad);
  if (handle == 0 || !header || mad.size() < wire::kMadSize) return;
  if (header->attribute_id == MemberRecord::kAttributeId) return take_group(handle, *header, mad);
  if (header->attribute_id == wire::ServiceRecord::kAttributeId) return take_host(handle, mad);
  const bool found = header->status == 0 && header->method == MadMethod::kGetResponse &&
                     header->attribute_id == PathRecord::kAttributeId;
  counters_.add(found ? CmMadCounter::kRoutesFound : CmMadCounter::kRoutesNone);
  if (!found) return receiver_.route_failed(handle, std::errc::host_unreachable);
  const auto record = PathRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  receiver_.route_found(handle, rdmacm::PathRecord(*record));
}

void CmMads::take_host(std::uint32_t identifier, Bytes mad) {
  const auto gid = read_address_answer(mad);
  if (!gid) return receiver_.host_failed(identifier, std::errc::host_unreachable);
  counters_.add(CmMadCounter::kHostsFound);
  receiver_.host_found(identifier, *gid);
}

void CmMads::take_group(std::uint32_t membership, const MadHeader& header, Bytes mad) {
  const auto record = MemberRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  const rdmacm::GroupRecord group = group_of(*record);
  const auto with_hops = with_hops_.extract(membership);
  // There may be such a group, with another hop limit.
  if (header.status != 0 && with_hops &&
      send_join(membership, with_hops.mapped(), kToJoin) == std::errc{}) {
    return;
  }
  if (header.status != 0 || hca::is_unicast(group.mlid) || group.mlid == Lid{}) {
    return receiver_.group_failed(membership, std::errc::invalid_argument);
  }
  counters_.add(CmMadCounter::kGroupsJoined);
  receiver_.group_joined(membership, group);
}

void CmMads::finished(mgmt::AgentId, std::uint64_t cookie, Bytes mad, mgmt::MadResult) {
  const auto handle = static_cast<std::uint32_t>(cookie);
  const auto header = MadHeader::parse(mad);
  if (handle == 0 || !header) return;
  if (header->attribute_id == MemberRecord::kAttributeId) {
    with_hops_.erase(handle);
    return receiver_.group_failed(handle, std::errc::timed_out);
  }
  if (header->attribute_id == wire::ServiceRecord::kAttributeId) {
    return receiver_.host_failed(handle, std::errc::timed_out);
  }
  counters_.add(CmMadCounter::kRoutesUnanswered);
  receiver_.route_failed(handle, std::errc::timed_out);
}

}  // namespace weft::daemon
