// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/interval_sets.h"

#include <algorithm>
#include <bit>

namespace weft::service::firewall {

IntervalSets::Lookup IntervalSets::look(const MatchKey& key) const {
  Lookup out;
  out.of_ = this;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& dimension = dimensions_[i];
    out.sets_[i] = 0;  // the empty set: it is not there, so that nothing said of it holds
    if (!key.has(dimension.field)) continue;
    std::size_t interval = 0;
    if (is_wide(dimension.field)) {
      const auto after =
          std::upper_bound(dimension.wide.begin(), dimension.wide.end(), key.wide(dimension.field));
      interval = static_cast<std::size_t>(after - dimension.wide.begin());
    } else {
      const auto after = std::upper_bound(dimension.narrow.begin(), dimension.narrow.end(),
                                          key.narrow(dimension.field));
      interval = static_cast<std::size_t>(after - dimension.narrow.begin());
    }
    out.sets_[i] = dimension.sets[interval];
  }
  return out;
}

std::uint64_t IntervalSets::word(std::uint32_t set, std::uint32_t index) const {
  const std::uint64_t* const at = pool_.data() + set;
  const std::uint32_t summary = index / 64;
  const std::uint64_t bit = std::uint64_t{1} << index % 64;
  if ((at[summary] & bit) == 0) return 0;
  auto before = static_cast<std::uint32_t>(std::popcount(at[summary] & (bit - 1)));
  for (std::uint32_t i = 0; i < summary; ++i)
    before += static_cast<std::uint32_t>(std::popcount(at[i]));
  return at[summaries_ + before];
}

// Words in which every dimension has some rule that matches.
std::uint64_t IntervalSets::candidates(const Lookup& lookup, std::uint32_t summary) const {
  std::uint64_t out = ~std::uint64_t{0};
  for (std::size_t i = 0; i < dimensions_.size() && out != 0; ++i)
    out &= dimensions_[i].any_summary[summary] | pool_[lookup.sets_[i] + summary];
  return out;
}

std::uint32_t IntervalSets::Lookup::next(std::uint32_t from, std::uint32_t end) const {
  if (from >= end) return end;
  const auto& dimensions = of_->dimensions_;
  const std::uint32_t last_word = (end - 1) / 64;
  for (std::uint32_t summary = from / 4096; summary <= last_word / 64; ++summary) {
    std::uint64_t words = of_->candidates(*this, summary);
    if (summary == from / 4096) words &= ~std::uint64_t{0} << (from / 64 % 64);
    for (; words != 0; words &= words - 1) {
      const std::uint32_t index =
          summary * 64 + static_cast<std::uint32_t>(std::countr_zero(words));
      if (index > last_word) return end;
      std::uint64_t rules = ~std::uint64_t{0};
      if (index == from / 64) rules <<= from % 64;
      for (std::size_t i = 0; i < dimensions.size() && rules != 0; ++i)
        rules &= dimensions[i].any[index] | of_->word(sets_[i], index);
      if (rules == 0) continue;
      const std::uint32_t found = index * 64 + static_cast<std::uint32_t>(std::countr_zero(rules));
      return std::min(found, end);
    }
  }
  return end;
}

std::size_t IntervalSets::bytes() const {
  std::size_t out = pool_.size() * sizeof(std::uint64_t);
  for (const Dimension& dimension : dimensions_) {
    out += dimension.narrow.size() * sizeof(std::uint64_t) + dimension.wide.size() * sizeof(Wide) +
           dimension.sets.size() * sizeof(std::uint32_t) +
           (dimension.any.size() + dimension.any_summary.size()) * sizeof(std::uint64_t);
  }
  return out;
}

}  // namespace weft::service::firewall
