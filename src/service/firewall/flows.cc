// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/flows.h"

#include <algorithm>

namespace weft::service::firewall {
namespace {

constexpr std::uint8_t kTcp = 6;
constexpr std::size_t kExpiredAtOnce = 64;

}  // namespace

Duration Flows::patience(const Id& id, bool answered) const {
  if (id.kind == kFragments || id.kind == kParts) return limits_.fragments;
  if (!answered) return limits_.unanswered;
  return id.kind == kTcp ? limits_.answered_tcp : limits_.answered;
}

Flows::Table::iterator Flows::living(const Id& id, Time now) {
  const auto entry = table_.find(id);
  if (entry == table_.end()) return entry;
  if (entry->second.last + patience(id, entry->second.answered) >= now) return entry;
  erase(entry);
  return table_.end();
}

void Flows::erase(Table::iterator entry) {
  (entry->second.answered ? answered_ : unanswered_).erase(entry->second.place);
  table_.erase(entry);
}

Flows::Found Flows::find(const Id& id, Time now) {
  if (const auto entry = living(id, now); entry != table_.end()) {
    return {entry->second.answered ? ConnectionState::established : ConnectionState::fresh,
            FlowDirection::original, Doubt::none};
  }
  if (living(id.reversed(), now) != table_.end()) {
    return {ConnectionState::established, FlowDirection::reply, Doubt::none};
  }
  // Full of flows that were answered: whoever is there stays.
  if (table_.size() >= limits_.most && unanswered_.empty()) {
    return {ConnectionState::invalid, FlowDirection::original, Doubt::table_full};
  }
  return {};
}

bool Flows::has_begun(const Id& id, Time now) {
  return living(id, now) != table_.end();
}

void Flows::pass(const Id& id, const MatchKey* request, Time now) {
  auto entry = living(id, now);
  const bool answer = entry == table_.end();
  if (answer) entry = living(id.reversed(), now);
  if (entry == table_.end()) {
    if (table_.size() >= limits_.most) {
      if (unanswered_.empty()) return;
      erase(table_.find(unanswered_.front()));
      ++evicted_;
    }
    unanswered_.push_back(id);
    table_.emplace(
        id, Entry{now, false, request == nullptr ? nullptr : std::make_unique<MatchKey>(*request),
                  std::prev(unanswered_.end())});
    return;
  }
  entry->second.last = now;
  std::list<Id>& before = entry->second.answered ? answered_ : unanswered_;
  if (answer) entry->second.answered = true;
  std::list<Id>& after = entry->second.answered ? answered_ : unanswered_;
  after.splice(after.end(), before, entry->second.place);
}

void Flows::expire_oldest(std::list<Id>& order, Time now) {
  // In the order of their last packets, though not all of them have the same patience: whoever has
  // more is met again when others have gone.
  for (std::size_t i = 0; i < kExpiredAtOnce && !order.empty(); ++i) {
    const auto entry = table_.find(order.front());
    if (entry->second.last + patience(entry->first, entry->second.answered) >= now) return;
    erase(entry);
  }
}

void Flows::expire(Time now) {
  expire_oldest(unanswered_, now);
  expire_oldest(answered_, now);
}

}  // namespace weft::service::firewall
