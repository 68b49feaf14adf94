// SPDX-License-Identifier: Apache-2.0
#include "sm/lid_moves.h"

#include <algorithm>

namespace weft::sm {
namespace {

constexpr unsigned kLidMovesEnd = 0xC000;  // of unicast LIDs, IBA 4.1.3

// How many ports have each LID.
class Holders {
 public:
  explicit Holders(std::span<const LidRange> ranges) : count_(kLidMovesEnd) {
    for (const LidRange& range : ranges)
      add(range);
  }
  void add(const LidRange& range) {
    any(range, [&](unsigned lid) { return ++count_[lid] == 0; });
  }
  // Whether somebody has one of them, not counting whoever has all of `own`.
  [[nodiscard]] bool any_of(const LidRange& range, const LidRange& own = {}) const {
    return any(range, [&](unsigned lid) {
      const LidRange one{.first = Lid{static_cast<std::uint16_t>(lid)}};
      return count_[lid] > (own.overlaps(one) ? 1u : 0u);
    });
  }

 private:
  template <class Predicate>
  static bool any(const LidRange& range, Predicate holds) {
    const unsigned end = std::min(kLidMovesEnd, range.first.value() + (1u << range.lmc));
    for (unsigned lid = std::max(1u, unsigned{range.first.value()}); lid < end; ++lid) {
      if (range.first != Lid{} && holds(lid)) return true;
    }
    return false;
  }
  std::vector<unsigned> count_;
};

}  // namespace

std::vector<bool> blocked(std::span<const LidRange> now, std::span<const LidRange> then) {
  const Holders holders(now);
  std::vector<bool> found(now.size());
  for (std::size_t i = 0; i < now.size(); ++i)
    found[i] = now[i] != then[i] && holders.any_of(then[i], now[i]);
  return found;
}

std::vector<LidMove> first_moves(std::span<const LidRange> now, std::span<const LidRange> then) {
  Holders holders(now);
  const Holders wanted(then);
  const std::vector<bool> must_wait = blocked(now, then);
  std::vector<LidMove> moves;
  unsigned next = 1;  // below it nothing is free
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] == then[i] || then[i].first == Lid{} || !wanted.any_of(now[i], then[i])) continue;
    if (!must_wait[i]) {
      moves.push_back({.port = i, .to = then[i].first});
      continue;
    }
    const unsigned step = 1u << then[i].lmc;
    for (next = (next + step - 1) / step * step; next + step <= kLidMovesEnd; next += step) {
      const LidRange range{.first = Lid{static_cast<std::uint16_t>(next)}, .lmc = then[i].lmc};
      if (holders.any_of(range) || wanted.any_of(range)) continue;
      holders.add(range);
      moves.push_back({.port = i, .to = range.first});
      break;
    }
  }
  return moves;
}

std::vector<bool> in_common(std::span<const LidRange> ranges) {
  const Holders holders(ranges);
  std::vector<bool> found(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i)
    found[i] = holders.any_of(ranges[i], ranges[i]);
  return found;
}

}  // namespace weft::sm
