// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_connections.h"

#include <utility>
#include <variant>

#include "daemon/lan/lan_service.h"
#include "hca/types.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

// 4.096 us * 2^14, 67 ms: how long a peer takes to answer. With the manager's first intervals that
// is some six seconds until somebody who says nothing is given up.
constexpr std::uint8_t kAnswerTime = 14;
constexpr std::uint8_t kLanConnectionsRetries = 0;

constexpr std::uint32_t kLanConnectionsBacklog = 64;

// Q_Keys with this bit are the privileged ones of queue pairs, IBA 10.2.5.
constexpr std::uint32_t kControlled = 0x8000'0000;

bool can_take_datagrams(const mgmt::SidrReply& what) {
  return what.qpn > kQp1 && what.qpn != kMulticastQpn && (what.qkey.value() & kControlled) == 0 &&
         what.service_id == kLanService && is_lan_greeting(what.private_data.bytes());
}

}  // namespace

LanConnections::~LanConnections() {
  const Time now = io::now();
  for (const auto& [channel, state] : channels_)
    manager().destroy(channel, now);
  for (const auto& [question, number] : asked_)
    manager().destroy(question, now);
  if (listener_ != mgmt::CmId{}) manager().destroy(listener_, now);
  connections_.manager_used();
}

Expected<void> LanConnections::open() {
  auto listening = listen();
  connections_.manager_used();
  return listening;
}

Expected<void> LanConnections::listen() {
  const Gid address = place_.gid();
  const auto listener = manager().listen({.service_id = kLanService,
                                          .address = address,
                                          .backlog = kLanConnectionsBacklog,
                                          .events = this});
  if (!listener) return tl::unexpected(listener.error());
  if (listener_ != mgmt::CmId{}) manager().destroy(listener_, io::now());
  listener_ = *listener;
  listens_at_ = address;
  return {};
}

void LanConnections::port_changed() {
  if (place_.gid() == listens_at_) return;
  // Nobody else listens there: the subnet prefix is the same for all ports of a node.
  static_cast<void>(listen());
  connections_.manager_used();
}

hca::Path LanConnections::path_to(Guid port, const lan::PeerPath& path) const {
  return {.sgid = place_.gid(),
          .dgid = place_.view().gid_of(port),
          .hop_limit = path.global ? kLanHops : std::uint8_t{0},
          .sl = path.sl,
          .dlid = path.dlid,
          .source_path_bits =
              static_cast<std::uint8_t>(path.slid.value() - place_.view().lids.base.value()),
          .port = place_.at.port,
          .global = path.global};
}

bool LanConnections::ask(std::uint64_t number, const lan::Question& question) {
  if (!place_.view().lids.contains(question.path.slid)) return false;
  const auto asked = manager().sidr_request({.path = path_to(question.of, question.path),
                                             .service_id = kLanService,
                                             .cm_timeout = kAnswerTime,
                                             .max_cm_retries = kLanConnectionsRetries,
                                             .private_data = kLanGreeting,
                                             .events = this},
                                            io::now());
  connections_.manager_used();
  if (!asked) return false;
  counters_.add(LanSubnetCounter::kEndsAsked);
  asked_.emplace(*asked, number);
  return true;
}

Expected<LanChannel> LanConnections::connect(Guid port, const lan::PeerPath& path, Qpn qpn) {
  if (!place_.view().lids.contains(path.slid)) {
    return fail(std::errc::address_not_available, "the port has another LID by now");
  }
  if (channels_.size() >= kMostChannels) {
    return fail(std::errc::too_many_files_open, "this LAN port has no room for more connections");
  }
  const auto channel = manager().connect({.path = path_to(port, path),
                                          .service_id = kLanService,
                                          .type = hca::QpType::kUc,
                                          .qpn = qpn,
                                          .path_mtu = path.mtu,
                                          .flow_control = false,
                                          .remote_cm_timeout = kAnswerTime,
                                          .local_cm_timeout = kAnswerTime,
                                          .max_cm_retries = kLanConnectionsRetries,
                                          .private_data = kLanGreeting,
                                          .events = this},
                                         io::now());
  connections_.manager_used();
  if (!channel) return channel;
  counters_.add(LanSubnetCounter::kChannelsAsked);
  channels_[*channel] = {.qpn = qpn};
  return channel;
}

