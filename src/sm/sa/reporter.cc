// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/reporter.h"

#include <algorithm>

#include "wire/grh.h"
#include "wire/sa/sa_header.h"

namespace weft::sm {
namespace {

constexpr Duration kPatience = 1s;
constexpr unsigned kRetries = 3;
constexpr std::size_t kReporterRecordSize = wire::Notice::kSize + 16;  // with the GID of its issuer
// In the details of trap 256: the key that somebody has tried.
constexpr std::size_t kKeyInDetails = 14;

bool shows_mkey(const wire::Notice& notice) {
  return notice.generic && notice.trap == wire::TrapNumber::kBadMkey;
}

}  // namespace

void Reporter::take_trap(const ReceivedTrap& trap, Time now) {
  counters_.add(SaCounter::kTraps);
  if (intake_.is_repeated(trap, now)) return counters_.add(SaCounter::kTrapsRepeated);
  if (auto report = TrapIntake::report_of(view_, trap)) {
    add(*report);
  } else if (!intake_.keep(trap)) {
    counters_.add(SaCounter::kDroppedNotices);
  }
}

void Reporter::view_changed() {
  for (const ReceivedTrap& trap : intake_.take_kept()) {
    if (auto report = TrapIntake::report_of(view_, trap)) {
      add(*report);
    } else {
      counters_.add(SaCounter::kDroppedNotices);
    }
  }
}

bool Reporter::has_room(const Report& report, std::size_t waiting) const {
  if (report.from == Lid{}) return waiting < limits_.waiting_own;
  return waiting < limits_.waiting_of_one && waiting_of_ports_ < limits_.waiting;
}

void Reporter::add(Report report) {
  if (subscriptions_.size() == 0) return;
  const auto queue = waiting_.find(report.from);
  if (!has_room(report, queue == waiting_.end() ? 0 : queue->second.size())) {
    return counters_.add(SaCounter::kDroppedNotices);
  }
  if (report.from != Lid{}) ++waiting_of_ports_;
  waiting_[report.from].push_back(report);
}

void Reporter::clear() {
  waiting_.clear();
  waiting_of_ports_ = 0;
  to_.clear();
  intake_ = {};
}

bool Reporter::begin_next() {
  if (waiting_.empty()) return false;
  auto turn = waiting_.upper_bound(last_served_);
  if (turn == waiting_.end()) turn = waiting_.begin();
  last_served_ = turn->first;
  current_ = turn->second.front();
  turn->second.pop_front();
  if (current_.from != Lid{}) --waiting_of_ports_;
  if (turn->second.empty()) waiting_.erase(turn);
  to_ = subscriptions_.who_wants(view_, current_);
  return true;
}

void Reporter::run(mgmt::AgentId agent, Time now) {
  while (under_way_ < limits_.under_way) {
    if (to_.empty()) {
      if (!begin_next()) return;
      continue;
    }
    const Recipient recipient = to_.back();
    to_.pop_back();
    send(agent, recipient, now);
  }
}

void Reporter::send(mgmt::AgentId agent, const Recipient& recipient, Time now) {
  if (++last_cookie_ == 0) ++last_cookie_;
  wire::MadBuffer mad{};
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnAdm,
                  .class_version = wire::kSaClassVersion,
                  .method = wire::MadMethod::kReport,
                  .transaction_id = last_cookie_,
                  .attribute_id = static_cast<std::uint16_t>(wire::SaAttribute::kNotice)}
      .write(mad);
  wire::SaHeader{.attribute_offset = kReporterRecordSize / 8}.write(mad);
  const MutableBytes data = MutableBytes(mad).subspan(wire::SaHeader::kDataOffset);
  wire::Notice notice = current_.notice;
  if (shows_mkey(notice) && !recipient.trusted) {
    wire::store_be64(notice.details.data() + kKeyInDetails, 0);
  }
  notice.write(data);
  wire::store_gid(data.data() + wire::Notice::kSize, current_.issuer);
  const auto sent = port_.send(agent,
                               {.to = recipient.to,
                                .mad = mad,
                                .timeout = kPatience,
                                .retries = kRetries,
                                .cookie = last_cookie_},
                               now);
  counters_.add(sent ? SaCounter::kReports : SaCounter::kReportsLost);
  if (sent) ++under_way_;
}

void Reporter::finished(bool confirmed) {
  --under_way_;
  if (!confirmed) counters_.add(SaCounter::kReportsLost);
}

}  // namespace weft::sm
