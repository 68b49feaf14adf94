// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/administrator.h"

#include <algorithm>
#include <utility>

#include "sm/sa/tables.h"
#include "sm/sa/trace.h"
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
constexpr std::uint32_t kClassManager = 4;  // as the producer of a notice
// IBA 15.2.4.1, table 190: groups, several paths, masks of capabilities; in the second mask, that a
// path's reverse is one too, MulticastFDBTop, additional GUIDs, and members that only send.
constexpr std::uint16_t kCapabilities = 1u << 8 | 1u << 9 | 1u << 10 | 1u << 13;
constexpr std::uint32_t kCapabilities2 = 1u << 2 | 1u << 3 | 1u << 5 | 1u << 12;

constexpr MadMethod response_to(MadMethod method) {
  switch (method) {
    case MadMethod::kGetTable:
    case MadMethod::kGetTraceTable:
      return MadMethod::kGetTableResponse;
    case MadMethod::kGetMulti:
      return MadMethod::kGetMultiResponse;
    case MadMethod::kDelete:
      return MadMethod::kDeleteResponse;
    default:
      return MadMethod::kGetResponse;
  }
}

// All that is no attribute is one kind, or who asks could make up as many as he likes.
SaKind kind_of(const SaRequest& request) {
  const bool known = !wire::to_string(request.attribute()).empty();
  return {.method = request.header.method,
          .attribute = known ? request.attribute() : wire::SaAttribute{}};
}

}  // namespace

Administrator::Administrator(mgmt::MadLayer& port, const AdministratorOptions& options)
    : port_(port),
      options_(options),
      groups_(options.groups),
      services_(options.services),
      guids_(options.aliases),
      subscriptions_(options.subscriptions),
      paths_(view_, groups_, options.paths),
      reporter_(port, view_, subscriptions_, counters_, options.reports) {
}

Administrator::~Administrator() {
  if (agent_) port_.remove_agent(*agent_);
}

Expected<void> Administrator::start() {
  mgmt::AgentRequest request{.mgmt_class = wire::MgmtClass::kSubnAdm,
                             .class_version = wire::kSaClassVersion,
                             .rmpp = true};
  for (const MadMethod method :
       {MadMethod::kGet, MadMethod::kSet, MadMethod::kGetTable, MadMethod::kGetTraceTable,
        MadMethod::kGetMulti, MadMethod::kDelete}) {
    request.methods.set(static_cast<std::size_t>(method));
  }
  auto agent = port_.add_agent(request, *this);
  if (!agent) return tl::unexpected(agent.error());
  agent_ = *agent;
  return {};
}

std::size_t Administrator::restore(const StoredSubnet& stored, Time now) {
  std::size_t left_out = 0;
  for (const GroupState& group : stored.groups)
    left_out += groups_.restore(group) ? 0 : 1;
  for (const ServiceState& service : stored.services)
    left_out += services_.restore(service, now) ? 0 : 1;
  for (const SubscriptionState& subscription : stored.subscriptions)
    left_out += subscriptions_.restore(subscription) ? 0 : 1;
  for (const AliasGuid& alias : stored.aliases)
    left_out += guids_.restore(view_, alias) ? 0 : 1;
  return left_out;
}

void Administrator::record_to(SubnetStore* store) {
  groups_.record_to(store);
  services_.record_to(store);
  subscriptions_.record_to(store);
  guids_.record_to(store);
}

void Administrator::record_all(Time now) const {
  groups_.record_all();
  services_.record_all(now);
  subscriptions_.record_all();
  guids_.record_all(view_);
}

void Administrator::subnet_changed(const Subnet& subnet, const Routes& routes,
                                   std::uint64_t gid_prefix, Time now) {
  std::vector<Guid> before;
  for (const ViewEnd& end : view_.ends())
    before.push_back(end.guid);
  std::sort(before.begin(), before.end());
  view_.update(subnet, routes, gid_prefix);
  std::size_t mlids = SIZE_MAX;
  for (const SubnetNode& node : subnet.nodes) {
    if (node.switch_info) mlids = std::min<std::size_t>(mlids, node.switch_info->multicast_cap);
  }
  groups_.set_mlids(mlids);
  guids_.forget_missing(view_);
  adopt_guids(before);
  notice_guids();
  groups_.forget_missing(view_);
  subscriptions_.view_changed(view_);
  notice_groups();
  notice_ports(before);
  reporter_.view_changed();
  reporter_.run(*agent_, now);
}

// Who becomes master takes over what there is; who is it already, only what comes from elsewhere.
void Administrator::adopt_guids(const std::vector<Guid>& before) {
  for (const ViewEnd& end : view_.ends()) {
    const bool is_new = !std::binary_search(before.begin(), before.end(), end.guid);
    if (is_new_master_ || is_new) guids_.adopt(view_, end);
  }
  if (master_ && std::exchange(is_new_master_, false)) guids_.touch();
}

