// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/cm_questions.h"

#include <algorithm>

#include "daemon/lab/address_records.h"
#include "daemon/lab/administrator_way.h"
#include "daemon/sa_question.h"
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
constexpr std::uint64_t kCmQuestionsToJoin =
    MemberRecord::kHasMgid | MemberRecord::kHasPortGid | MemberRecord::kHasQKey |
    MemberRecord::kHasTrafficClass | MemberRecord::kHasPKey | MemberRecord::kHasSl |
    MemberRecord::kHasFlowLabel | MemberRecord::kHasJoinState;
constexpr std::uint64_t kToLeave =
    MemberRecord::kHasMgid | MemberRecord::kHasPortGid | MemberRecord::kHasJoinState;
constexpr Duration kJoinPatience = 3s;
constexpr std::uint8_t kAnyHops = 255;

constexpr unsigned kCmQuestionsRetries = 3;
constexpr Duration kLeastPatience = 100ms;  // for one answer

wire::MadBuffer path_question(const rdmacm::RouteQuestion& asked, std::uint32_t transaction) {
  std::uint64_t mask = PathRecord::kHasDgid | PathRecord::kHasSgid | PathRecord::kHasReversible |
                       PathRecord::kHasNumbPath | PathRecord::kHasServiceId;
  PathRecord record{.service_id = asked.service.value(),
                    .dgid = asked.dgid,
                    .sgid = asked.sgid,
                    .reversible = true,
                    .paths = 1};
  // As Linux has it, like the service: the type of service is the class of service.
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

}  // namespace

CmQuestions::CmQuestions(fabric::Node& node, Receiver& receiver)
    : node_(node), receiver_(receiver) {
}

CmQuestions::~CmQuestions() {
  for (std::size_t i = 0; i < agents_.size(); ++i)
    node_.management().mad_port(static_cast<mgmt::PortNumber>(i + 1)).remove_agent(agents_[i]);
  node_.management_used();
}

Expected<void> CmQuestions::open() {
  for (unsigned port = 1; port <= node_.port_count(); ++port) {
    const auto agent = node_.management()
                           .mad_port(static_cast<mgmt::PortNumber>(port))
                           .add_agent({.mgmt_class = wire::MgmtClass::kSubnAdm,
                                       .class_version = wire::kSaClassVersion},
                                      *this);
    if (!agent) return tl::unexpected(agent.error());
    agents_.push_back(*agent);
  }
  return {};
}

std::errc CmQuestions::send_question(mgmt::PortNumber port, Bytes mad, std::uint32_t handle,
                                     Duration patience) {
  const mgmt::MadRequest request{
      .mad = mad,
      .timeout = std::max(patience / (kCmQuestionsRetries + 1), kLeastPatience),
      .retries = kCmQuestionsRetries,
      .cookie = handle};
  const auto sent = send_to_administrator(node_, port, agents_[port - 1u], request);
  return sent ? std::errc{} : sent.error().code;
}

std::errc CmQuestions::ask(std::uint32_t identifier, const rdmacm::RouteQuestion& question) {
  const std::errc error = send_question(question.port, path_question(question, ++asked_),
                                        identifier, question.patience);
  if (error == std::errc{}) counters_.add(CmQuestionCounter::kRoutesAsked);
  return error;
}

std::errc CmQuestions::find_host(std::uint32_t identifier, const rdmacm::HostQuestion& question) {
  const std::errc error = send_question(question.port, address_question(question.address, ++asked_),
                                        identifier, question.patience);
  if (error == std::errc{}) counters_.add(CmQuestionCounter::kHostsAsked);
  return error;
}

std::errc CmQuestions::join(std::uint32_t membership, const rdmacm::GroupQuestion& question) {
  // Not every administrator gives packets to such groups the hops that they need (IBA 8.3.6).
  const bool leaves_subnet = wan::is_routed_group(question.mgid);
  const std::errc error = send_join(
      membership, question,
      leaves_subnet ? kCmQuestionsToJoin | MemberRecord::kHasHopLimit : kCmQuestionsToJoin);
  if (error != std::errc{}) return error;
  counters_.add(CmQuestionCounter::kGroupsAsked);
  if (leaves_subnet) with_hops_.insert_or_assign(membership, question);
  return error;
}

std::errc CmQuestions::send_join(std::uint32_t membership, const rdmacm::GroupQuestion& question,
                                 std::uint64_t mask) {
  return send_question(question.port, group_question(question, MadMethod::kSet, mask, ++asked_),
                       membership, kJoinPatience);
}

void CmQuestions::leave(const rdmacm::GroupQuestion& question) {
  const std::errc error =
      send_question(question.port, group_question(question, MadMethod::kDelete, kToLeave, ++asked_),
                    0, kJoinPatience);
  if (error == std::errc{}) counters_.add(CmQuestionCounter::kGroupsLeft);
}

void CmQuestions::forget(std::uint32_t handle) {
  with_hops_.erase(handle);
  for (std::size_t i = 0; i < agents_.size(); ++i)
    node_.management().mad_port(static_cast<mgmt::PortNumber>(i + 1)).cancel(agents_[i], handle);
}

void CmQuestions::received(mgmt::AgentId, const mgmt::ReceivedMad& mad) {
  if (mad.cookie) take_answer(static_cast<std::uint32_t>(*mad.cookie), mad.mad);
}

void CmQuestions::take_answer(std::uint32_t handle, Bytes mad) {
  const auto header = MadHeader::parse(mad);
  if (handle == 0 || !header || mad.size() < wire::kMadSize) return;
  if (header->attribute_id == MemberRecord::kAttributeId) return take_group(handle, *header, mad);
  if (header->attribute_id == wire::ServiceRecord::kAttributeId) return take_host(handle, mad);
  const bool found = header->status == 0 && header->method == MadMethod::kGetResponse &&
                     header->attribute_id == PathRecord::kAttributeId;
  counters_.add(found ? CmQuestionCounter::kRoutesFound : CmQuestionCounter::kRoutesNone);
  if (!found) return receiver_.route_failed(handle, std::errc::host_unreachable);
  const auto record = PathRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  receiver_.route_found(handle, rdmacm::PathRecord(*record));
}

void CmQuestions::take_host(std::uint32_t identifier, Bytes mad) {
  const auto gid = read_address_answer(mad);
  if (!gid) return receiver_.host_failed(identifier, std::errc::host_unreachable);
  counters_.add(CmQuestionCounter::kHostsFound);
  receiver_.host_found(identifier, *gid);
}

void CmQuestions::take_group(std::uint32_t membership, const MadHeader& header, Bytes mad) {
  const auto record = MemberRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  const rdmacm::GroupRecord group = group_of(*record);
  const auto with_hops = with_hops_.extract(membership);
  // There may be such a group, with another hop limit.
  if (header.status != 0 && with_hops &&
      send_join(membership, with_hops.mapped(), kCmQuestionsToJoin) == std::errc{}) {
    return;
  }
  if (header.status != 0 || hca::is_unicast(group.mlid) || group.mlid == Lid{}) {
    return receiver_.group_failed(membership, std::errc::invalid_argument);
  }
  counters_.add(CmQuestionCounter::kGroupsJoined);
  receiver_.group_joined(membership, group);
}

void CmQuestions::finished(mgmt::AgentId, std::uint64_t cookie, Bytes mad, mgmt::MadResult) {
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
  counters_.add(CmQuestionCounter::kRoutesUnanswered);
  receiver_.route_failed(handle, std::errc::timed_out);
}

}  // namespace weft::daemon
