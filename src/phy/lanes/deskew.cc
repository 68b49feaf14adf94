// SPDX-License-Identifier: Apache-2.0
#include "phy/lanes/deskew.h"

#include <algorithm>
#include <utility>

#include "phy/code/ordered_set.h"

namespace weft::phy {
namespace {

constexpr std::uint8_t kUsualSkips = kSkipSetSize - 1;
constexpr std::uint8_t kMostSkips = 5;

bool is_clean(const LaneSymbol& symbol, Character character) {
  return !symbol.error && symbol.character == character;
}

}  // namespace

void Deskew::push(std::size_t lane, LaneSymbol symbol, std::uint64_t bit) {
  if (waiting_[lane].size() == kMostWaiting) lose();
  waiting_[lane].push_back({symbol, bit});
}

void Deskew::lose() {
  if (in_step_) {
    counters_.add(LaneCounter::kDeskewLost);
    broken_ = true;
  }
  restart();
}

void Deskew::restart() {
  for (std::deque<Waiting>& lane : waiting_)
    lane.clear();
  phase_ = Phase::kPlain;
  in_step_ = false;
  misplaced_ = false;
}

bool Deskew::take_break() {
  return std::exchange(broken_, false);
}

// Every lane forward to a COM, and all of them to those that belong together. False if some lane
// has none yet.
bool Deskew::find_step() {
  for (;;) {
    std::size_t earliest = 0;
    std::uint64_t latest = 0;
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      std::deque<Waiting>& waiting = waiting_[lane];
      while (!waiting.empty() && !is_clean(waiting.front().symbol, kCom))
        waiting.pop_front();
      if (waiting.empty()) return false;
      if (waiting.front().bit < waiting_[earliest].front().bit) earliest = lane;
      latest = std::max(latest, waiting.front().bit);
    }
    if (latest - waiting_[earliest].front().bit <= kMostSkewBits) break;
    waiting_[earliest].pop_front();
  }
  in_step_ = true;
  phase_ = Phase::kPlain;
  misplaced_ = false;
  return true;
}

// After a COM on all lanes: most of them go on with SKP.
bool Deskew::begins_skip() const {
  std::size_t skips = 0;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (is_clean(waiting_[lane].front().symbol, kSkp)) ++skips;
  }
  return 2 * skips > lanes_;
}

// The next column of a SKIP set. A wrong symbol is taken for SKP as long as the set has its usual
// length: where no repeater is, that is always right.
std::optional<Column> Deskew::pop_skip() {
  Column column;
  bool any = false;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    const LaneSymbol symbol = waiting_[lane].front().symbol;
    const bool is_skip = symbol.error ? skips_[lane] < kUsualSkips
                                      : symbol.character == kSkp && skips_[lane] < kMostSkips;
    column[lane] = {kSkp, false};
    // A lane whose set has ended waits for the others.
    if (!is_skip) {
      skips_[lane] = kMostSkips;
      continue;
    }
    column[lane].error = symbol.error;
    waiting_[lane].pop_front();
    ++skips_[lane];
    any = true;
  }
  if (!any) return std::nullopt;
  return column;
}

Column Deskew::pop_plain() {
  Column column;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    column[lane] = waiting_[lane].front().symbol;
    waiting_[lane].pop_front();
  }
  return column;
}

// One COM at another time than on the other lanes can come of a wrong bit; a second one, with none
// in between that was on all lanes, means that the lanes are out of step.
void Deskew::check_com(const Column& column) {
  std::size_t coms = 0;
  std::size_t others = 0;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (is_clean(column[lane], kCom)) {
      ++coms;
    } else if (!column[lane].error) {
      ++others;
    }
  }
  phase_ = Phase::kPlain;
  if (coms == 0) return;
  if (others == 0) {
    phase_ = Phase::kAfterCom;
    misplaced_ = false;
    return;
  }
  counters_.add(LaneCounter::kMisplacedSets);
  if (std::exchange(misplaced_, true)) lose();
}

std::optional<Column> Deskew::pop() {
  if (!in_step_ && !find_step()) return std::nullopt;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (waiting_[lane].empty()) return std::nullopt;
  }
  if (phase_ == Phase::kAfterCom && begins_skip()) {
    phase_ = Phase::kSkip;
    skips_.fill(0);
  }
  if (phase_ == Phase::kSkip) {
    if (const auto column = pop_skip()) return column;
  }
  const Column column = pop_plain();
  check_com(column);
  return column;
}

}  // namespace weft::phy
