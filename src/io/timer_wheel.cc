// SPDX-License-Identifier: Apache-2.0
#include "io/timer_wheel.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace weft::io {
namespace {

// Distance from `from` to the first set bit at or after it, going round; nothing when none is set.
std::optional<unsigned> distance_to_set(const std::array<std::uint64_t, 4>& bits, unsigned from) {
  for (unsigned step = 0; step <= bits.size(); ++step) {
    const unsigned word = (from / 64 + step) % static_cast<unsigned>(bits.size());
    std::uint64_t value = bits[word];
    // The first word is looked at twice: its upper part first, its lower part last.
    const std::uint64_t from_here = ~std::uint64_t{0} << (from % 64);
    if (step == 0) value &= from_here;
    if (step == bits.size()) value &= ~from_here;
    if (value != 0) {
      const unsigned index = word * 64 + static_cast<unsigned>(std::countr_zero(value));
      return (index - from) % 256;
    }
  }
  return std::nullopt;
}

}  // namespace

TimerWheel::Tick TimerWheel::tick_of(Time time) {
  const auto since = time.time_since_epoch().count();
  return since <= 0 ? 0 : static_cast<Tick>(since) / static_cast<Tick>(kTick.count());
}

TimerWheel::TimerWheel(Time start) : current_(tick_of(start)) {
}

TimerWheel::~TimerWheel() {
  // A timer that is left over must not follow links into a wheel that is gone.
  for (Level& level : levels_) {
    for (detail::TimerLink& slot : level.slots) {
      while (slot.linked())
        slot.next->unlink();
    }
  }
}

void TimerWheel::link(Timer& timer) {
  timer.unlink();
  timer.linked_for_ = timer.deadline_;
  constexpr Tick kReach = (Tick{1} << (kLevels * kSlotBits)) - 1;
  const Tick tick = std::clamp(tick_of(timer.deadline_), current_, current_ + kReach);
  const Tick ahead = tick - current_;
  unsigned level = 0;
  while (ahead >> ((level + 1) * kSlotBits) != 0)
    ++level;
  const auto slot = static_cast<unsigned>(tick >> (level * kSlotBits)) % kSlots;
  timer.insert_before(levels_[level].slots[slot]);
  levels_[level].occupied[slot / 64] |= std::uint64_t{1} << (slot % 64);
}

// The next tick at which a slot has to be looked at: on level 0 the slot's own, on the others the
// first tick that the slot covers, when its timers move down.
std::optional<TimerWheel::Tick> TimerWheel::next_tick() const {
  std::optional<Tick> next;
  for (unsigned level = 0; level < kLevels; ++level) {
    // Level 0 may hold timers of the current tick. A higher level's current slot was emptied when
    // it began, so what is in it belongs to the next round.
    const Tick first = (current_ >> (level * kSlotBits)) + (level == 0 ? 0 : 1);
    const auto distance =
        distance_to_set(levels_[level].occupied, static_cast<unsigned>(first % kSlots));
    if (!distance) continue;
    const Tick tick = (first + *distance) << (level * kSlotBits);
    next = next ? std::min(*next, tick) : tick;
  }
  return next;
}

// Timers that are due go to the expired list, the others to where their deadline belongs now.
void TimerWheel::empty_slot(unsigned level, Time now) {
  const auto index = static_cast<unsigned>(current_ >> (level * kSlotBits)) % kSlots;
  detail::TimerLink& slot = levels_[level].slots[index];
  levels_[level].occupied[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  detail::TimerLink taken;
  if (slot.linked()) {
    taken.insert_before(slot);
    slot.unlink();  // `taken` now heads the ring that `slot` headed
  }
  while (taken.linked()) {
    Timer& timer = timer_of(*taken.next);
    timer.unlink();
    if (!timer.armed()) continue;
    // What is due at a later tick than this one waits for it: that keeps the order of ticks.
    if (timer.deadline_ <= now && tick_of(timer.deadline_) <= current_) {
      timer.insert_before(expired_);
    } else {
      link(timer);
    }
  }
}

std::size_t TimerWheel::advance(Time now) {
  assert(!advancing_);
  advancing_ = true;
  const Tick target = std::max(tick_of(now), current_);
  for (auto tick = next_tick(); tick && *tick <= target; tick = next_tick()) {
    current_ = *tick;
    for (unsigned level = kLevels - 1; level > 0; --level) {
      const Tick covered = Tick{1} << (level * kSlotBits);
      if (current_ % covered == 0) empty_slot(level, now);
    }
    empty_slot(0, now);
    // Of the target's tick, timers due later than `now` stay in their slot: do not look again.
    if (current_ == target) break;
  }
  current_ = target;

  std::size_t count = 0;
  while (expired_.linked()) {
    Timer& timer = timer_of(*expired_.next);
    timer.unlink();
    if (!timer.armed()) continue;  // cancelled by a callback before it
    if (timer.deadline_ > now) {   // or restarted
      link(timer);
      continue;
    }
    timer.deadline_ = Timer::kNever;
    ++count;
    timer.callback_(now);
  }
  advancing_ = false;
  return count;
}

std::optional<Time> TimerWheel::next_wakeup() const {
  const auto tick = next_tick();
  if (!tick) return std::nullopt;
  constexpr Tick kLast = static_cast<Tick>(Duration::max() / kTick);
  return Time{kTick * static_cast<Duration::rep>(std::min(*tick, kLast))};
}

}  // namespace weft::io
