// SPDX-License-Identifier: Apache-2.0
#include "sm/smp_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "mgmt/mad_answer.h"

namespace weft::sm {
namespace {

constexpr std::size_t kLeastWindow = 4;
constexpr std::size_t kTransactionOffset = 8;  // in the MAD header

}  // namespace

SmpQueue::~SmpQueue() {
  for (const mgmt::AgentId agent : agents_)
    port_.remove_agent(agent);
}

Expected<void> SmpQueue::listen(wire::MgmtClass mgmt_class,
                                std::initializer_list<wire::MadMethod> methods) {
  mgmt::AgentRequest request{.mgmt_class = mgmt_class, .class_version = wire::kSmClassVersion};
  for (const wire::MadMethod method : methods)
    request.methods.set(static_cast<std::size_t>(method));
  const auto agent = port_.add_agent(request, *this);
  if (!agent) return tl::unexpected(agent.error());
  agents_.push_back(*agent);
  return {};
}

Expected<void> SmpQueue::open(TrapHandler traps, RequestHandler requests) {
  using enum wire::MadMethod;
  traps_ = std::move(traps);
  requests_ = std::move(requests);
  if (auto by_lid = listen(wire::MgmtClass::kSubnLid, {kGet, kSet, kTrap}); !by_lid) return by_lid;
  return listen(wire::MgmtClass::kSubnDirected, {kGet, kSet});
}

void SmpQueue::use_key(const DirectedRoute& route, std::uint64_t mkey) {
  if (mkey != limits_.mkey) {
    keys_[route] = mkey;
  } else if (!keys_.empty()) {
    keys_.erase(route);
  }
}

std::uint64_t SmpQueue::key_of(const DirectedRoute& route) const {
  if (keys_.empty()) return limits_.mkey;
  const auto found = keys_.find(route);
  return found == keys_.end() ? limits_.mkey : found->second;
}

void SmpQueue::get(const DirectedRoute& route, wire::SmAttribute attribute, std::uint32_t modifier,
                   Handler handler) {
  queue(wire::MadMethod::kGet, route, attribute, modifier, {}, std::move(handler));
}

void SmpQueue::set(const DirectedRoute& route, wire::SmAttribute attribute, std::uint32_t modifier,
                   Bytes data, Handler handler) {
  queue(wire::MadMethod::kSet, route, attribute, modifier, data, std::move(handler));
}

void SmpQueue::queue(wire::MadMethod method, const DirectedRoute& route,
                     wire::SmAttribute attribute, std::uint32_t modifier, Bytes data,
                     Handler handler) {
  assert(route.size() <= wire::kMaxHops && data.size() <= wire::smp::kDataSize);
  Smp smp{.to = wire::kPermissiveLid, .mad = {}, .route = route, .handler = std::move(handler)};
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnDirected,
                  .class_version = wire::kSmClassVersion,
                  .method = method,
                  .class_specific = static_cast<std::uint16_t>(route.size()),  // HopCount
                  .attribute_id = static_cast<std::uint16_t>(attribute),
                  .attribute_modifier = modifier}
      .write(smp.mad);
  wire::smp::set_mkey(smp.mad, key_of(route));
  wire::smp::set_dr_lids(smp.mad, wire::kPermissiveLid, wire::kPermissiveLid);
  for (std::size_t hop = 0; hop < route.size(); ++hop)
    wire::smp::set_initial_path(smp.mad, hop + 1, route[hop]);
  std::copy(data.begin(), data.end(), smp.mad.begin() + wire::smp::kDataOffset);
  waiting_.push_back(std::move(smp));
}

void SmpQueue::trap(Lid to, const wire::Notice& notice, Handler handler) {
  Smp smp{.to = to, .mad = {}, .route = std::nullopt, .handler = std::move(handler)};
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnLid,
                  .class_version = wire::kSmClassVersion,
                  .method = wire::MadMethod::kTrap,
                  .attribute_id = static_cast<std::uint16_t>(wire::SmAttribute::kNotice)}
      .write(smp.mad);
  wire::smp::set_mkey(smp.mad, limits_.mkey);
  notice.write(wire::smp::data(wire::MutableMadBytes(smp.mad)));
  waiting_.push_back(std::move(smp));
}

void SmpQueue::run(Time now) {
  now_ = now;
  while (!waiting_.empty() && flying_.size() < std::min(window_, limits_.window)) {
    Smp smp = std::move(waiting_.front());
    waiting_.pop_front();
    if (is_given_up(smp)) {
      ++counts_.given_up;
      smp.handler({.outcome = SmpResult::Outcome::kTimedOut});
    } else {
      send(std::move(smp));
    }
  }
  if (idle()) unanswered_.clear();
}

bool SmpQueue::is_given_up(const Smp& smp) const {
  if (unanswered_.empty() || !smp.route) return false;
  const auto found = unanswered_.find(*smp.route);
  return found != unanswered_.end() && found->second >= limits_.most_unanswered;
}

