// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/flows.h"

#include <algorithm>

#include "wire/ip_protocol.h"

namespace weft::service::firewall {
namespace {

constexpr std::size_t kExpiredAtOnce = 64;
// So often others are told of a flow in use, within the time in which they would forget it.
constexpr int kToldWithin = 4;

}  // namespace

Duration Flows::patience(const Id& id, bool answered) const {
  if (id.kind == kFragments || id.kind == kParts) return limits_.fragments;
  if (!answered) return limits_.unanswered;
  return id.kind == wire::ip_protocol::kTcp ? limits_.answered_tcp : limits_.answered;
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

bool Flows::add(const Id& id, const MatchKey* request, Time now) {
  if (table_.size() >= limits_.most) {
    if (unanswered_.empty()) return false;
    erase(table_.find(unanswered_.front()));
    ++evicted_;
  }
  unanswered_.push_back(id);
  table_.emplace(id, Entry{now, now, false,
                           request == nullptr ? nullptr : std::make_unique<MatchKey>(*request),
                           std::prev(unanswered_.end())});
  return true;
}

void Flows::touch(Table::iterator entry, bool answered, Time now) {
  entry->second.last = now;
  std::list<Id>& before = entry->second.answered ? answered_ : unanswered_;
  if (answered) entry->second.answered = true;
  std::list<Id>& after = entry->second.answered ? answered_ : unanswered_;
  after.splice(after.end(), before, entry->second.place);
}

std::optional<Flows::News> Flows::pass(const Id& id, const MatchKey* request, Time now) {
  auto entry = living(id, now);
  const bool answer = entry == table_.end();
  if (answer) entry = living(id.reversed(), now);
  if (entry == table_.end()) {
    if (!add(id, request, now) || request == nullptr) return std::nullopt;
    entry = table_.find(id);
  } else {
    const bool first_answer = answer && !entry->second.answered;
    touch(entry, answer, now);
    const Duration often = patience(entry->first, entry->second.answered) / kToldWithin;
    const bool due = first_answer || now - entry->second.told >= often;
    if (!due || !entry->second.request) return std::nullopt;
    entry->second.told = now;
  }
  return News{entry->first, entry->second.answered, entry->second.request.get()};
}

void Flows::restore(const Id& id, bool answered, const MatchKey& request, Time now) {
  auto entry = living(id, now);
  if (entry == table_.end()) entry = living(id.reversed(), now);
  if (entry == table_.end()) {
    if (!add(id, &request, now)) return;
    entry = table_.find(id);
  }
  touch(entry, answered, now);
  entry->second.told = now;
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
