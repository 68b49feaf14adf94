// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/administrator.h"

#include <algorithm>
#include <utility>

#include "sm/sa/tables.h"
#include "wire/class_port_info.h"
#include "wire/rmpp.h"
#include "wire/sa/multi_path_record.h"
#include "wire/sa/sa_layout.h"

namespace weft::sm {
namespace {

using wire::MadMethod;
using wire::MadStatus;
using wire::SaAttribute;
using wire::SaHeader;
using wire::SaStatus;

constexpr std::uint8_t kResponseTime = 18;  // about a second: 4.096 us * 2^18
constexpr Duration kReportPatience = 1s;
constexpr unsigned kReportRetries = 3;
constexpr std::size_t kNoticeRecord = 80;   // with the GID of its issuer
constexpr std::uint32_t kClassManager = 4;  // as the producer of a notice
// IBA 15.2.4.1, table 190: groups, several paths, masks of capabilities; in the second mask,
// members that only send, and that a path's reverse is one too.
constexpr std::uint16_t kCapabilities = 1u << 8 | 1u << 9 | 1u << 10 | 1u << 13;
constexpr std::uint32_t kCapabilities2 = 1u << 2 | 1u << 12;

constexpr MadMethod response_to(MadMethod method) {
  switch (method) {
    case MadMethod::kGetTable:
      return MadMethod::kGetTableResponse;
    case MadMethod::kGetMulti:
      return MadMethod::kGetMultiResponse;
    case MadMethod::kDelete:
      return MadMethod::kDeleteResponse;
    default:
      return MadMethod::kGetResponse;
  }
}

}  // namespace

Administrator::Administrator(mgmt::MadPort& port, const AdministratorOptions& options)
    : port_(port),
      options_(options),
      groups_(options.groups),
      services_(options.services),
      subscriptions_(options.subscriptions),
      paths_(view_, groups_, options.paths) {
}

Administrator::~Administrator() {
  if (agent_) port_.remove_agent(*agent_);
}

Expected<void> Administrator::start() {
  mgmt::AgentRequest request{.mgmt_class = wire::MgmtClass::kSubnAdm,
                             .class_version = wire::kSaClassVersion,
                             .rmpp = true};
  for (const MadMethod method : {MadMethod::kGet, MadMethod::kSet, MadMethod::kGetTable,
                                 MadMethod::kGetMulti, MadMethod::kDelete}) {
    request.methods.set(static_cast<std::size_t>(method));
  }
  auto agent = port_.add_agent(request, *this);
  if (!agent) return tl::unexpected(agent.error());
  agent_ = *agent;
  return {};
}

void Administrator::subnet_changed(const Subnet& subnet, const Routes& routes,
                                   std::uint64_t gid_prefix, Time now) {
  std::vector<Guid> before;
  for (const ViewEnd& end : view_.ends())
    before.push_back(end.guid);
  view_.update(subnet, routes, gid_prefix);
  std::size_t mlids = SIZE_MAX;
  for (const SubnetNode& node : subnet.nodes) {
    if (node.switch_info) mlids = std::min<std::size_t>(mlids, node.switch_info->multicast_cap);
  }
  groups_.set_mlids(mlids);
  groups_.forget_missing(view_);
  subscriptions_.forget_missing(view_);
  report_group_events(now);
  report_ports(before, now);
}

void Administrator::report_ports(const std::vector<Guid>& before, Time now) {
  const auto tell = [&](wire::TrapNumber trap, Guid guid) {
    wire::Notice notice{
        .type = wire::NoticeType::kSubnetManagement, .producer = kClassManager, .trap = trap};
    set_gid(notice, make_gid(view_.gid_prefix(), guid));
    report(notice, now);
  };
  if (subscriptions_.size() == 0) return;
  std::vector<Guid> old = before;
  std::vector<Guid> here;
  for (const ViewEnd& end : view_.ends())
    here.push_back(end.guid);
  std::sort(old.begin(), old.end());
  std::sort(here.begin(), here.end());
  std::vector<Guid> gone;
  std::vector<Guid> come;
  std::set_difference(old.begin(), old.end(), here.begin(), here.end(), std::back_inserter(gone));
  std::set_difference(here.begin(), here.end(), old.begin(), old.end(), std::back_inserter(come));
  for (const Guid guid : gone)
    tell(wire::TrapNumber::kGidOutOfService, guid);
  for (const Guid guid : come)
    tell(wire::TrapNumber::kGidInService, guid);
}

void Administrator::report_group_events(Time now) {
  for (const GroupTable::Event& event : groups_.take_events()) {
    wire::Notice notice{
        .type = wire::NoticeType::kSubnetManagement,
        .producer = kClassManager,
        .trap = event.created ? wire::TrapNumber::kGroupCreated : wire::TrapNumber::kGroupDeleted};
    set_gid(notice, event.mgid);
    report(notice, now);
  }
}

void Administrator::report(const wire::Notice& notice, Time now) {
  for (const mgmt::MadAddress& to : subscriptions_.who_wants(view_, notice)) {
    wire::MadBuffer mad{};
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnAdm,
                    .class_version = wire::kSaClassVersion,
                    .method = MadMethod::kReport,
                    .transaction_id = ++last_report_,
                    .attribute_id = static_cast<std::uint16_t>(SaAttribute::kNotice)}
        .write(mad);
    SaHeader{.attribute_offset = kNoticeRecord / 8}.write(mad);
    notice.write(MutableBytes(mad).subspan(SaHeader::kDataOffset));
    const auto sent = port_.send(*agent_,
                                 {.to = to,
                                  .mad = mad,
                                  .timeout = kReportPatience,
                                  .retries = kReportRetries,
                                  .cookie = last_report_},
                                 now);
    counters_.add(sent ? SaCounter::kReports : SaCounter::kReportsLost);
  }
}

