// SPDX-License-Identifier: Apache-2.0
#include "io/reactor.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "io/clock.h"

namespace weft::io {
namespace {

std::unique_ptr<Reactor> make_reactor(Duration patience = 50us) {
  auto reactor = Reactor::create(patience);
  EXPECT_TRUE(reactor.has_value());
  return std::move(*reactor);
}

UniqueFd ready_descriptor() {
  return UniqueFd(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
}

TEST(Reactor, CallsBackForAReadyDescriptorUntilItIsDrained) {
  const auto reactor = make_reactor();
  const auto fd = ready_descriptor();
  int calls = 0;
  auto watch = reactor->watch(fd.get(), EPOLLIN, [&](std::uint32_t events) {
    EXPECT_EQ(events, static_cast<std::uint32_t>(EPOLLIN));
    if (++calls == 2) {
      std::uint64_t value = 0;
      EXPECT_EQ(read(fd.get(), &value, sizeof value), 8);
    }
  });
  ASSERT_TRUE(watch.has_value());
  EXPECT_EQ(reactor->run_once(-1s).value(), 1u);
  EXPECT_EQ(reactor->run_once(-1s).value(), 1u);
  EXPECT_EQ(reactor->run_once(0s).value(), 0u);
  EXPECT_EQ(calls, 2);
}

TEST(Reactor, ReportsOnlyTheEventsThatAreWanted) {
  const auto reactor = make_reactor();
  const auto fd = ready_descriptor();
  std::uint32_t seen = 0;
  auto watch = reactor->watch(fd.get(), 0, [&](std::uint32_t events) { seen = events; });
  EXPECT_EQ(reactor->run_once(0s).value(), 0u);
  ASSERT_TRUE(reactor->change_events(*watch, EPOLLIN | EPOLLOUT).has_value());
  EXPECT_EQ(reactor->run_once(0s).value(), 1u);
  EXPECT_EQ(seen, static_cast<std::uint32_t>(EPOLLIN | EPOLLOUT));
  EXPECT_FALSE(reactor->change_events(Reactor::Registration{}, EPOLLIN).has_value());
}

TEST(Reactor, StopsCallingBackWhenTheRegistrationEnds) {
  const auto reactor = make_reactor();
  const auto fd = ready_descriptor();
  int calls = 0;
  auto watch = reactor->watch(fd.get(), EPOLLIN, [&](std::uint32_t) { ++calls; });
  watch->reset();
  EXPECT_EQ(reactor->run_once(0s).value(), 0u);
  EXPECT_EQ(calls, 0);
}

TEST(Reactor, LetsACallbackEndItselfAndItsNeighbour) {
  const auto reactor = make_reactor();
  const auto a = ready_descriptor();
  const auto b = ready_descriptor();
  int calls = 0;
  Reactor::Registration watch_a;
  Reactor::Registration watch_b;
  const auto guard = std::make_shared<int>(7);
  const auto callback = [&, guard](std::uint32_t) {
    ++calls;
    watch_a.reset();
    watch_b.reset();
    EXPECT_EQ(*guard, 7);  // what the callback holds lives until it returns
  };
  watch_a = *reactor->watch(a.get(), EPOLLIN, callback);
  watch_b = *reactor->watch(b.get(), EPOLLIN, callback);
  EXPECT_EQ(reactor->run_once(0s).value(), 1u);
  EXPECT_EQ(reactor->run_once(0s).value(), 0u);
  EXPECT_EQ(calls, 1);
}

TEST(Reactor, RefusesADescriptorThatCannotBeWatched) {
  const auto reactor = make_reactor();
  const auto watch = reactor->watch(-1, EPOLLIN, [](std::uint32_t) {});
  ASSERT_FALSE(watch.has_value());
  EXPECT_EQ(watch.error().code, std::errc::bad_file_descriptor);
}

TEST(Reactor, RunsTimersAtTheirDeadlineAndNotBefore) {
  const auto reactor = make_reactor();
  std::optional<Time> fired;
  Timer timer(reactor->timers(), [&](Time at) { fired = at; });
  const Time deadline = now() + 3ms;
  timer.set(deadline);
  EXPECT_EQ(reactor->run_once(-1s).value(), 1u);
  ASSERT_TRUE(fired.has_value());
  EXPECT_GE(*fired, deadline);
}

TEST(Reactor, ReturnsAfterItsTimeoutWhenNothingHappens) {
  const auto reactor = make_reactor();
  const Time begin = now();
  EXPECT_EQ(reactor->run_once(2ms).value(), 0u);
  EXPECT_GE(now() - begin, 2ms);
}

TEST(Reactor, AsksPollersInEveryTurnAndStopsWithTheirRegistration) {
  // Where a yield costs a time slice the reactor sleeps whatever its patience, and nothing but time
  // ends a sleep here.
  const auto reactor = make_reactor(1h);
  int looks = 0;
  auto poller = reactor->poll_with([&](Time) { return ++looks == 20; });
  std::size_t ready = 0;
  while (ready == 0 && looks < 20)
    ready = reactor->run_once(1ms).value();
  EXPECT_EQ(ready, 1u);
  EXPECT_EQ(looks, 20);
  poller.reset();
  EXPECT_EQ(reactor->run_once(0s).value(), 0u);
  EXPECT_EQ(looks, 20);
}

TEST(Reactor, LetsAPollerEndItself) {
  const auto reactor = make_reactor();
  int looks = 0;
  Reactor::Registration poller;
  poller = reactor->poll_with([&](Time) {
    ++looks;
    poller.reset();
    return false;
  });
  EXPECT_EQ(reactor->run_once(1ms).value(), 0u);
  EXPECT_EQ(looks, 1);
}

TEST(Reactor, RemembersAWakeUpThatCameBeforeItSlept) {
  const auto reactor = make_reactor(0s);
  reactor->wake();
  EXPECT_EQ(reactor->run_once(-1s).value(), 0u);  // would never return otherwise
}

// Every wake() ends a sleep; a lost one would hang here until the test's time limit. The waker
// looks for its answer without sleeping, so that it wakes the reactor just when that goes to sleep;
// where others want the CPUs each look takes milliseconds, and fewer rounds must do.
TEST(Reactor, LosesNoWakeUpFromAnotherThread) {
  for (const Duration patience : {Duration{0us}, Duration{5us}, Duration{50us}}) {
    const auto reactor = make_reactor(patience);
    constexpr int kRounds = 3000;
    const Time end = now() + 200ms;
    std::atomic<int> asked{0};
    std::atomic<int> answered{0};
    std::atomic<bool> done{false};
    std::thread waker([&] {
      for (int i = 1; i <= kRounds && now() < end; ++i) {
        asked.store(i);
        reactor->wake();
        while (answered.load() < i)
          std::this_thread::yield();
      }
      done.store(true);
      reactor->wake();
    });
    while (!done.load()) {
      EXPECT_TRUE(reactor->run_once(-1s).has_value());
      answered.store(asked.load());
    }
    waker.join();
    EXPECT_GT(answered.load(), 0);
  }
}

}  // namespace
}  // namespace weft::io
