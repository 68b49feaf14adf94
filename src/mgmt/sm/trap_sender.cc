// SPDX-License-Identifier: Apache-2.0
#include "mgmt/sm/trap_sender.h"

#include <algorithm>

#include "wire/sm/smp.h"

namespace weft::mgmt {
namespace {

// IBA 14.2.5.6: 4.096 us * 2^SubnetTimeOut, but at least what a lab can make use of.
Duration subnet_timeout(const wire::PortInfo& info) {
  constexpr Duration kShortest = 10ms;
  const Duration asked{std::int64_t{4096} << info.subnet_timeout};
  return std::clamp(asked, kShortest, TrapSender::kLongestPause);
}

}  // namespace

void TrapSender::raise(PortNumber from, wire::Notice notice, Time now) {
  const wire::PortInfo info = node_.port_info(from);
  notice.issuer = info.lid;
  const auto same = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& other) {
    return other.from == from && other.notice == notice;
  });
  if (same != pending_.end()) return;  // the manager will hear of it
  if (info.master_sm_lid.value() == 0 || pending_.size() == kMaxPending) {
    counters_.add(ManagementCounter::kDroppedTrap);
    return;
  }
  // The high half is 0, which no agent of a port has: answers cannot be mistaken for theirs.
  pending_.push_back({.from = from,
                      .transaction_id = ++last_id_,
                      .notice = notice,
                      .pause = subnet_timeout(info),
                      .again = now});
  send(pending_.back(), now);
}

bool TrapSender::repress(std::uint64_t transaction_id) {
  const auto it = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) {
    return pending.transaction_id == transaction_id;
  });
  if (it == pending_.end()) return false;
  pending_.erase(it);
  counters_.add(ManagementCounter::kTrapsRepressed);
  return true;
}

void TrapSender::send(Pending& pending, Time now) {
  pending.again = now + pending.pause;
  pending.pause = std::min(pending.pause * 2, kLongestPause);
  const wire::PortInfo info = node_.port_info(pending.from);
  if (info.state != wire::PortState::kActive) return;  // later perhaps
  wire::MadBuffer mad{};
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnLid,
                  .class_version = wire::kSmClassVersion,
                  .method = wire::MadMethod::kTrap,
                  .transaction_id = pending.transaction_id,
                  .attribute_id = static_cast<std::uint16_t>(wire::SmAttribute::kNotice)}
      .write(mad);
  wire::smp::set_mkey(mad, info.mkey);
  pending.notice.write(wire::smp::data(wire::MutableMadBytes(mad)));
  counters_.add(ManagementCounter::kTrapsSent);
  outlet_.send(
      {.port = pending.from, .slid = info.lid, .dlid = info.master_sm_lid, .sl = info.master_sm_sl},
      mad);
}

void TrapSender::run(Time now) {
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].again <= now) send(pending_[i], now);
  }
}

std::optional<Time> TrapSender::deadline() const {
  std::optional<Time> first;
  for (const Pending& pending : pending_) {
    first = std::min(first.value_or(pending.again), pending.again);
  }
  return first;
}

}  // namespace weft::mgmt
