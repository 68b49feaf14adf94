// SPDX-License-Identifier: Apache-2.0
#include "io/timer_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace weft::io {
namespace {

constexpr Time kStart{Duration{1'234'567'890'123}};

TEST(TimerWheel, ExpiresAtTheDeadlineAndNotOneNanosecondBefore) {
  TimerWheel wheel(kStart);
  for (const Duration delay :
       std::vector<Duration>{1ns, 1023ns, 1024ns, 1ms, 300ms, 20s, 5h, 2000h}) {
    Time fired{};
    TimerWheel fresh(kStart);
    Timer timer(fresh, [&](Time now) { fired = now; });
    timer.set(kStart + delay);
    EXPECT_EQ(fresh.advance(kStart + delay - 1ns), 0u) << delay.count();
    EXPECT_EQ(fresh.advance(kStart + delay), 1u) << delay.count();
    EXPECT_EQ(fired, kStart + delay);
    EXPECT_FALSE(timer.armed());
  }
}

TEST(TimerWheel, ExpiresOnceAtTheLastOfManyRestarts) {
  TimerWheel wheel(kStart);
  int fired = 0;
  Timer timer(wheel, [&](Time) { ++fired; });
  Time now = kStart;
  for (int i = 0; i < 1000; ++i) {
    timer.set(now + 4ms);
    now += 1ms;
    wheel.advance(now);
  }
  EXPECT_EQ(fired, 0);
  wheel.advance(now + 3ms - 1ns);
  EXPECT_EQ(fired, 0);
  wheel.advance(now + 3ms);
  EXPECT_EQ(fired, 1);
}

TEST(TimerWheel, ExpiresAtAnEarlierDeadlineThanTheFirst) {
  TimerWheel wheel(kStart);
  int fired = 0;
  Timer timer(wheel, [&](Time) { ++fired; });
  timer.set(kStart + 10s);
  timer.set(kStart + 5us);
  wheel.advance(kStart + 5us);
  EXPECT_EQ(fired, 1);
  wheel.advance(kStart + 20s);
  EXPECT_EQ(fired, 1);
}

TEST(TimerWheel, NeverCallsACancelledOrDestroyedTimer) {
  TimerWheel wheel(kStart);
  Timer cancelled(wheel, [](Time) { FAIL(); });
  auto destroyed = std::make_unique<Timer>(wheel, [](Time) { FAIL(); });
  cancelled.set(kStart + 1ms);
  destroyed->set(kStart + 1ms);
  cancelled.cancel();
  destroyed.reset();
  EXPECT_EQ(wheel.advance(kStart + 1s), 0u);
  EXPECT_EQ(wheel.next_wakeup(), std::nullopt);
}

TEST(TimerWheel, LetsACallbackStopAndRestartTimersThatAreDueWithIt) {
  TimerWheel wheel(kStart);
  int second_fired = 0;
  int third_fired = 0;
  std::unique_ptr<Timer> second;
  std::unique_ptr<Timer> third;
  Timer first(wheel, [&](Time now) {
    second.reset();
    third->set(now + 1ms);
  });
  second = std::make_unique<Timer>(wheel, [&](Time) { ++second_fired; });
  third = std::make_unique<Timer>(wheel, [&](Time) { ++third_fired; });
  first.set(kStart + 1ms);
  second->set(kStart + 2ms);
  third->set(kStart + 3ms);
  wheel.advance(kStart + 10ms);
  EXPECT_EQ(second_fired, 0);
  EXPECT_EQ(third_fired, 0);
  wheel.advance(kStart + 11ms);
  EXPECT_EQ(third_fired, 1);
}

TEST(TimerWheel, TurnsATimerThatIsAlwaysInThePastOncePerAdvance) {
  TimerWheel wheel(kStart);
  int fired = 0;
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(wheel, [&](Time) {
    ++fired;
    timer->set(kStart);
  });
  timer->set(kStart);
  for (int i = 1; i <= 5; ++i) {
    wheel.advance(kStart + 1ms);
    EXPECT_EQ(fired, i);
  }
}

TEST(TimerWheel, IgnoresTimeThatRunsBackwards) {
  TimerWheel wheel(kStart);
  int fired = 0;
  Timer timer(wheel, [&](Time) { ++fired; });
  wheel.advance(kStart + 1s);
  wheel.advance(kStart);
  timer.set(kStart + 1s + 1ms);
  wheel.advance(kStart + 500ms);
  EXPECT_EQ(fired, 0);
  wheel.advance(kStart + 1s + 1ms);
  EXPECT_EQ(fired, 1);
}

TEST(TimerWheel, MayEndBeforeTimersThatAreNoLongerUsed) {
  auto wheel = std::make_unique<TimerWheel>(kStart);
  Timer timer(*wheel, [](Time) {});
  timer.set(kStart + 1s);
  wheel.reset();
}  // the timer's destructor must not touch the wheel

// Random sets, restarts, cancels and advances, against an ordered multimap: after every advance the
// same timers have expired, those of earlier ticks first, and next_wakeup() never sleeps past one.
class TimerWheelModel : public testing::TestWithParam<unsigned> {};

TEST_P(TimerWheelModel, AgreesWithAnOrderedMultimap) {
  std::mt19937_64 random(GetParam());
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  TimerWheel wheel(kStart);
  std::multimap<Time, std::size_t> model;
  std::vector<std::size_t> fired;
  std::deque<Timer> timers;
  const auto forget = [&](std::size_t index) {
    std::erase_if(model, [&](const auto& entry) { return entry.second == index; });
  };
  for (std::size_t i = 0; i < 60; ++i)
    timers.emplace_back(wheel, [&, i](Time) { fired.push_back(i); });

  Time now = kStart;
  // Delays of every order of magnitude, so that all levels and the reach beyond them are used.
  const auto delay = [&] {
    return Duration{static_cast<std::int64_t>(below(1ULL << (8 + below(42))))};
  };
  for (int step = 0; step < 4000; ++step) {
    const std::size_t index = below(timers.size());
    if (below(10) < 6) {
      const Time deadline = now + delay() - Duration{200};
      timers[index].set(deadline);
      forget(index);
      model.emplace(deadline, index);
    } else if (below(4) == 0) {
      timers[index].cancel();
      forget(index);
    } else {
      Time target = now + delay();
      if (below(2) == 0 && !model.empty()) target = std::max(now, model.begin()->first);
      if (!model.empty() && model.begin()->first > now) {
        ASSERT_TRUE(wheel.next_wakeup().has_value());
        ASSERT_LE(*wheel.next_wakeup(), model.begin()->first);
      }
      now = target;
      fired.clear();
      wheel.advance(now);
      std::vector<std::size_t> want;
      std::map<std::size_t, Time> due;
      while (!model.empty() && model.begin()->first <= now) {
        want.push_back(model.begin()->second);
        due.emplace(model.begin()->second, model.begin()->first);
        model.erase(model.begin());
      }
      for (std::size_t i = 1; i < fired.size(); ++i) {
        ASSERT_LT(due[fired[i - 1]] - due[fired[i]], TimerWheel::kTick) << "seed " << GetParam();
      }
      std::sort(want.begin(), want.end());
      std::sort(fired.begin(), fired.end());
      ASSERT_EQ(fired, want) << "seed " << GetParam() << " step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TimerWheelModel, testing::Range(1U, 41U));

}  // namespace
}  // namespace weft::io