void SmpQueue::send(Smp smp) {
  const std::uint64_t cookie = ++last_cookie_;
  flying_.emplace(cookie, Flying{.route = std::move(smp.route), .handler = std::move(smp.handler)});
  wire::store_be64(smp.mad.data() + kTransactionOffset, cookie & 0xFFFF'FFFF);
  ++counts_.sent;
  const auto sent = port_.send(agents_.front(),
                               {.to = {.lid = smp.to, .qpn = kQp0},
                                .mad = smp.mad,
                                .timeout = limits_.timeout,
                                .retries = limits_.retries,
                                .cookie = cookie},
                               now_);
  if (!sent) finish(cookie, {.outcome = SmpResult::Outcome::kTimedOut});
}

void SmpQueue::received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) {
  if (mad.mad.size() != wire::kMadSize) return;
  if (!mad.cookie) {
    const auto method = mgmt::mad_method(mad.mad.first<wire::kMadSize>());
    return method == wire::MadMethod::kTrap ? take_trap(mad) : take_request(agent, mad);
  }
  const auto bytes = mad.mad.first<wire::kMadSize>();
  const auto status =
      static_cast<std::uint16_t>(wire::MadHeader::parse(bytes)->status & ~wire::smp::kDirectionBit);
  if (++good_in_row_ >= 2 * window_) {
    good_in_row_ = 0;
    window_ = std::min(window_ * 2, limits_.window);
  }
  finish(*mad.cookie,
         {.outcome = status == 0 ? SmpResult::Outcome::kAnswered : SmpResult::Outcome::kRefused,
          .status = status,
          .data = wire::smp::data(bytes)});
}

// IBA 13.4.9: whoever gets a trap says so, else it comes again.
void SmpQueue::take_trap(const mgmt::ReceivedMad& mad) {
  wire::MadBuffer answer;
  std::copy(mad.mad.begin(), mad.mad.end(), answer.begin());
  const auto header = *wire::MadHeader::parse(answer);
  const auto notice = wire::Notice::parse(wire::smp::data(wire::MadBytes(answer)));
  if (!notice) return;
  ++counts_.traps;
  const std::uint64_t mkey = wire::smp::mkey(answer);
  wire::MadHeader repress = header;
  repress.method = wire::MadMethod::kTrapRepress;
  repress.write(answer);
  wire::smp::set_mkey(answer, limits_.mkey);
  // Where there is no room it is as if the answer had been lost: the trap comes again.
  static_cast<void>(port_.send(agents_.front(), {.to = mad.from, .mad = answer}, now_));
  if (traps_) {
    traps_({.notice = *notice,
            .from = mad.from.lid,
            .mkey = mkey,
            .transaction_id = header.transaction_id});
  }
}

// Only SMInfo is a manager's to answer; all else that gets here nobody at this node has.
void SmpQueue::take_request(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) {
  wire::MadBuffer answer;
  std::copy(mad.mad.begin(), mad.mad.end(), answer.begin());
  const auto header = *wire::MadHeader::parse(answer);
  const MutableBytes data = wire::smp::data(wire::MutableMadBytes(answer));
  auto status = wire::MadStatus::kBadMethodAttribute;
  if (header.attribute_id == static_cast<std::uint16_t>(wire::SmAttribute::kSmInfo)) {
    ++counts_.requests;
    SmInfoRequest request{.set = header.method == wire::MadMethod::kSet,
                          .modifier = header.attribute_modifier,
                          .mkey = wire::smp::mkey(answer),
                          .info = *wire::SmInfo::parse(data),
                          .way = {}};
    const std::uint16_t lid = mad.from.lid.value();
    request.way = {static_cast<std::uint8_t>(lid >> 8), static_cast<std::uint8_t>(lid)};
    const std::size_t hops = wire::smp::hop_count(answer);
    for (std::size_t hop = 1; lid == wire::kPermissiveLid.value() && hop <= hops; ++hop)
      request.way.push_back(wire::smp::return_path(answer, hop));
    const auto said = requests_(request);
    if (!said) return;
    status = said->status;
    std::fill(data.begin(), data.end(), std::byte{0});
    said->info.write(data);
  }
  mgmt::make_answer(answer, status);
  // Where there is no room it is as if the answer had been lost.
  static_cast<void>(port_.send(agent, {.to = mad.from, .mad = answer}, now_));
}

void SmpQueue::finished(mgmt::AgentId, std::uint64_t cookie, Bytes, mgmt::MadResult) {
  good_in_row_ = 0;
  window_ = std::max(window_ / 2, kLeastWindow);
  finish(cookie, {.outcome = SmpResult::Outcome::kTimedOut});
}

void SmpQueue::finish(std::uint64_t cookie, const SmpResult& result) {
  auto found = flying_.extract(cookie);
  if (found.empty()) return;
  const Flying& smp = found.mapped();
  if (smp.route && result.outcome == SmpResult::Outcome::kTimedOut) {
    ++unanswered_[*smp.route];
  } else if (smp.route && !unanswered_.empty()) {
    unanswered_.erase(*smp.route);
  }
  switch (result.outcome) {
    case SmpResult::Outcome::kAnswered:
      ++counts_.answered;
      break;
    case SmpResult::Outcome::kRefused:
      ++counts_.refused;
      break;
    case SmpResult::Outcome::kTimedOut:
      ++counts_.timed_out;
      break;
  }
  smp.handler(result);
}

}  // namespace weft::sm
