// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "service/firewall/classifier.h"
#include "service/firewall/partition.h"

namespace weft::service::firewall {
namespace {

using Numbers = std::vector<std::uint32_t>;

struct NumbersHash {
  std::size_t operator()(const Numbers& numbers) const {
    std::uint64_t hash = numbers.size();
    for (const std::uint32_t number : numbers) {
      hash = (hash ^ number) * 0x9E37'79B9'7F4A'7C15;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

}  // namespace

class Classifier::Builder {
 public:
  Builder(std::span<const Rule> rules, IntervalSets::Room& room) : rules_(rules), room_(room) {
    out_.rules_ = static_cast<std::uint32_t>(rules.size());
    out_.tests_ = RuleTests(rules);
    for (const Rule& rule : rules)
      out_.used_ |= fields_of(rule);
  }

  Expected<Classifier> build(std::size_t bytes) {
    if (rules_.empty()) return std::move(out_);
    Numbers all(rules_.size());
    std::iota(all.begin(), all.end(), 0u);
    const auto root = group(std::move(all), 0, bytes);
    if (!root) return tl::unexpected(root.error());
    out_.root_most_ = root->most;
    out_.numbers_.shrink_to_fit();
    out_.groups_.shrink_to_fit();
    return std::move(out_);
  }

 private:
  struct Made {
    std::uint32_t group = kNone;
    Most most;
  };
  static std::uint64_t fields_of(const Rule& rule) {
    std::uint64_t out = 0;
    for (const Condition& condition : rule.conditions)
      out |= std::uint64_t{1} << index(condition.field);
    return out;
  }

  // `known`: fields that all of `numbers` are known to match, so that they part nothing. `bytes`:
  // what its tables may take.
  Expected<Made> group(Numbers numbers, std::uint64_t known, std::size_t bytes);
  [[nodiscard]] std::optional<Partition> best(const Numbers& numbers, std::uint64_t known,
                                              std::size_t bytes) const;
  Expected<Most> add_table(const Partition& partition, std::uint64_t known, std::size_t bytes,
                           std::vector<Table>& tables);
  template <class Value>
  void add_index(const Partition& partition, const Numbers& points, const Numbers& intervals,
                 std::vector<ValueIndex<Value>>& into);
  Expected<Most> add_rest(const Numbers& rest, Group& made);

  std::span<const Rule> rules_;
  IntervalSets::Room& room_;
  Classifier out_;
};

// The field that leaves the fewest rules to look at, whatever the packet.
std::optional<Partition> Classifier::Builder::best(const Numbers& numbers, std::uint64_t known,
                                                   std::size_t bytes) const {
  std::array<std::size_t, kFields> looked_at{};
  for (const std::uint32_t number : numbers) {
    for (const Condition& condition : rules_[number].conditions)
      ++looked_at[index(condition.field)];
  }
  // To look into a table takes as long as to try some rules, or some words of sets.
  const std::size_t gain = std::max<std::size_t>(8, numbers.size() / 32);
  std::optional<Partition> out;
  for (std::size_t field = 0; field < kFields; ++field) {
    if (looked_at[field] < gain || (known >> field & 1) != 0) continue;
    Partition partition(rules_, numbers, static_cast<Field>(field));
    if (partition.left() + gain > numbers.size() || partition.bytes() > bytes) continue;
    const bool better =
        !out || partition.left() < out->left() ||
        (partition.left() == out->left() && partition.memberships() < out->memberships());
    if (better) out = std::move(partition);
  }
  return out;
}

Expected<Classifier::Builder::Made> Classifier::Builder::group(Numbers numbers, std::uint64_t known,
                                                               std::size_t bytes) {
  Made out;
  std::vector<Table> tables;
  while (numbers.size() > kFewRules) {
    std::optional<Partition> partition = best(numbers, known, bytes);
    if (!partition) break;
    bytes -= partition->bytes();
    // What is left is for groups within and for the rest, as rules stand in them.
    const std::size_t within = partition->memberships();
    const std::size_t share = bytes / (within + partition->rest().size()) * within;
    const auto most = add_table(*partition, known, share, tables);
    if (!most) return tl::unexpected(most.error());
    bytes -= share;
    out.most.tables += 1 + most->tables;
    out.most.rules += most->rules;
    out.most.words += most->words;
    numbers = partition->rest();
  }
  Group made;
  const auto rest = add_rest(numbers, made);
  if (!rest) return tl::unexpected(rest.error());
  out.most.rules += rest->rules;
  out.most.words += rest->words;
  std::sort(tables.begin(), tables.end(),
            [](const Table& a, const Table& b) { return a.first < b.first; });
  made.tables = static_cast<std::uint32_t>(out_.tables_.size());
  out_.tables_.insert(out_.tables_.end(), tables.begin(), tables.end());
  made.tables_end = static_cast<std::uint32_t>(out_.tables_.size());
  out.group = static_cast<std::uint32_t>(out_.groups_.size());
  out_.groups_.push_back(made);
  return out;
}

Expected<Classifier::Most> Classifier::Builder::add_rest(const Numbers& rest, Group& made) {
  Most out;
  made.rest = static_cast<std::uint32_t>(out_.numbers_.size());
  out_.numbers_.insert(out_.numbers_.end(), rest.begin(), rest.end());
  made.rest_end = static_cast<std::uint32_t>(out_.numbers_.size());
  if (rest.size() <= kMostTried) {
    out.rules = static_cast<std::uint32_t>(rest.size());
    return out;
  }
  std::vector<const Rule*> pointers;
  for (const std::uint32_t number : rest)
    pointers.push_back(&rules_[number]);
  auto sets = IntervalSets::build(pointers, room_);
  if (!sets) return tl::unexpected(sets.error());
  out.words = sets->words();
  made.sets = static_cast<std::uint32_t>(out_.sets_.size());
  out_.sets_.push_back(std::move(*sets));
  return out;
}

Expected<Classifier::Most> Classifier::Builder::add_table(const Partition& partition,
                                                          std::uint64_t known, std::size_t bytes,
                                                          std::vector<Table>& tables) {
  Most most;
  std::unordered_map<Numbers, std::uint32_t, NumbersHash> made;  // equal groups are made once
  const std::uint64_t known_within = known | std::uint64_t{1} << index(partition.field());
  const auto lead = [&](std::vector<Numbers>& groups) -> Expected<Numbers> {
    Numbers out;
    for (Numbers& numbers : groups) {
      if (numbers.empty()) {
        out.push_back(kNone);
        continue;
      }
      if (const auto there = made.find(numbers); there != made.end()) {
        out.push_back(there->second);
        continue;
      }
      const std::size_t share = bytes / partition.memberships() * numbers.size();
      const auto one = group(numbers, known_within, share);
      if (!one) return tl::unexpected(one.error());
      most = larger(most, one->most);
      made.emplace(std::move(numbers), one->group);
      out.push_back(one->group);
    }
    return out;
  };
  Partition::Groups groups = partition.groups();
  const auto points = lead(groups.points);
  if (!points) return tl::unexpected(points.error());
  const auto intervals = lead(groups.intervals);
  if (!intervals) return tl::unexpected(intervals.error());
  Table table{.field = partition.field(), .first = partition.taken().front()};
  if (is_wide(table.field)) {
    table.index = static_cast<std::uint32_t>(out_.wide_.size());
    add_index(partition, *points, *intervals, out_.wide_);
  } else {
    table.index = static_cast<std::uint32_t>(out_.narrow_.size());
    add_index(partition, *points, *intervals, out_.narrow_);
  }
  tables.push_back(table);
  return most;
}

template <class Value>
void Classifier::Builder::add_index(const Partition& partition, const Numbers& points,
                                    const Numbers& intervals,
                                    std::vector<ValueIndex<Value>>& into) {
  const auto value_of = [](const Wide& value) {
    if constexpr (std::is_same_v<Value, Wide>) {
      return value;
    } else {
      return value.low;
    }
  };
  std::vector<typename ValueIndex<Value>::Point> at;
  for (std::size_t i = 0; i < points.size(); ++i)
    at.push_back({value_of(partition.points()[i]), points[i]});
  std::vector<typename ValueIndex<Value>::Interval> from;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const Wide& cut = partition.cuts()[i];
    // Beyond 64 bits there is no value: nothing begins there.
    if (!std::is_same_v<Value, Wide> && cut.high != 0) continue;
    if (from.empty() || from.back().to != intervals[i])
      from.push_back({value_of(cut), intervals[i]});
  }
  into.emplace_back(at, from);
}

Expected<Classifier> Classifier::build(std::span<const Rule> rules, std::size_t bytes,
                                       IntervalSets::Room& room) {
  return Builder(rules, room).build(bytes);
}

}  // namespace weft::service::firewall