void LanConnections::disconnect(LanChannel channel) {
  if (channels_.erase(channel) == 0) return;
  manager().destroy(channel, io::now());
  connections_.manager_used();
}

void LanConnections::heard(LanChannel channel) {
  const auto found = channels_.find(channel);
  if (found == channels_.end() || found->second.connected) return;
  // Of one that we have asked for it says nothing new: its answer has come.
  static_cast<void>(manager().notify_established(channel));
  connections_.manager_used();
}

void LanConnections::on_event(const mgmt::CmEvent& event) {
  std::visit([&](const auto& what) { on(event, what); }, event.what);
}

void LanConnections::on(const mgmt::CmEvent& event, const mgmt::SidrRequest& what) {
  mgmt::SidrAnswer answer{.private_data = kLanGreeting};
  if (!is_lan_greeting(what.private_data.bytes())) {
    answer.status = mgmt::SidrStatus::kVersionNotSupported;
  } else if (!end_) {
    answer.status = mgmt::SidrStatus::kServiceNotSupported;
  } else {
    answer.qpn = end_->qpn;
    answer.qkey = end_->qkey;
  }
  const bool told = answer.status == mgmt::SidrStatus::kValid;
  counters_.add(told ? LanSubnetCounter::kEndsTold : LanSubnetCounter::kEndsRefused);
  static_cast<void>(manager().sidr_reply(event.id, answer, event.now));
  manager().destroy(event.id, event.now);
}

lan::Answer LanConnections::end_of(const mgmt::SidrReply& what) {
  switch (what.status) {
    case mgmt::SidrStatus::kValid:
      break;
    case mgmt::SidrStatus::kServiceNotSupported:
    case mgmt::SidrStatus::kVersionNotSupported:
    case mgmt::SidrStatus::kNoQp:
      return lan::Absent{};
    default:
      return lan::Unanswered{};  // it may have another answer later
  }
  if (can_take_datagrams(what)) return lan::DatagramEnd{.qpn = what.qpn, .qkey = what.qkey};
  counters_.add(LanSubnetCounter::kEndsMalformed);
  return lan::Unanswered{};
}

void LanConnections::on(const mgmt::CmEvent& event, const mgmt::SidrReply& what) {
  manager().destroy(event.id, event.now);
  answer_sidr(event.id, end_of(what));
}

void LanConnections::answer_sidr(mgmt::CmId question, const lan::Answer& answer) {
  const auto asked = asked_.extract(question);
  if (asked) owner_.answered(asked.mapped(), answer);
}

void LanConnections::refuse(mgmt::CmId request, mgmt::RejectReason reason, Time now) {
  counters_.add(LanSubnetCounter::kRequestsRefused);
  static_cast<void>(
      manager().reject(request, {.reason = reason, .private_data = kLanGreeting}, now));
  manager().destroy(request, now);
}

void LanConnections::on(const mgmt::CmEvent& event, const mgmt::ConnectRequest& what) {
  counters_.add(LanSubnetCounter::kRequests);
  if (!is_lan_greeting(what.private_data.bytes()) || what.type != hca::QpType::kUc) {
    counters_.add(LanSubnetCounter::kRequestsNotLan);
    return refuse(event.id, mgmt::RejectReason::kUnsupportedRequest, event.now);
  }
  if (!end_ || channels_.size() >= kMostChannels) {
    return refuse(event.id, mgmt::RejectReason::kNoResources, event.now);
  }
  const LanChannel channel = event.id;
  channels_[channel] = {};
  lan::Sender sender{.lid = what.path.dlid};
  if (what.path.global) sender.port = place_.view().port_of(what.path.dgid);
  const auto qpn = owner_.asked(channel, sender);
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return;
  if (!qpn) {
    channels_.erase(found);
    return refuse(channel, mgmt::RejectReason::kConsumerReject, event.now);
  }
  found->second.qpn = *qpn;
  if (!modify(channel, hca::QpState::kInit, event.now) ||
      !modify(channel, hca::QpState::kRtr, event.now)) {
    return;
  }
  const auto accepted =
      manager().accept(channel, {.qpn = *qpn, .private_data = kLanGreeting}, event.now);
  if (!accepted) end(channel, LanChannelEnd::kUnusable, event.now);
}

