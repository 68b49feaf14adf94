// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/process_paths.h"

#include <cstddef>

#include "base/ids.h"
#include "daemon/notice_reports.h"
#include "hca/types.h"
#include "io/clock.h"
#include "wire/sa/sa_header.h"

namespace weft::daemon {
namespace {

using wire::MadMethod;

// For what the administrator says to a subscription, and how often it is asked again.
constexpr Duration kProcessPathsPatience = 250ms;
constexpr unsigned kProcessPathsRetries = 3;
// Before it is asked for reports again.
constexpr Duration kProcessPathsPause = 1s;

}  // namespace

ProcessPaths::ProcessPaths(mgmt::MadLayer& layer, port::Port& adapter, mgmt::PortNumber port,
                           User& user)
    : layer_(layer), adapter_(adapter), port_(port), user_(user), questions_(layer, port, *this) {
}

ProcessPaths::~ProcessPaths() {
  if (reports_) layer_.remove_agent(*reports_);
}

Expected<void> ProcessPaths::subscribe() {
  mgmt::AgentRequest request{.mgmt_class = wire::MgmtClass::kSubnAdm,
                             .class_version = wire::kSaClassVersion};
  request.methods.set(static_cast<std::size_t>(MadMethod::kReport));
  auto agent = layer_.add_agent(request, *this);
  if (!agent) return tl::unexpected(agent.error());
  reports_ = *agent;
  ask_for_reports(io::now());
  return {};
}

std::optional<mgmt::MadAddress> ProcessPaths::administrator() {
  const port::PortAttributes port = adapter_.attributes(port_);
  if (port.state != port::LinkState::kActive || !hca::is_unicast(port.sm_lid)) return std::nullopt;
  return mgmt::MadAddress{.lid = port.sm_lid, .sl = port.sm_sl, .qpn = kQp1, .qkey = kGsiQKey};
}

void ProcessPaths::ask(std::uint64_t number, const service::PathQuestion& question) {
  const auto to = administrator();
  SaPathQuestion asked = sa_path_question(question);
  const bool own = question.port != 0 && question.sgid == Gid{};
  if (own) {
    const port::PortAttributes port = adapter_.attributes(port_);
    if (!port.gids.empty()) asked.like.sgid = port.gids.front().gid;
  }
  if (question.port != 0) asked.mask &= ~wire::PathRecord::kHasSlid;
  const bool sent = to && questions_.ask(to->lid, to->sl, number, asked, io::now());
  if (!sent) ++unasked_;
  if (sent && own) own_[number] = question.via;
}

void ProcessPaths::path_answered(std::uint64_t number, const SaPathAnswer& answer) {
  std::optional<service::Path> path = answer.path();
  if (const auto own = own_.extract(number); own && path) lead_back(*path, {&own.mapped(), 1});
  // One that is busy answers when it is asked again, which the runtime does for who still waits.
  if (answer.outcome != SaPathAnswer::Outcome::kBusy) user_.path_answered(number, path);
}

void ProcessPaths::ask_for_reports(Time now) {
  again_ = now + kProcessPathsPause;
  const auto to = administrator();
  if (!to) return;
  const auto mad = notice_subscription(wire::TrapNumber::kRePath, true, ++subscriptions_);
  const auto sent = layer_.send(*reports_,
                                {.to = *to,
                                 .mad = mad,
                                 .timeout = kProcessPathsPatience,
                                 .retries = kProcessPathsRetries,
                                 .cookie = subscriptions_},
                                now);
  if (sent) again_.reset();  // until it has ended
}

void ProcessPaths::port_changed() {
  if (reports_) ask_for_reports(io::now());
  user_.paths_changed();
}

void ProcessPaths::run(Time now) {
  if (again_ && *again_ <= now) ask_for_reports(now);
}

void ProcessPaths::heard(const mgmt::ReceivedMad& report) {
  if (!read_notice_report(report, adapter_.attributes(port_).sm_lid)) return;
  confirm_notice_report(layer_, *reports_, report);
  user_.paths_changed();
}

void ProcessPaths::received(mgmt::AgentId, const mgmt::ReceivedMad& mad) {
  if (!mad.cookie) return heard(mad);
  const auto header = wire::MadHeader::parse(mad.mad);
  if (!header || header->status != 0) again_ = io::now() + kProcessPathsPause;
}

void ProcessPaths::finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) {
  again_ = io::now() + kProcessPathsPause;
}

}  // namespace weft::daemon
