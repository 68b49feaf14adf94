// SPDX-License-Identifier: Apache-2.0
#include "mgmt/connection_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "mgmt/cm_check.h"

namespace weft::mgmt {
namespace {

// What a peer's number may make us wait: 8.6 s for an answer, 69 s when it asks for patience. It
// could ask for 2.4 hours otherwise.
constexpr unsigned kMostPatience = 21;
// For this long the answer to a request that nobody here cares about any more is sent again.
constexpr Duration kConnectionManagerLinger = cm_interval(21);

}  // namespace

const char* to_string(CmState state) {
  constexpr std::array kNames{"idle",     "listen",        "REQ sent",         "REQ received",
                              "REP sent", "REP received",  "established",      "DREQ sent",
                              "timewait", "SIDR_REQ sent", "SIDR_REQ received"};
  return kNames[static_cast<std::size_t>(state)];
}

ConnectionManager::ConnectionManager(const CmConfig& config, const LocalEnds& ends,
                                     Entropy& entropy, MadSink& mads, EventSink* events)
    : config_(config),
      ends_(ends),
      entropy_(entropy),
      events_(events),
      table_(config.limits),
      out_(config.first_retry, table_, mads, counters_),
      early_(config.limits.early) {
}

CmId ConnectionManager::draw_id() {
  for (;;) {
    const CmId id{static_cast<std::uint32_t>(entropy_.draw())};
    if (id != CmId{} && table_.find(id) == nullptr && listeners_.find(id) == nullptr) return id;
  }
}

Duration ConnectionManager::patience(std::uint8_t exponent) const {
  return cm_interval(std::min<unsigned>(exponent, kMostPatience)) +
         2 * cm_interval(config_.packet_lifetime);
}

Expected<CmRoute> ConnectionManager::route_of(const hca::Path& path,
                                              std::uint8_t ack_timeout) const {
  const auto end = ends_.find(path.sgid);
  if (!end) {
    return fail(std::errc::address_not_available,
                fmt::format("source address {}: not one of ours", path.sgid.to_string()));
  }
  if (path.dgid.is_zero() || path.dgid.is_multicast()) {
    return fail(std::errc::invalid_argument,
                fmt::format("destination address {}: not of one peer", path.dgid.to_string()));
  }
  if (end->on_fabric && !(hca::is_unicast(path.dlid) && hca::is_unicast(end->lid))) {
    return fail(
        std::errc::address_not_available,
        fmt::format("no LID leads from {} to {}", path.sgid.to_string(), path.dgid.to_string()));
  }
  CmRoute route{.path = path, .end = *end, .ack_timeout = ack_timeout};
  route.path.sgid_index = end->sgid_index;
  if (route.path.scope_id == 0) route.path.scope_id = end->scope_id;
  return route;
}

Expected<CmEntry*> ConnectionManager::in_state(CmId id, std::initializer_list<CmState> states) {
  CmEntry* entry = table_.find(id);
  if (entry == nullptr || entry->orphan) {
    return fail(std::errc::no_such_file_or_directory,
                fmt::format("connection ID {:#010x}: there is none such", id.value()));
  }
  if (std::find(states.begin(), states.end(), entry->state) == states.end()) {
    return fail(std::errc::not_connected, fmt::format("connection ID {:#010x}: its state is {}",
                                                      id.value(), to_string(entry->state)));
  }
  return entry;
}

Expected<CmId> ConnectionManager::listen(const ListenParameters& parameters) {
  if (listeners_.size() >= config_.limits.listeners) {
    return fail(std::errc::too_many_files_open,
                fmt::format("{} listeners: there may be no more", listeners_.size()));
  }
  const CmId id = draw_id();
  if (const auto added = listeners_.add(id, parameters); !added) {
    return tl::unexpected(added.error());
  }
  early_.look_again([&](ServiceId service, const Gid& address) {
    return listeners_.match(service, address) != CmId{};
  });
  return id;
}

bool ConnectionManager::waits_for_listener(EarlyRequests::Request request, const Arrival& at) {
  if (early_.has(at.from, at.transaction)) {
    counters_.add(CmCounter::kRxRepeated);
    return true;
  }
  request.from = at.from;
  request.pkey = at.pkey;
  request.transaction = at.transaction;
  request.until = at.now + config_.early_patience;
  std::copy(at.mad.begin(), at.mad.end(), request.mad.begin());
  if (at.early && config_.early_patience > 0ms && early_.keep(request)) return true;
  counters_.add(CmCounter::kRefusedNoListener);
  return false;
}

tl::expected<CmEntry*, RejectReason> ConnectionManager::admit(ServiceId service,
                                                              const Gid& address) {
  const CmId listener_id = listeners_.match(service, address);
  CmListeners::Listener* listener = listeners_.find(listener_id);
  if (listener == nullptr) return tl::unexpected(RejectReason::kInvalidServiceId);
  if (listener->waiting >= listener->parameters.backlog) {
    counters_.add(CmCounter::kRefusedBacklog);
    return tl::unexpected(RejectReason::kNoResources);
  }
  CmEntry* entry = table_.add(draw_id(), true);
  if (entry == nullptr) {
    counters_.add(CmCounter::kRefusedLimit);
    return tl::unexpected(RejectReason::kNoResources);
  }
  ++listener->waiting;
  entry->waits_for = listener_id;
  entry->user = listener->parameters.user;
  entry->events = listener->parameters.events;
  entry->service_id = service;
  return entry;
}

void ConnectionManager::leave_backlog(CmEntry& entry) {
  CmListeners::Listener* listener = listeners_.find(std::exchange(entry.waits_for, CmId{}));
  if (listener == nullptr) return;
  assert(listener->waiting > 0);
  --listener->waiting;
}

void ConnectionManager::finish(CmEntry& entry) {
  leave_backlog(entry);
  out_.stop(entry);
  table_.release_queue_pair(entry);
  table_.release_peer_id(entry);
  entry.repeat.valid = false;
  entry.lap.reset();
  entry.state = CmState::kIdle;
  if (entry.orphan) table_.erase(entry);
}

void ConnectionManager::destroy(CmId id, Time now) {
  if (listeners_.find(id) != nullptr) return listeners_.remove(id);
  CmEntry* entry = table_.find(id);
  if (entry == nullptr || entry->orphan) return;
  switch (entry->state) {
    case CmState::kReqSent:
      give_up(*entry, now);
      break;
    case CmState::kReqReceived:
    case CmState::kRepReceived:
    case CmState::kRepSent:
      send_reject(*entry, {.reason = RejectReason::kConsumerReject});
      break;
    case CmState::kEstablished:
      send_dreq(*entry, {}, now);
      break;
    case CmState::kSidrReceived:
      (void)sidr_reply(id, {.status = SidrStatus::kRejected}, now);
      break;
    case CmState::kSidrSent:
      finish(*entry);
      break;
    case CmState::kIdle:
    case CmState::kListen:
    case CmState::kDreqSent:
    case CmState::kTimewait:
      break;
  }
  entry->orphan = true;
  if (entry->state != CmState::kIdle) return;
  if (entry->repeat.valid) {
    table_.linger(*entry, now + kConnectionManagerLinger);
  } else {
    table_.erase(*entry);
  }
}

Expected<void> ConnectionManager::set_user(CmId id, std::uint64_t user) {
  if (CmListeners::Listener* listener = listeners_.find(id)) {
    listener->parameters.user = user;
    return {};
  }
  CmEntry* entry = table_.find(id);
  if (entry == nullptr || entry->orphan) {
    return fail(std::errc::no_such_file_or_directory,
                fmt::format("connection ID {:#010x}: there is none such", id.value()));
  }
  entry->user = user;
  return {};
}

std::optional<CmState> ConnectionManager::state(CmId id) const {
  if (listeners_.find(id) != nullptr) return CmState::kListen;
  const CmEntry* entry = table_.find(id);
  if (entry == nullptr || entry->orphan) return std::nullopt;
  return entry->state;
}

std::uint16_t ConnectionManager::agreed_extensions(CmId id) const {
  const CmEntry* entry = table_.find(id);
  return entry == nullptr ? std::uint16_t{0} : entry->agreed;
}

void ConnectionManager::emit(CmEntry& entry, const What& what) {
  if (entry.orphan) return;
  waiting_events_.push_back({.id = entry.id, .user = entry.user, .what = what});
}

void ConnectionManager::deliver_events(Time now) {
  while (!waiting_events_.empty()) {
    CmEvent event = waiting_events_.front();
    waiting_events_.pop_front();
    // The consumer may have destroyed the connection while the event waited.
    const CmEntry* entry = table_.find(event.id);
    if (entry == nullptr || entry->orphan) continue;
    EventSink* const sink = entry->events != nullptr ? entry->events : events_;
    assert(sink != nullptr);
    event.now = now;
    sink->on_event(event);
  }
}

CmEntry* ConnectionManager::addressee(wire::CommId ours, wire::CommId theirs, const Arrival& at) {
  CmEntry* entry = table_.find(ours);
  if (entry == nullptr || entry->sidr) {
    counters_.add(CmCounter::kRxNoConnection);
    return nullptr;
  }
  const CmAddress sender = peer_of(at.from);
  const bool from_peer = sender == entry->peer || sender == peer_of(entry->route.path) ||
                         (entry->alternate && sender == peer_of(entry->alternate->path));
  const bool id_fits = entry->remote_id == wire::CommId{} || entry->remote_id == theirs;
  if (from_peer && id_fits) return entry;
  counters_.add(CmCounter::kRxWrongPeer);
  return nullptr;
}

void ConnectionManager::receive(Bytes mad, const hca::Path& from, PKey pkey, Time now) {
  counters_.add(CmCounter::kRxMads);
  handle(mad, from, pkey, now, true);
  deliver_events(now);
}

void ConnectionManager::handle(Bytes mad, const hca::Path& from, PKey pkey, Time now, bool early) {
  const auto header = wire::MadHeader::parse(mad);
  if (!header || mad.size() != wire::kMadSize ||
      header->base_version != wire::MadHeader::kBaseVersion ||
      header->mgmt_class != wire::MgmtClass::kCommMgt ||
      header->class_version != wire::kCmClassVersion) {
    counters_.add(CmCounter::kRxMalformed);
    return;
  }
  if (header->method != wire::MadMethod::kSend) {
    counters_.add(CmCounter::kRxUnknown);
    return;
  }
  dispatch(static_cast<wire::CmMessage>(header->attribute_id), mad.subspan(wire::MadHeader::kSize),
           {.transaction = header->transaction_id,
            .from = from,
            .pkey = pkey,
            .now = now,
            .mad = mad,
            .early = early});
}

template <class Message>
void ConnectionManager::parse_and_handle(Bytes body, const Arrival& at) {
  auto message = Message::parse(body);
  assert(message && "its length was checked");
  on(*message, at);
}

void ConnectionManager::dispatch(wire::CmMessage message, Bytes body, const Arrival& at) {
  switch (message) {
    case wire::CmMessage::kReq:
      return parse_and_handle<wire::CmReq>(body, at);
    case wire::CmMessage::kMra:
      return parse_and_handle<wire::CmMra>(body, at);
    case wire::CmMessage::kRej:
      return parse_and_handle<wire::CmRej>(body, at);
    case wire::CmMessage::kRep:
      return parse_and_handle<wire::CmRep>(body, at);
    case wire::CmMessage::kRtu:
      return parse_and_handle<wire::CmRtu>(body, at);
    case wire::CmMessage::kDreq:
      return parse_and_handle<wire::CmDreq>(body, at);
    case wire::CmMessage::kDrep:
      return parse_and_handle<wire::CmDrep>(body, at);
    case wire::CmMessage::kSidrReq:
      return parse_and_handle<wire::CmSidrReq>(body, at);
    case wire::CmMessage::kSidrRep:
      return parse_and_handle<wire::CmSidrRep>(body, at);
    case wire::CmMessage::kLap:
      return parse_and_handle<wire::CmLap>(body, at);
    case wire::CmMessage::kApr:
      return parse_and_handle<wire::CmApr>(body, at);
  }
  counters_.add(CmCounter::kRxUnknown);
}

std::optional<Time> ConnectionManager::deadline() const {
  if (!waiting_events_.empty()) return Time{};  // at once
  const auto exchange = table_.deadline();
  const auto request = early_.deadline();
  return exchange && request ? std::min(*exchange, *request) : exchange ? exchange : request;
}

void ConnectionManager::expire(Time now) {
  deliver_events(now);
  while (CmEntry* entry = table_.take_due(now)) {
    on_deadline(*entry, now);
    deliver_events(now);
  }
  while (const auto request = early_.take_due(now)) {
    handle(request->mad, request->from, request->pkey, now, false);
    deliver_events(now);
  }
}

void ConnectionManager::on_deadline(CmEntry& entry, Time now) {
  switch (entry.state) {
    case CmState::kReqSent:
    case CmState::kRepSent:
    case CmState::kDreqSent:
    case CmState::kSidrSent:
      if (out_.again(entry, entry.repeat, now)) return;
      counters_.add(CmCounter::kTimeouts);
      return give_up(entry, now);
    case CmState::kEstablished:
      assert(entry.lap && entry.lap->state == CmAlternateExchange::State::kAsked);
      if (out_.again(entry, entry.lap->repeat, now)) return;
      counters_.add(CmCounter::kTimeouts);
      entry.lap.reset();
      return emit(entry, Unreachable{.message = wire::CmMessage::kLap});
    case CmState::kTimewait:
      emit(entry, TimewaitExit{});
      return finish(entry);
    case CmState::kIdle:
      assert(entry.orphan && "only an answer that lingers has a deadline");
      return table_.erase(entry);
    default:
      assert(false && "no other state has a deadline");
  }
}

void ConnectionManager::give_up(CmEntry& entry, Time now) {
  // A peer that thinks about our message need not any more. Linux finds the connection by the GUID.
  wire::CmRej rej{.local_comm_id = entry.id,
                  .remote_comm_id = entry.remote_id,
                  .message = wire::CmAnswered::kReq,
                  .info_length = sizeof(std::uint64_t),
                  .reason = RejectReason::kTimeout};
  wire::store_be64(rej.info.data(), entry.route.end.ca_guid.value());
  switch (entry.state) {
    case CmState::kReqSent:
      out_.send(entry, rej, entry.transaction);
      emit(entry, Unreachable{.message = wire::CmMessage::kReq});
      return finish(entry);
    case CmState::kRepSent:
      rej.message = wire::CmAnswered::kRep;
      out_.send(entry, rej, entry.transaction);
      emit(entry, Unreachable{.message = wire::CmMessage::kRep});
      return finish(entry);
    case CmState::kSidrSent:
      emit(entry, Unreachable{.message = wire::CmMessage::kSidrReq});
      return finish(entry);
    default:
      return enter_timewait(entry, {.cause = Disconnected::Cause::kUnanswered}, now);
  }
}

}  // namespace weft::mgmt
