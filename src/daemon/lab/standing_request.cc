// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/standing_request.h"

#include <algorithm>
#include <utility>

#include "daemon/lab/administrator_way.h"
#include "hca/types.h"
#include "io/clock.h"
#include "wire/sa/sa_header.h"

namespace weft::daemon {
namespace {

// For one answer, and how often it is asked again.
constexpr Duration kStandingRequestPatience = 250ms;
constexpr unsigned kStandingRequestRetries = 3;

}  // namespace

StandingRequest::StandingRequest(fabric::Node& node, mgmt::PortNumber port, Wish wish,
                                 io::Reactor& reactor)
    : node_(node),
      port_(port),
      wish_(std::move(wish)),
      try_after_(wish_.try_after),
      timer_(reactor.timers(), [this](Time now) { send(now); }) {
}

Expected<void> StandingRequest::start() {
  const auto agent = node_.management().mad_port(port_).add_agent(
      {.mgmt_class = wire::MgmtClass::kSubnAdm, .class_version = wire::kSaClassVersion}, *this);
  if (!agent) return tl::unexpected(agent.error());
  agent_ = *agent;
  node_.add_observer(*this);
  port_changed(port_, false);
  return {};
}

StandingRequest::~StandingRequest() {
  if (agent_ == mgmt::AgentId{}) return;
  node_.remove_observer(*this);
  // Nobody waits for the answer: where this is lost, a lease ends by itself, and reports of a
  // subscription find nobody.
  if (asked_for_ && wish_.end) {
    static_cast<void>(send_to_administrator(node_, port_, agent_, {.mad = wish_.end(++sent_)}));
  }
  node_.management().mad_port(port_).remove_agent(agent_);
}

StandingRequest::Seen StandingRequest::see() const {
  const wire::PortInfo info = node_.port_info(port_);
  if (info.state != wire::PortState::kActive || !hca::is_unicast(info.master_sm_lid)) return {};
  return {.lid = info.lid, .manager = info.master_sm_lid, .gid_prefix = info.gid_prefix};
}

void StandingRequest::port_changed(mgmt::PortNumber port, bool reregister) {
  if (port != port_) return;
  const Seen before = std::exchange(seen_, see());
  if (seen_ == before && !reregister) return;
  asked_for_ = false;
  try_after_ = wish_.try_after;
  if (seen_ == Seen{}) {
    timer_.cancel();
  } else {
    timer_.set(io::now());
  }
  lose();
}

void StandingRequest::send(Time) {
  const wire::MadBuffer mad = wish_.make(++sent_);
  const auto sent = send_to_administrator(node_, port_, agent_,
                                          {.mad = mad,
                                           .timeout = kStandingRequestPatience,
                                           .retries = kStandingRequestRetries,
                                           .cookie = sent_});
  // Whatever becomes of it says when the next one is due; until then, none is.
  if (!sent) return failed();
  asked_for_ = true;
}

void StandingRequest::failed() {
  again_after(try_after_);
  try_after_ = std::min(2 * try_after_, wish_.try_at_most);
  lose();
}

void StandingRequest::lose() {
  if (std::exchange(stands_, false) && wish_.lost) wish_.lost();
}

void StandingRequest::again_after(Duration wait) {
  if (seen_ != Seen{}) timer_.set(io::now() + wait);
}

// Of one that another has followed, nothing counts any more.
void StandingRequest::received(mgmt::AgentId, const mgmt::ReceivedMad& mad) {
  if (!mad.cookie || *mad.cookie != sent_) return;
  const auto header = wire::MadHeader::parse(mad.mad);
  const bool taken = header && header->status == 0 && (!wish_.granted || wish_.granted(mad.mad));
  if (!taken) return failed();
  stands_ = true;
  try_after_ = wish_.try_after;
  again_after(wish_.renew_after);
}

void StandingRequest::finished(mgmt::AgentId, std::uint64_t cookie, Bytes, mgmt::MadResult) {
  if (cookie == sent_) failed();
}

}  // namespace weft::daemon
