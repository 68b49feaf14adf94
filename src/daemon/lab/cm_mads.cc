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

std::errc CmMads::ask(std::uint32_t identifier, const rdmacm::RouteQuestion& question) {
  const wire::PortInfo info = node().port_info(question.port);
  if (info.state != wire::PortState::kActive || !hca::is_unicast(info.master_sm_lid)) {
    return std::errc::network_unreachable;
  }
  const wire::MadBuffer mad = path_question(question, identifier);
  const mgmt::MadRequest request{
      .to = {.lid = info.master_sm_lid, .sl = info.master_sm_sl, .qpn = kQp1, .qkey = kGsiQKey},
      .mad = mad,
      .timeout = std::max(question.patience / (kRetries + 1), kLeastPatience),
      .retries = kRetries,
      .cookie = identifier};
  const auto sent =
      mad_port(question.port).send(ports_[question.port - 1u].administration, request, io::now());
  node().management_used();
  if (!sent) return sent.error().code;
  counters_.add(CmMadCounter::kRoutesAsked);
  return {};
}

void CmMads::forget(std::uint32_t identifier) {
  for (const PortAgents& each : ports_)
    mad_port(each.port).cancel(each.administration, identifier);
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

void CmMads::take_answer(std::uint32_t identifier, Bytes mad) {
  const auto header = MadHeader::parse(mad);
  const bool found = header && header->status == 0 && header->method == MadMethod::kGetResponse &&
                     header->attribute_id == kPathRecord &&
                     mad.size() >= wire::SaHeader::kDataOffset + rdmacm::PathRecord::kSize;
  counters_.add(found ? CmMadCounter::kRoutesFound : CmMadCounter::kRoutesNone);
  if (!found) return receiver_.route_failed(identifier, std::errc::host_unreachable);
  receiver_.route_found(identifier,
                        rdmacm::PathRecord::parse(mad.subspan(wire::SaHeader::kDataOffset)));
}

void CmMads::finished(mgmt::AgentId, std::uint64_t cookie, Bytes, mgmt::MadResult) {
  counters_.add(CmMadCounter::kRoutesUnanswered);
  receiver_.route_failed(static_cast<std::uint32_t>(cookie), std::errc::timed_out);
}

}  // namespace weft::daemon
