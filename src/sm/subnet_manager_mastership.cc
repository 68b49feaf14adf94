// SPDX-License-Identifier: Apache-2.0
// The manager among others: what it asks them, what they ask and command, and the traps of nodes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sm/subnet_changes.h"
#include "sm/subnet_manager.h"

namespace weft::sm {
namespace {

using Kind = ManagerEvent::Kind;
using State = wire::SmState;

constexpr std::size_t kMostVisitors = 64;
// In the details of trap 144: something else than the capabilities has changed, and what: the
// priority of a subnet manager.
constexpr std::size_t kChangedLid = 2;
constexpr std::size_t kOtherChanges = 5;
constexpr std::size_t kChangeFlags = 10;
constexpr std::uint16_t kPriorityChange = 1u << 3;

std::string manager_name(const wire::SmInfo& info) {
  return fmt::format("SM {:#018x} (priority {}, {})", info.guid.value(), info.priority,
                     to_string(info.state));
}

wire::Notice priority_notice(wire::NodeType producer, const wire::PortInfo& port) {
  wire::Notice notice{.type = wire::NoticeType::kInformational,
                      .producer = static_cast<std::uint8_t>(producer),
                      .trap = wire::TrapNumber::kCapabilityChange,
                      .issuer = port.lid};
  std::byte* at = notice.details.data();
  wire::store_be16(at + kChangedLid, port.lid.value());
  wire::store_u8(at + kOtherChanges, 1);
  wire::store_be32(at + 6, port.capability_mask);
  wire::store_be16(at + kChangeFlags, kPriorityChange);
  return notice;
}

}  // namespace

void SubnetManager::say(Kind kind, std::string text) {
  if (tell_) tell_({.kind = kind, .text = std::move(text)});
}

// Those that were not there before: what stays is said once.
void SubnetManager::say_problems(const std::vector<std::string>& before) {
  for (const std::string& problem : report_.problems) {
    if (std::find(before.begin(), before.end(), problem) == before.end()) {
      say(Kind::kProblem, problem);
    }
  }
}

std::uint32_t SubnetManager::activity() const {
  return static_cast<std::uint32_t>(smps_.counts().sent + smps_.counts().requests);
}

void SubnetManager::entered() {
  if (state() == told_) return;
  told_ = state();
  is_first_ = true;
  wanted_at_.reset();
  retry_at_.reset();
  look_at_.reset();
  poll_at_.reset();
  if (state() == State::kStandby) poll_at_ = now_ + options_.mastership.poll_every;
  const OtherManager* other = peer();
  say(Kind::kState,
      fmt::format("entering {} state{}", to_string(state()),
                  other == nullptr ? "" : ", following " + manager_name(other->info)));
}

// Whatever it is that has changed, a sweep finds it. The violations of keys are not changes.
void SubnetManager::take_trap(const ReceivedTrap& trap) {
  const std::uint64_t key = options_.setup.mkey;
  if (key != 0 && trap.mkey != key) {
    ++denied_;
    return;
  }
  if (state() != State::kMaster || sweeps_ == 0) return;
  if (report_trap_) report_trap_(trap);
  if (!trap.notice.generic) return;
  if (is_key_violation(trap.notice)) return say_violation(trap);
  switch (trap.notice.trap) {
    case wire::TrapNumber::kLinkStateChange:
    case wire::TrapNumber::kCapabilityChange:
    case wire::TrapNumber::kSystemImageGuidChange:
      want(pace_.asked(trap.from, now_));
      break;
    default:
      break;
  }
}

// Traps from LIDs that nobody has are made up, and fill no history.
void SubnetManager::say_violation(const ReceivedTrap& trap) {
  const auto unsaid = violations_.take(trap.from, trap.notice.trap, now_);
  if (!unsaid) return;
  const std::vector<PortRef> ends = subnet_.end_ports();
  const auto from = std::find_if(ends.begin(), ends.end(), [&](const PortRef& end) {
    return subnet_.port(end).info->lid == trap.from;
  });
  if (from == ends.end()) return;
  std::string text =
      fmt::format("{}, reported by {}", describe_violation(trap.notice), name_of(subnet_, *from));
  if (*unsaid > 0) text += fmt::format("; {} more since it was said before", *unsaid);
  say(Kind::kTrap, std::move(text));
}

// IBA 14.2.4.1: what the port's M_Key and its level of protection allow.
std::optional<SmInfoAnswer> SubnetManager::take_request(const SmInfoRequest& request) {
  if (!request.set) take_visitor(request);
  // Before it has seen its own port it has nothing to say of itself.
  if (mastership_.info(0).guid == Guid{}) return std::nullopt;
  const bool has_key = options_.setup.mkey == 0 || request.mkey == options_.setup.mkey;
  if (!has_key && (request.set || options_.setup.mkey_protect >= 2)) {
    ++denied_;
    return std::nullopt;
  }
  if (request.set) return take_command(request);
  SmInfoAnswer answer{.status = wire::MadStatus::kOk, .info = mastership_.info(activity())};
  if (request.modifier != 0) answer.status = wire::MadStatus::kInvalidValue;
  if (!has_key && options_.setup.mkey_protect == 1) answer.info.sm_key = 0;
  return answer;
}

// Who asks a master by a way that nobody has asked by before may be a master itself, of what was
// another subnet until now: the traps of that are not sure to have come here. And who asks while
// this one is about to become master may be about to as well.
void SubnetManager::take_visitor(const SmInfoRequest& request) {
  if (state() == State::kDiscovering) {
    has_visitor_ = true;
    return;
  }
  if (state() != State::kMaster || sweeps_ == 0) return;
  if (std::find(visitors_.begin(), visitors_.end(), request.way) != visitors_.end()) return;
  if (visitors_.size() == kMostVisitors) visitors_.erase(visitors_.begin());
  visitors_.push_back(request.way);
  has_visitor_ = true;
  want(pace_.asked(wire::kPermissiveLid, now_));
}

std::optional<SmInfoAnswer> SubnetManager::take_command(const SmInfoRequest& request) {
  const auto control = static_cast<SmControl>(request.modifier);
  const wire::SmInfo before = mastership_.info(activity());
  const std::optional<OtherManager> master =
      peer() != nullptr ? std::optional(*peer()) : std::nullopt;
  const auto sweep = mastership_.command(control, request.info);
  if (!sweep) {
    ++denied_;
    return SmInfoAnswer{.status = wire::MadStatus::kInvalidValue, .info = before};
  }
  if (control == SmControl::kHandover) {
    say(Kind::kHandover, "HANDOVER from " + manager_name(request.info));
    // IBA 14.4.1: who takes over says so, as the standby that it was.
    if (before.state == State::kStandby && master && master->info.guid == request.info.guid) {
      std::array<std::byte, wire::smp::kDataSize> data{};
      before.write(data);
      smps_.set(master->route, wire::SmAttribute::kSmInfo,
                static_cast<std::uint32_t>(SmControl::kAcknowledge), data, [](const SmpResult&) {});
    }
  }
  entered();
  if (*sweep) want(pace_.asked(Lid{}, now_));
  return SmInfoAnswer{.status = wire::MadStatus::kOk, .info = before};
}

SubnetManager::Course SubnetManager::judge() {
  const Subnet& found = discovery_->subnet();
  const SubnetPort* own =
      found.nodes.empty() ? nullptr : &found.port(PortRef{0, options_.own_port});
  const bool has_link = own != nullptr && own->info &&
                        (options_.own_port == 0 || own->info->state > wire::PortState::kDown);
  report_.own_is_silent = own == nullptr || !own->info;
  if (own != nullptr) mastership_.identify(own->guid);
  if (!has_link) {
    unsure_ = 0;
    mastership_.isolated();
    entered();
    return Course::kLeave;
  }
  for (const OtherManager& other : discovery_->managers()) {
    if (mastership_.has_key(other.info)) {
      report_.managers.push_back(other);
    } else {
      report_.problems.push_back(manager_name(other.info) +
                                 " has another SM_Key: left out of account");
    }
  }
  // What does not answer may be a master all the same, or have LIDs that this one does not know of:
  // what asked it may have been lost. Nor is anybody gone who was known, and whose link is up,
  // because nothing comes from there for a moment.
  const std::set<Guid>& silent = discovery_->silent_managers();
  const bool is_new =
      std::any_of(silent.begin(), silent.end(), [&](Guid guid) { return !silent_.contains(guid); });
  const bool has_gaps = is_first_ ? discovery_->problem_count() > 0 : discovery_->misses(subnet_);
  if ((is_new || has_gaps || has_visitor_) && ++unsure_ < options_.mastership.poll_misses) {
    return Course::kAskAgain;
  }
  unsure_ = 0;
  silent_ = silent;
  const Mastership::Verdict verdict = mastership_.judge(report_.managers);
  entered();
  switch (verdict) {
    case Mastership::Verdict::kManage:
      poll_at_.reset();
      return Course::kManage;
    case Mastership::Verdict::kStandBy:
      return Course::kLeave;
    case Mastership::Verdict::kHandOver:
      hand_over();
      return Course::kLeave;
    case Mastership::Verdict::kWait:
      say(Kind::kHandover, fmt::format("waiting for {} to {}", manager_name(peer()->info),
                                       mastership_.should_call_peer() ? "hand over" : "stand by"));
      poll_at_ = now_ + options_.mastership.poll_every;
      call_peer();
      return Course::kLeave;
  }
  return Course::kLeave;
}

void SubnetManager::hand_over() {
  say(Kind::kHandover, "handing over to " + manager_name(peer()->info));
  std::array<std::byte, wire::smp::kDataSize> data{};
  mastership_.info(activity()).write(data);
  phase_ = Phase::kHandover;
  smps_.set(peer()->route, wire::SmAttribute::kSmInfo,
            static_cast<std::uint32_t>(SmControl::kHandover), data,
            [this, to = manager_name(peer()->info)](const SmpResult& result) {
              if (!result.answered()) say(Kind::kProblem, to + " did not accept the HANDOVER");
            });
}

// A master that is lower is told that there is a higher one, so that it looks and hands over.
void SubnetManager::call_peer() {
  if (!mastership_.should_call_peer() || subnet_.nodes.empty()) return;
  const auto& info = subnet_.port({0, options_.own_port}).info;
  if (!info || info->lid == Lid{} || peer()->lid == Lid{}) return;
  smps_.trap(peer()->lid, priority_notice(subnet_.nodes[0].info.type, *info),
             [](const SmpResult&) {});
}

void SubnetManager::poll() {
  phase_ = Phase::kPoll;
  poll_answer_.reset();
  if (peer() == nullptr) return;
  smps_.get(peer()->route, wire::SmAttribute::kSmInfo, 0, [this](const SmpResult& result) {
    if (result.answered()) poll_answer_ = wire::SmInfo::parse(result.data);
  });
}

void SubnetManager::ended_poll() {
  phase_ = Phase::kIdle;
  const std::optional<OtherManager> asked =
      peer() != nullptr ? std::optional(*peer()) : std::nullopt;
  const bool anew = mastership_.polled(poll_answer_);
  entered();
  poll_at_.reset();
  if (anew) {
    if (asked && !poll_answer_)
      say(Kind::kHandover, manager_name(asked->info) + " does not answer");
    want(now_);
  } else if (state() == State::kStandby || peer() != nullptr) {
    poll_at_ = now_ + options_.mastership.poll_every;
    call_peer();
  }
}

// Of those who were there at the last sweep: whether one has become master, or got higher.
void SubnetManager::ask_others() {
  for (const OtherManager& other : report_.managers) {
    smps_.get(other.route, wire::SmAttribute::kSmInfo, 0,
              [this, guid = other.info.guid](const SmpResult& result) {
                const auto info = wire::SmInfo::parse(result.data);
                if (!result.answered() || !info || info->guid != guid) return;
                if (!mastership_.has_key(*info) || info->state == State::kNotActive) return;
                if (info->state == State::kMaster || !mastership_.is_above(*info)) want(now_);
              });
  }
}

}  // namespace weft::sm