bool LanConnections::modify(LanChannel channel, hca::QpState to, Time now) {
  const auto step = manager().qp_attributes(channel, to);
  const bool done = step && owner_.modify(channel, *step);
  if (!channels_.contains(channel)) return false;
  if (!done) end(channel, LanChannelEnd::kUnusable, now);
  return done;
}

void LanConnections::on(const mgmt::CmEvent& event, const mgmt::ConnectResponse& what) {
  const LanChannel channel = event.id;
  if (!channels_.contains(channel)) return;
  if (!is_lan_greeting(what.private_data.bytes())) {
    return end(channel, LanChannelEnd::kRefused, event.now);
  }
  for (const auto state : {hca::QpState::kInit, hca::QpState::kRtr, hca::QpState::kRts}) {
    if (!modify(channel, state, event.now)) return;
  }
  if (!manager().ready(channel, {}, event.now)) {
    return end(channel, LanChannelEnd::kUnusable, event.now);
  }
  established(channel);
}

void LanConnections::on(const mgmt::CmEvent& event, const mgmt::Established&) {
  if (channels_.contains(event.id) && modify(event.id, hca::QpState::kRts, event.now)) {
    established(event.id);
  }
}

void LanConnections::established(LanChannel channel) {
  channels_.at(channel).connected = true;
  counters_.add(LanSubnetCounter::kChannelsMade);
  owner_.connected(channel);
}

void LanConnections::on(const mgmt::CmEvent& event, const mgmt::Rejected&) {
  end(event.id, LanChannelEnd::kRefused, event.now);
}

void LanConnections::on(const mgmt::CmEvent& event, const mgmt::Unreachable& what) {
  if (what.message == wire::CmMessage::kSidrReq) {
    manager().destroy(event.id, event.now);
    counters_.add(LanSubnetCounter::kEndsUnanswered);
    return answer_sidr(event.id, lan::Unanswered{});
  }
  end(event.id, LanChannelEnd::kUnanswered, event.now);
}

void LanConnections::on(const mgmt::CmEvent& event, const mgmt::Disconnected& what) {
  const bool unanswered = what.cause == mgmt::Disconnected::Cause::kUnanswered;
  end(event.id, unanswered ? LanChannelEnd::kUnanswered : LanChannelEnd::kDisconnected, event.now);
}

// LAN ports ask for another connection instead.
void LanConnections::on(const mgmt::CmEvent& event, const mgmt::AlternatePathRequest&) {
  static_cast<void>(manager().reply_alternate_path(
      event.id, {.status = mgmt::AlternatePathStatus::kNotSupported}, event.now));
}

void LanConnections::on(const mgmt::CmEvent&, const mgmt::MoreTime&) {
}

void LanConnections::on(const mgmt::CmEvent&, const mgmt::TimewaitExit&) {
}

void LanConnections::on(const mgmt::CmEvent&, const mgmt::AlternatePathReply&) {
}

// The peer is told what it has to know, and the manager remembers for it what has to be.
void LanConnections::end(LanChannel channel, LanChannelEnd why, Time now) {
  const auto known = channels_.extract(channel);
  if (!known) return;
  manager().destroy(channel, now);
  const bool was = known.mapped().connected;
  counters_.add(was                                 ? LanSubnetCounter::kChannelsEnded
                : why == LanChannelEnd::kUnanswered ? LanSubnetCounter::kChannelsUnanswered
                                                    : LanSubnetCounter::kChannelsRefused);
  owner_.ended(channel, why);
}

}  // namespace weft::daemon