void Administrator::set_master(bool master) {
  is_new_master_ = is_new_master_ || (master && !master_);
  master_ = master;
  if (!master) reporter_.clear();
}

void Administrator::take_trap(const ReceivedTrap& trap) {
  if (!master_) return counters_.add(SaCounter::kDroppedNoMaster);
  reporter_.take_trap(trap, now_);
}

void Administrator::notice(wire::TrapNumber trap, const Gid& about, std::optional<PKey> group) {
  Report report{.notice = {.type = wire::NoticeType::kSubnetManagement,
                           .producer = kClassManager,
                           .trap = trap},
                .group = group};
  set_gid(report.notice, about);
  const Subnet& subnet = view_.subnet();
  if (!subnet.nodes.empty()) {
    const bool is_switch = subnet.nodes.front().is_switch();
    report.notice.issuer = view_.lid_of({0, is_switch ? std::uint8_t{0} : options_.own_port});
    const std::uint32_t own = view_.end_of(report.notice.issuer);
    if (own != SubnetView::kNobody) report.issuer = view_.gid_of(view_.ends()[own]);
  }
  reporter_.add(report);
}

void Administrator::notice_ports(const std::vector<Guid>& before) {
  // With the first view of its life, ports have not come: they are found.
  if (subscriptions_.size() == 0 || before.empty()) return;
  std::vector<Guid> here;
  for (const ViewEnd& end : view_.ends())
    here.push_back(end.guid);
  std::sort(here.begin(), here.end());
  std::vector<Guid> gone;
  std::vector<Guid> come;
  std::set_difference(before.begin(), before.end(), here.begin(), here.end(),
                      std::back_inserter(gone));
  std::set_difference(here.begin(), here.end(), before.begin(), before.end(),
                      std::back_inserter(come));
  for (const Guid guid : gone)
    notice(wire::TrapNumber::kGidOutOfService, make_gid(view_.gid_prefix(), guid));
  for (const Guid guid : come)
    notice(wire::TrapNumber::kGidInService, make_gid(view_.gid_prefix(), guid));
}

void Administrator::notice_groups() {
  for (const GroupTable::Event& event : groups_.take_events()) {
    const auto trap =
        event.created ? wire::TrapNumber::kGroupCreated : wire::TrapNumber::kGroupDeleted;
    notice(trap, event.mgid, event.pkey);
  }
}

void Administrator::notice_guids() {
  for (const GuidRecords::Event& event : guids_.take_events()) {
    const Gid gid = make_gid(view_.gid_prefix(), event.guid);
    notice(event.added ? wire::TrapNumber::kGidInService : wire::TrapNumber::kGidOutOfService, gid);
    if (!event.added) groups_.forget(gid);
  }
}

void Administrator::received(mgmt::AgentId, const mgmt::ReceivedMad& mad) {
  if (mad.cookie) return reporter_.finished(true);  // a subscriber confirms
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
  if (cookie != 0) reporter_.finished(result == mgmt::MadResult::kSent);  // else an answer, by RMPP
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
  notice_groups();
  reporter_.run(*agent_, now);
}

std::optional<Time> Administrator::deadline() const {
  if (!waiting_.empty() || reporter_.is_due()) return now_;
  return services_.deadline();
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
  ++queries_[kind_of(request)];
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
  // IBA 15.4.6: a table that has no records is an answer, and no error.
  if (request.header.method == MadMethod::kGetTable && reply.status() == SaStatus::kNoRecords) {
    return 0;
  }
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
    case SaAttribute::kGuidInfoRecord:
      guids_.set(view_, request, reply);
      notice_guids();
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
    case SaAttribute::kGuidInfoRecord:
      guids_.remove(view_, request, reply);
      notice_guids();
      return true;
    default:
      return false;
  }
}

bool Administrator::get(const SaRequest& request, SaReply& reply) {
  const SaAttribute attribute = request.attribute();
  const bool multi = request.header.method == MadMethod::kGetMulti;
  if (request.header.method == MadMethod::kGetTraceTable) {
    if (attribute != SaAttribute::kPathRecord) return false;
    answer_trace(view_, paths_, request, reply);
    return true;
  }
  if (attribute == SaAttribute::kMultiPathRecord || multi) {
    if (attribute != SaAttribute::kMultiPathRecord || !multi) return false;
    paths_.multi_paths(request, reply);
    return true;
  }
  const bool shows_multicast =
      attribute == SaAttribute::kMulticastRecord || attribute == SaAttribute::kSwitchInfoRecord;
  if (shows_multicast && multicast_source_) view_.update_multicast(multicast_source_());
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
  if (header.method == MadMethod::kGetTraceTable && status == 0) {
    header.attribute_id = static_cast<std::uint16_t>(SaAttribute::kTraceRecord);
  }
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
