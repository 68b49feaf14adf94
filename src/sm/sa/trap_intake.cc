// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/trap_intake.h"

#include <algorithm>

namespace weft::sm {

bool TrapIntake::is_repeated(const ReceivedTrap& trap, Time now) {
  std::erase_if(recent_, [&](const Recent& each) { return each.last + kForgetAfter <= now; });
  const auto same = std::find_if(recent_.begin(), recent_.end(), [&](const Recent& each) {
    return each.trap.from == trap.from && each.trap.transaction_id == trap.transaction_id &&
           each.trap.notice == trap.notice;
  });
  if (same != recent_.end()) {
    same->last = now;
    return true;
  }
  if (recent_.size() >= kMostRecent) recent_.pop_front();
  recent_.push_back({.trap = trap, .last = now});
  return false;
}

std::optional<Report> TrapIntake::report_of(const SubnetView& view, const ReceivedTrap& trap) {
  const std::uint32_t end = view.end_of(trap.from);
  if (end == SubnetView::kNobody) return std::nullopt;
  Report report{.notice = trap.notice, .issuer = view.gid_of(view.ends()[end]), .from = trap.from};
  if (view.end_of(report.notice.issuer) != end) report.notice.issuer = trap.from;
  return report;
}

bool TrapIntake::keep(const ReceivedTrap& trap) {
  if (strangers_.size() >= kMostStrangers) return false;
  strangers_.push_back(trap);
  return true;
}

}  // namespace weft::sm
