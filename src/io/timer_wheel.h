// SPDX-License-Identifier: Apache-2.0
// Timers for things that are restarted far more often than they expire: retransmission, keep-alive.
// A hierarchical wheel of 4 x 256 slots; a restart to a later time only stores the deadline, and
// the wheel looks at it again when it reaches the slot where it first put the timer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/time.h"

namespace weft::io {

class TimerWheel;

namespace detail {
// A ring of timers, and a timer's place in one.
struct TimerLink {
  TimerLink* next = this;
  TimerLink* previous = this;

  TimerLink() = default;
  TimerLink(const TimerLink&) = delete;
  TimerLink& operator=(const TimerLink&) = delete;

  [[nodiscard]] bool linked() const { return next != this; }
  void unlink() {
    next->previous = previous;
    previous->next = next;
    next = previous = this;
  }
  void insert_before(TimerLink& where) {
    next = &where;
    previous = where.previous;
    previous->next = this;
    where.previous = this;
  }
};
}  // namespace detail

// One deadline and what to call when it has passed. Must not outlive its wheel.
class Timer : private detail::TimerLink {
 public:
  using Callback = std::function<void(Time now)>;
  Timer(TimerWheel& wheel, Callback callback) : wheel_(wheel), callback_(std::move(callback)) {}
  ~Timer() { unlink(); }

  // Starts or restarts. A deadline already past expires at the wheel's next advance().
  void set(Time deadline);
  void cancel() { deadline_ = kNever; }
  [[nodiscard]] bool armed() const { return deadline_ != kNever; }
  [[nodiscard]] std::optional<Time> deadline() const {
    return armed() ? std::optional(deadline_) : std::nullopt;
  }

 private:
  friend class TimerWheel;
  static constexpr Time kNever = Time::max();

  TimerWheel& wheel_;
  Callback callback_;
  Time deadline_ = kNever;
  Time linked_for_ = kNever;  // its slot comes up at this time or earlier
};

// Not thread-safe; has no clock: the caller says what time it is.
class TimerWheel {
 public:
  // Deadlines are exact; the tick only says how finely the wheel sorts them.
  static constexpr Duration kTick{1024};

  explicit TimerWheel(Time start);
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;
  ~TimerWheel();

  // Calls every timer whose deadline is at or before `now`, ticks in order, and disarms it first,
  // so that the callback may set it again. Callbacks may set, cancel and destroy any timer, but not
  // advance the wheel. Returns how many expired. A `now` before the last one changes nothing.
  std::size_t advance(Time now);

  // No timer expires before this time, so it is when to call advance(). It can be early: a
  // restarted or cancelled timer is noticed only then. Nothing when the wheel is empty.
  [[nodiscard]] std::optional<Time> next_wakeup() const;

 private:
  friend class Timer;
  static constexpr unsigned kLevels = 4;
  static constexpr unsigned kSlotBits = 8;
  static constexpr unsigned kSlots = 1U << kSlotBits;
  using Tick = std::uint64_t;

  struct Level {
    std::array<detail::TimerLink, kSlots> slots;
    std::array<std::uint64_t, kSlots / 64> occupied{};  // may be set for a slot that became empty
  };

  static Tick tick_of(Time time);
  static Timer& timer_of(detail::TimerLink& link) { return static_cast<Timer&>(link); }
  void link(Timer& timer);
  [[nodiscard]] std::optional<Tick> next_tick() const;
  void empty_slot(unsigned level, Time now);

  std::array<Level, kLevels> levels_;
  detail::TimerLink expired_;
  Tick current_;
  bool advancing_ = false;
};

inline void Timer::set(Time deadline) {
  deadline_ = deadline;
  if (linked() && deadline >= linked_for_) return;
  wheel_.link(*this);
}

}  // namespace weft::io