void Administrator::received(mgmt::AgentId, const mgmt::ReceivedMad& mad) {
  if (mad.cookie) return;  // a subscriber confirms
  if (!master_) return counters_.add(SaCounter::kDroppedNoMaster);
  if (mad.mad.size() < SaHeader::kDataOffset) return counters_.add(SaCounter::kDroppedNonsense);
  const Lid source = mad.from.lid;
  auto queue = waiting_.find(source);
  if (queue == waiting_.end()) {
    if (waiting_.size() >= options_.ports_waiting) return counters_.add(SaCounter::kDroppedFlood);
    queue = waiting_.emplace(source, Queue{}).first;
  }
  if (queue->second.size() >= options_.queue) return counters_.add(SaCounter::kDroppedFlood);
  queue->second.push_back({.from = mad.from, .mad = {mad.mad.begin(), mad.mad.end()}});
}

void Administrator::finished(mgmt::AgentId, std::uint64_t cookie, Bytes, mgmt::MadResult result) {
  if (cookie == 0 || result == mgmt::MadResult::kSent) return;  // an answer, by RMPP
  counters_.add(SaCounter::kReportsLost);
}

void Administrator::run(Time now) {
  now_ = now;
  services_.run(now);
  while (!waiting_.empty()) {
    auto turn = waiting_.upper_bound(last_served_);
    if (turn == waiting_.end()) turn = waiting_.begin();
    last_served_ = turn->first;
    const Question question = std::move(turn->second.front());
    turn->second.pop_front();
    if (turn->second.empty()) waiting_.erase(turn);
    serve(question);
  }
  report_group_events(now);
}

std::optional<Time> Administrator::deadline() const {
  return waiting_.empty() ? services_.deadline() : std::optional(now_);
}

void Administrator::serve(const Question& question) {
  // What is short has zeros where there is no more.
  std::vector<std::byte> data(question.mad.begin() + SaHeader::kDataOffset, question.mad.end());
  data.resize(std::max(data.size(), SaHeader::kDataSize));
  SaRequest request{.from = question.from,
                    .header = *wire::MadHeader::parse(question.mad),
                    .sa = *SaHeader::parse(question.mad),
                    .data = data,
                    .requester = view_.end_of(question.from.lid)};
  if (request.sa.sm_key != 0 && request.sa.sm_key != options_.sm_key) {
    return counters_.add(SaCounter::kDroppedKey);
  }
  request.trusted = request.sa.sm_key != 0;
  SaReply reply(options_.answer);
  const std::uint16_t status = answer(request, reply);
  counters_.add(SaCounter::kQueries);
  counters_.add(status == 0 ? SaCounter::kRecords : SaCounter::kRefused,
                status == 0 ? reply.count() : 1);
  send(request, status, reply);
}

