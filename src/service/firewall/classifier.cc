// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/classifier.h"

#include <algorithm>

namespace weft::service::firewall {

void Classifier::Search::begin(const Classifier& classifier, const MatchKey& key) {
  of_ = &classifier;
  key_ = &key;
  items_.clear();
  lookups_.clear();
  if (!of_->groups_.empty()) enter(static_cast<std::uint32_t>(of_->groups_.size() - 1));
}

void Classifier::Search::enter(std::uint32_t number) {
  const Group& group = of_->groups_[number];
  // The rest is first, for a rule there that matches may spare the tables.
  if (group.rest != group.rest_end) {
    Item item{.bound = of_->numbers_[group.rest], .at = group.rest, .end = group.rest_end};
    item.kind = group.sets == kNone ? Kind::few : Kind::sets;
    if (group.sets != kNone) {
      item.sets = static_cast<std::uint32_t>(lookups_.size());
      lookups_.push_back({of_->sets_[group.sets].look(*key_), group.rest});
    }
    items_.push_back(item);
  }
  for (std::uint32_t table = group.tables; table < group.tables_end; ++table)
    items_.push_back({.kind = Kind::table, .bound = of_->tables_[table].first, .at = table});
}

// Up to the first rule that matches, or to the first one that is behind the best so far.
void Classifier::Search::try_few(Item& item, std::uint32_t best) {
  const auto& numbers = of_->numbers_;
  if (item.matches) ++item.at;
  item.matches = false;
  for (; item.at < item.end && numbers[item.at] < best; ++item.at) {
    if (!of_->tests_.match(numbers[item.at], *key_)) continue;
    item.matches = true;
    break;
  }
  item.bound = item.at < item.end ? numbers[item.at] : of_->rules_;
}

void Classifier::Search::ask_sets(Item& item) {
  if (item.matches) ++item.at;
  const Asked& asked = lookups_[item.sets];
  item.at = asked.begin + asked.lookup.next(item.at - asked.begin, item.end - asked.begin);
  item.matches = item.at < item.end;
  item.bound = item.matches ? of_->numbers_[item.at] : of_->rules_;
}

std::uint32_t Classifier::Search::next(std::uint32_t from) {
  std::uint32_t best = of_->rules_;
  for (std::size_t i = 0; i < items_.size(); ++i) {  // a table adds some at the end
    if (items_[i].bound >= best) continue;
    Item& item = items_[i];
    if (item.kind == Kind::table) {
      const Table& table = of_->tables_[item.at];
      item.bound = of_->rules_;  // it has said what it can
      if (!key_->has(table.field)) continue;
      const std::uint32_t group = is_wide(table.field)
                                      ? of_->wide_[table.index].find(key_->wide(table.field))
                                      : of_->narrow_[table.index].find(key_->narrow(table.field));
      if (group != kNone) enter(group);
      continue;
    }
    while (!item.matches || item.bound < from) {
      if (item.bound >= best) break;
      if (item.kind == Kind::few) {
        try_few(item, best);
      } else {
        ask_sets(item);
      }
    }
    if (item.matches) best = std::min(best, item.bound);
  }
  return best;
}

std::size_t Classifier::bytes() const {
  std::size_t out = tests_.bytes() + groups_.capacity() * sizeof(Group) +
                    tables_.capacity() * sizeof(Table) +
                    numbers_.capacity() * sizeof(std::uint32_t);
  for (const auto& narrow : narrow_)
    out += sizeof(narrow) + narrow.bytes();
  for (const auto& wide : wide_)
    out += sizeof(wide) + wide.bytes();
  for (const IntervalSets& sets : sets_)
    out += sizeof(sets) + sets.bytes();
  return out;
}

}  // namespace weft::service::firewall
