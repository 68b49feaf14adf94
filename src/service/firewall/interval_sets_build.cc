// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "service/firewall/interval_sets.h"

namespace weft::service::firewall {
namespace {

// A rule begins or ceases to match from this value on.
struct Edge {
  Wide at{};
  std::uint32_t rule = 0;
  bool begins = false;
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E37'79B9'7F4A'7C15;
  return hash ^ hash >> 29;
}

constexpr Wide kIntervalSetsBuildLast{~std::uint64_t{0}, ~std::uint64_t{0}};

}  // namespace

class IntervalSets::Builder {
 public:
  Builder(std::span<const Rule* const> rules, Room& room) : rules_(rules), room_(room) {
    out_.rules_ = static_cast<std::uint32_t>(rules.size());
    words_ = (rules.size() + 63) / 64;
    out_.summaries_ = static_cast<std::uint32_t>((words_ + 63) / 64);
    out_.pool_.assign(std::max<std::size_t>(out_.summaries_, 1), 0);
  }

  Expected<IntervalSets> build() {
    std::array<std::vector<Edge>, kFields> edges;
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule) {
      for (const Condition& condition : rules_[rule]->conditions)
        add_edges(condition.ranges, rule, edges[index(condition.field)]);
    }
    for (std::size_t field = 0; field < kFields; ++field) {
      if (edges[field].empty()) continue;
      if (auto done = add_dimension(static_cast<Field>(field), edges[field]); !done)
        return tl::unexpected(done.error());
      edges[field] = {};
    }
    // A packet without rules still has an answer: the empty one.
    if (out_.dimensions_.empty()) add_void_dimension();
    order_dimensions();
    out_.pool_.shrink_to_fit();
    return std::move(out_);
  }

 private:
  static void add_edges(const Ranges& ranges, std::uint32_t rule, std::vector<Edge>& into) {
    for (const Range& range : ranges) {
      into.push_back({range.low, rule, true});
      if (range.high != kIntervalSetsBuildLast) into.push_back({range.high.next(), rule, false});
    }
  }

  Expected<void> add_dimension(Field field, std::vector<Edge>& edges);
  void add_void_dimension();
  void order_dimensions();
  Expected<std::uint32_t> keep(const std::vector<std::uint64_t>& current);
  [[nodiscard]] tl::unexpected<Error> too_large(const char* limit) const {
    return fail(std::errc::not_enough_memory,
                fmt::format("the tables of these {} rules would exceed {}: ranges of many rules "
                            "overlap each other at different ends; make them prefixes, or fewer",
                            rules_.size(), limit));
  }

  std::span<const Rule* const> rules_;
  std::size_t words_ = 0;
  Room& room_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> kept_;  // by the hash of their content
  IntervalSets out_;
};

Expected<void> IntervalSets::Builder::add_dimension(Field field, std::vector<Edge>& edges) {
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  Dimension made;
  made.field = field;
  made.any.assign(words_, ~std::uint64_t{0});
  if (rules_.size() % 64 != 0) made.any.back() = (std::uint64_t{1} << rules_.size() % 64) - 1;
  for (const Edge& edge : edges)
    made.any[edge.rule / 64] &= ~(std::uint64_t{1} << edge.rule % 64);
  made.any_summary.assign(out_.summaries_, 0);
  for (std::size_t word = 0; word < words_; ++word) {
    if (made.any[word] != 0) made.any_summary[word / 64] |= std::uint64_t{1} << word % 64;
  }
  const std::size_t own =
      edges.size() * (sizeof(Wide) + sizeof(std::uint32_t)) + 2 * words_ * sizeof(std::uint64_t);
  if (room_.bytes < own) return too_large("the limit of 64 MiB");
  room_.bytes -= own;
  std::vector<std::uint64_t> current(words_, 0);
  if (edges.front().at != Wide{}) made.sets.push_back(0);  // the empty set before the first edge
  for (std::size_t i = 0; i < edges.size();) {
    const Wide at = edges[i].at;
    for (; i < edges.size() && edges[i].at == at; ++i) {
      const std::uint64_t bit = std::uint64_t{1} << edges[i].rule % 64;
      // A rule's ranges do not touch, so that it never ceases and begins at one value.
      std::uint64_t& word = current[edges[i].rule / 64];
      word = edges[i].begins ? word | bit : word & ~bit;
    }
    const auto set = keep(current);
    if (!set) return tl::unexpected(set.error());
    if (at != Wide{} && is_wide(field)) made.wide.push_back(at);
    if (at != Wide{} && !is_wide(field)) {
      // Beyond 64 bits there is no value: it ceases at the end.
      if (at.high != 0) continue;
      made.narrow.push_back(at.low);
    }
    made.sets.push_back(*set);
  }
  out_.dimensions_.push_back(std::move(made));
  return {};
}

// The place of a set like `current`, which is made if there is none.
Expected<std::uint32_t> IntervalSets::Builder::keep(const std::vector<std::uint64_t>& current) {
  if (room_.work < words_) return too_large("the limit on the time to make them (2^28 words)");
  room_.work -= words_;
  std::vector<std::uint64_t> packed(out_.summaries_, 0);
  std::uint64_t hash = 0;
  for (std::size_t word = 0; word < words_; ++word) {
    if (current[word] == 0) continue;
    packed[word / 64] |= std::uint64_t{1} << word % 64;
    packed.push_back(current[word]);
    hash = mixed(mixed(hash, word), current[word]);
  }
  if (packed.size() == out_.summaries_) return 0u;
  const auto [begin, end] = kept_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    const auto at = out_.pool_.begin() + known->second;
    const auto room = static_cast<std::size_t>(out_.pool_.end() - at);
    if (room >= packed.size() && std::equal(packed.begin(), packed.end(), at)) return known->second;
  }
  const std::size_t bytes = packed.size() * sizeof(std::uint64_t);
  if (room_.bytes < bytes) return too_large("the limit of 64 MiB");
  room_.bytes -= bytes;
  const auto place = static_cast<std::uint32_t>(out_.pool_.size());
  out_.pool_.insert(out_.pool_.end(), packed.begin(), packed.end());
  kept_.emplace(hash, place);
  return place;
}

// Of rules none of which looks at anything: all match.
void IntervalSets::Builder::add_void_dimension() {
  Dimension made;
  made.field = Field::kCount;
  made.any.assign(words_, ~std::uint64_t{0});
  if (rules_.size() % 64 != 0) made.any.back() = (std::uint64_t{1} << rules_.size() % 64) - 1;
  made.any_summary.assign(out_.summaries_, 0);
  for (std::size_t word = 0; word < words_; ++word)
    made.any_summary[word / 64] |= std::uint64_t{1} << word % 64;
  out_.dimensions_.push_back(std::move(made));
}

// What excludes most rules comes first: the fewer do not look at it, the sooner nothing is left.
void IntervalSets::Builder::order_dimensions() {
  const auto indifferent = [](const Dimension& dimension) {
    std::size_t out = 0;
    for (const std::uint64_t word : dimension.any)
      out += static_cast<std::size_t>(std::popcount(word));
    return out;
  };
  std::stable_sort(out_.dimensions_.begin(), out_.dimensions_.end(),
                   [&](const Dimension& a, const Dimension& b) {
                     const std::size_t left = indifferent(a);
                     const std::size_t right = indifferent(b);
                     return left != right ? left < right : a.sets.size() > b.sets.size();
                   });
}

Expected<IntervalSets> IntervalSets::build(std::span<const Rule* const> rules, Room& room) {
  return Builder(rules, room).build();
}

}  // namespace weft::service::firewall
