// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_membership.h"

#include <algorithm>

#include "daemon/lan/lan_service.h"
#include "daemon/notice_reports.h"
#include "daemon/sa_question.h"
#include "sm/sa/subscriptions.h"
#include "wire/sa/service_record.h"

namespace weft::daemon {
namespace {

using wire::ServiceRecord;
using wire::TrapNumber;

// Who says that he offers the service has to say so again within this time.
constexpr Duration kLease = 300s;
// Subscriptions have no lease, but an administrator may lose them and not say so.
constexpr Duration kLanMembershipRenewAfter = kLease / 3;
constexpr Duration kLanMembershipTryAfter = 500ms;
constexpr Duration kLanMembershipTryAtMost = 15s;

constexpr std::array kLanMembershipTraps{TrapNumber::kGidInService, TrapNumber::kGidOutOfService,
                                         TrapNumber::kRePath};

wire::MadBuffer service_request(const LanPlace& place, wire::MadMethod method,
                                std::uint32_t transaction) {
  ServiceRecord record{.id = kLanService.value(),
                       .gid = place.gid(),
                       .lease = static_cast<std::uint32_t>(
                           std::chrono::duration_cast<std::chrono::seconds>(kLease).count())};
  std::ranges::copy(std::as_bytes(std::span(kLanServiceName)), record.name.begin());
  constexpr std::uint64_t kWhich = ServiceRecord::kHasId | ServiceRecord::kHasGid;
  constexpr std::uint64_t kAll = kWhich | ServiceRecord::kHasLease | ServiceRecord::kHasName;
  return sa_question(method, method == wire::MadMethod::kSet ? kAll : kWhich, record, transaction);
}

}  // namespace

LanMembership::LanMembership(const LanPlace& place, LanSubnetCounters& counters,
                             io::Reactor& reactor, LanSubnetOwner& owner)
    : place_(place), counters_(counters), reactor_(reactor), owner_(owner) {
}

LanMembership::~LanMembership() {
  if (reports_ == mgmt::AgentId{}) return;
  place_.node().management().mad_port(place_.at.port).remove_agent(reports_);
}

Expected<void> LanMembership::open() {
  mgmt::AgentRequest wanted{.mgmt_class = wire::MgmtClass::kSubnAdm,
                            .class_version = wire::kSaClassVersion};
  wanted.methods.set(static_cast<std::size_t>(wire::MadMethod::kReport));
  const auto agent = place_.node().management().mad_port(place_.at.port).add_agent(wanted, *this);
  if (!agent && agent.error().code == std::errc::address_in_use) {
    counters_.add(LanSubnetCounter::kNoticesTaken);
    return {};
  }
  if (!agent) return tl::unexpected(agent.error());
  reports_ = *agent;
  for (std::size_t i = 0; i < kLanMembershipTraps.size(); ++i) {
    const auto say = [trap = kLanMembershipTraps[i]](bool subscribe) {
      return [trap, subscribe](std::uint32_t transaction) {
        return notice_subscription(trap, subscribe, transaction);
      };
    };
    subscriptions_[i] = std::make_unique<StandingRequest>(
        place_.node(), place_.at.port,
        StandingRequest::Wish{.make = say(true),
                              .end = say(false),
                              .renew_after = kLanMembershipRenewAfter,
                              .try_after = kLanMembershipTryAfter,
                              .try_at_most = kLanMembershipTryAtMost},
        reactor_);
    if (auto started = subscriptions_[i]->start(); !started) return started;
  }
  return {};
}

Expected<void> LanMembership::offer() {
  if (record_) return {};
  const auto say = [this](wire::MadMethod method) {
    return [this, method](std::uint32_t transaction) {
      return service_request(place_, method, transaction);
    };
  };
  record_ = std::make_unique<StandingRequest>(
      place_.node(), place_.at.port,
      StandingRequest::Wish{.make = say(wire::MadMethod::kSet),
                            .end = say(wire::MadMethod::kDelete),
                            .renew_after = kLanMembershipRenewAfter,
                            .try_after = kLanMembershipTryAfter,
                            .try_at_most = kLanMembershipTryAtMost},
      reactor_);
  return record_->start();
}

bool LanMembership::told() const {
  return std::ranges::all_of(subscriptions_, [](const std::unique_ptr<StandingRequest>& each) {
    return each && each->stands();
  });
}

void LanMembership::received(mgmt::AgentId, const mgmt::ReceivedMad& mad) {
  const auto notice = read_notice_report(mad, place_.info().master_sm_lid);
  if (!notice) return;
  confirm_notice_report(place_.node(), place_.at.port, reports_, mad);
  if (!notice->generic) return;
  if (notice->trap == TrapNumber::kRePath) {
    counters_.add(LanSubnetCounter::kNotices);
    return owner_.paths_changed();
  }
  const auto port = place_.view().port_of(sm::gid_of(*notice));
  if (!port) return;
  if (notice->trap == TrapNumber::kGidInService) {
    counters_.add(LanSubnetCounter::kNotices);
    owner_.in_service(*port);
  } else if (notice->trap == TrapNumber::kGidOutOfService) {
    counters_.add(LanSubnetCounter::kNotices);
    owner_.out_of_service(*port);
  }
}

// What is sent by this agent waits for no answer.
void LanMembership::finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) {
}

}  // namespace weft::daemon