std::uint16_t Administrator::answer(const SaRequest& request, SaReply& reply) {
  bool known = false;
  switch (request.header.method) {
    case MadMethod::kSet:
      known = set(request, reply);
      break;
    case MadMethod::kDelete:
      known = remove(request, reply);
      break;
    default:
      known = get(request, reply);
      break;
  }
  if (!known) return static_cast<std::uint16_t>(MadStatus::kBadMethodAttribute);
  if (reply.status() != SaStatus::kOk || request.is_table()) {
    return static_cast<std::uint16_t>(reply.status());
  }
  // IBA 15.4.6: what is not for a table is for one record.
  if (reply.count() == 0) return static_cast<std::uint16_t>(SaStatus::kNoRecords);
  if (reply.count() > 1) return static_cast<std::uint16_t>(SaStatus::kTooManyRecords);
  return 0;
}

bool Administrator::set(const SaRequest& request, SaReply& reply) {
  switch (request.attribute()) {
    case SaAttribute::kMemberRecord:
      groups_.join(view_, request, reply);
      return true;
    case SaAttribute::kServiceRecord:
      services_.set(view_, request, reply, now_);
      return true;
    case SaAttribute::kInformInfo:
      subscriptions_.set(view_, request, reply);
      return true;
    default:
      return false;
  }
}

bool Administrator::remove(const SaRequest& request, SaReply& reply) {
  switch (request.attribute()) {
    case SaAttribute::kMemberRecord:
      groups_.leave(view_, request, reply);
      return true;
    case SaAttribute::kServiceRecord:
      services_.remove(request, reply);
      return true;
    default:
      return false;
  }
}

bool Administrator::get(const SaRequest& request, SaReply& reply) {
  const SaAttribute attribute = request.attribute();
  const bool multi = request.header.method == MadMethod::kGetMulti;
  if (attribute == SaAttribute::kMultiPathRecord || multi) {
    if (attribute != SaAttribute::kMultiPathRecord || !multi) return false;
    paths_.multi_paths(request, reply);
    return true;
  }
  if (attribute == SaAttribute::kMulticastRecord && multicast_source_) {
    view_.update_multicast(multicast_source_());
  }
  if (table_layout(attribute) != nullptr) {
    answer_table(view_, request, reply);
    return true;
  }
  switch (attribute) {
    case SaAttribute::kClassPortInfo:
      class_port_info(reply);
      return !request.is_table();
    case SaAttribute::kPathRecord:
      paths_.paths(request, reply);
      return true;
    case SaAttribute::kMemberRecord:
      groups_.find(request, reply);
      return true;
    case SaAttribute::kServiceRecord:
      services_.find(view_, request, reply, now_);
      return true;
    case SaAttribute::kInformInfoRecord:
      subscriptions_.find(request, reply);
      return true;
    case SaAttribute::kSmInfoRecord:
      manager_records(request, reply);
      return true;
    default:
      return false;
  }
}

void Administrator::class_port_info(SaReply& reply) const {
  wire::ClassPortInfo{.class_version = wire::kSaClassVersion,
                      .capability_mask = kCapabilities,
                      .capability_mask2 = kCapabilities2,
                      .response_time = kResponseTime}
      .write(reply.add(wire::ClassPortInfo::kSize));
}

void Administrator::manager_records(const SaRequest& request, SaReply& reply) const {
  for (const Manager& manager : managers_) {
    const MutableBytes record = reply.add(wire::kSmInfoRecord.size);
    wire::store_be16(record.data(), manager.lid.value());
    wire::SmInfo info = manager.info;
    if (!request.trusted) info.sm_key = 0;
    info.write(record.subspan(4));
    if (!wire::matches(wire::kSmInfoRecord, request.sa.component_mask, request.data, record))
      reply.drop_last();
  }
}

void Administrator::send(const SaRequest& request, std::uint16_t status, const SaReply& reply) {
  const Bytes records = status == 0 ? reply.records() : Bytes{};
  std::vector<std::byte> mad(SaHeader::kDataOffset + records.size());
  wire::MadHeader header = request.header;
  header.method = response_to(header.method);
  header.status = status;
  header.write(mad);
  // Tables are told by RMPP, be they ever so short.
  if (request.is_table() && status == 0) {
    wire::RmppHeader{.type = wire::RmppType::kData,
                     .response_time = wire::RmppHeader::kNoResponseTime,
                     .flags = wire::kRmppActive}
        .write(mad);
  }
  SaHeader sa = request.sa;
  sa.sm_key = 0;
  sa.attribute_offset = static_cast<std::uint16_t>(reply.record_size() / 8);
  sa.write(mad);
  std::copy(records.begin(), records.end(), mad.begin() + SaHeader::kDataOffset);
  if (!port_.send(*agent_, {.to = request.from, .mad = mad}, now_)) {
    counters_.add(SaCounter::kUnsent);
  }
}

}  // namespace weft::sm
