// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/cm_mads.h"

#include <algorithm>
#include <cstring>

#include "io/clock.h"
#include "wire/cm_field.h"
#include "wire/sa.h"

namespace weft::daemon {
namespace {

using wire::MadHeader;
using wire::MadMethod;

constexpr std::uint16_t kPathRecord = 0x0035;  // IBA 15.2.5.16
// Bits of its ComponentMask.
constexpr std::uint64_t kHasDgid = 1u << 2;
constexpr std::uint64_t kHasSgid = 1u << 3;
constexpr std::uint64_t kHasReversible = 1u << 11;
constexpr std::uint64_t kHasNumbPath = 1u << 12;
constexpr std::uint64_t kHasQosClass = 1u << 14;
// And where these are in it.
constexpr std::size_t kDgid = 8;
constexpr std::size_t kSgid = 24;
constexpr std::size_t kReversibleNumbPath = 49;
constexpr std::size_t kQosClassSl = 52;
constexpr unsigned kQosClassShift = 4;
constexpr std::byte kReversibleOne{0x81};

constexpr unsigned kRetries = 3;
constexpr Duration kLeastPatience = 100ms;  // for one answer

wire::MadBuffer path_question(const rdmacm::RouteQuestion& question, std::uint32_t transaction) {
  wire::MadBuffer mad{};
  const MadHeader header{.mgmt_class = wire::MgmtClass::kSubnAdm,
                         .class_version = wire::kSaClassVersion,
                         .method = MadMethod::kGet,
                         .transaction_id = transaction,
                         .attribute_id = kPathRecord};
  header.write(mad);
  std::uint64_t mask = kHasDgid | kHasSgid | kHasReversible | kHasNumbPath;
  std::byte* const record = mad.data() + wire::SaHeader::kDataOffset;
  wire::store_gid(record + kDgid, question.dgid);
  wire::store_gid(record + kSgid, question.sgid);
  record[kReversibleNumbPath] = kReversibleOne;
  // As Linux has it: the type of service is the class of service.
  if (question.traffic_class != 0) {
    mask |= kHasQosClass;
    wire::store_be16(record + kQosClassSl,
                     static_cast<std::uint16_t>(question.traffic_class << kQosClassShift));
  }
  wire::SaHeader{.component_mask = mask}.write(mad);
  return mad;
}

constexpr std::uint16_t kMemberRecord = 0x0038;  // MCMemberRecord, IBA 15.2.5.17
// Bits of its ComponentMask: MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, JoinState. They
// are what makes a group that is not there yet.
constexpr std::uint64_t kToJoin =
    1u << 0 | 1u << 1 | 1u << 2 | 1u << 6 | 1u << 7 | 1u << 12 | 1u << 13 | 1u << 16;
constexpr std::uint64_t kToLeave = 1u << 0 | 1u << 1 | 1u << 16;
// And where these are in it.
constexpr std::size_t kPortGid = 16;
constexpr std::size_t kQKeyAt = 32;
constexpr std::size_t kMlid = 36;
constexpr std::size_t kTClass = 39;
constexpr std::size_t kPKeyAt = 40;
constexpr std::size_t kRate = 42;
constexpr std::size_t kSlFlowHop = 44;
constexpr std::size_t kJoinState = 48;
constexpr std::byte kFullMember{1};
constexpr std::byte kSendOnly{4};
constexpr Duration kJoinPatience = 3s;

wire::MadBuffer group_question(const rdmacm::GroupQuestion& question, MadMethod method,
                               std::uint32_t transaction) {
  wire::MadBuffer mad{};
  const MadHeader header{.mgmt_class = wire::MgmtClass::kSubnAdm,
                         .class_version = wire::kSaClassVersion,
                         .method = method,
                         .transaction_id = transaction,
                         .attribute_id = kMemberRecord};
  header.write(mad);
  wire::SaHeader{.component_mask = method == MadMethod::kSet ? kToJoin : kToLeave}.write(mad);
  std::byte* const record = mad.data() + wire::SaHeader::kDataOffset;
  wire::store_gid(record, question.mgid);
  wire::store_gid(record + kPortGid, question.port_gid);
  wire::store_be32(record + kQKeyAt, question.qkey.value());
  record[kTClass] = std::byte{question.traffic_class};
  wire::store_be16(record + kPKeyAt, question.pkey.value());
  record[kJoinState] = question.send_only ? kSendOnly : kFullMember;
  return mad;
}

rdmacm::GroupRecord group_in(Bytes record) {
  const std::uint32_t sl_flow_hop = wire::load_be32(record.data() + kSlFlowHop);
  return {.mgid = wire::load_gid(record.data()),
          .mlid = Lid{wire::load_be16(record.data() + kMlid)},
          .qkey = QKey{wire::load_be32(record.data() + kQKeyAt)},
          .sl = Sl{static_cast<std::uint8_t>(sl_flow_hop >> 28)},
          .rate = static_cast<std::uint8_t>(wire::load_u8(record.data() + kRate) & 0x3F),
          .flow_label = sl_flow_hop >> 8 & 0xFFFFF,
          .hop_limit = static_cast<std::uint8_t>(sl_flow_hop),
          .traffic_class = wire::load_u8(record.data() + kTClass)};
}

mgmt::MadAddress address_of(const hca::Path& to) {
  mgmt::MadAddress out{
      .lid = to.dlid, .sl = to.sl, .path_bits = to.source_path_bits, .qpn = kQp1, .qkey = kGsiQKey};
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

void CmMads::send(const hca::Path& to, std::span<const std::byte, mgmt::kMadSize> mad) {
  const auto place = hosts_.find(to.sgid);
  const bool ours = place && place->node == node_;
  const auto sent = ours ? mad_port(place->port)
                               .send(ports_[place->port - 1u].connections,
                                     {.to = address_of(to), .mad = mad}, io::now())
                         : Expected<void>(fail(std::errc::address_not_available, ""));
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

std::errc CmMads::join(std::uint32_t membership, const rdmacm::GroupQuestion& question) {
  const std::errc error =
      send_question(question.port, group_question(question, MadMethod::kSet, ++asked_), membership,
                    kJoinPatience);
  if (error == std::errc{}) counters_.add(CmMadCounter::kGroupsAsked);
  return error;
}

void CmMads::leave(const rdmacm::GroupQuestion& question) {
  const std::errc error = send_question(
      question.port, group_question(question, MadMethod::kDelete, ++asked_), 0, kJoinPatience);
  if (error == std::errc{}) counters_.add(CmMadCounter::kGroupsLeft);
}

void CmMads::forget(std::uint32_t handle) {
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
  receiver_.received(mad.mad, from);
}

void CmMads::take_answer(std::uint32_t handle, Bytes mad) {
  const auto header = MadHeader::parse(mad);
  if (handle == 0 || !header || mad.size() < wire::kMadSize) return;
  if (header->attribute_id == kMemberRecord) return take_group(handle, *header, mad);
  const bool found = header->status == 0 && header->method == MadMethod::kGetResponse &&
                     header->attribute_id == kPathRecord;
  counters_.add(found ? CmMadCounter::kRoutesFound : CmMadCounter::kRoutesNone);
  if (!found) return receiver_.route_failed(handle, std::errc::host_unreachable);
  receiver_.route_found(handle,
                        rdmacm::PathRecord::parse(mad.subspan(wire::SaHeader::kDataOffset)));
}

void CmMads::take_group(std::uint32_t membership, const MadHeader& header, Bytes mad) {
  const rdmacm::GroupRecord group = group_in(mad.subspan(wire::SaHeader::kDataOffset));
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
  if (header->attribute_id == kMemberRecord) {
    return receiver_.group_failed(handle, std::errc::timed_out);
  }
  counters_.add(CmMadCounter::kRoutesUnanswered);
  receiver_.route_failed(handle, std::errc::timed_out);
}

}  // namespace weft::daemon
