// SPDX-License-Identifier: Apache-2.0
// The loop of a thread that serves descriptors, timers and polled sources: looks at all of them,
// spins a while when there is nothing, then sleeps in the kernel.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "io/spin_wait.h"
#include "io/timer_wheel.h"
#include "io/unique_fd.h"

namespace weft::io {

// Everything but wake() belongs to the thread that calls run_once().
class Reactor {
 public:
  using ReadyCallback = std::function<void(std::uint32_t events)>;  // EPOLLIN, EPOLLOUT, …
  using Poll = std::function<bool(Time now)>;                       // true: it found work

  // A registration; ends it when destroyed, also from inside a callback. Must not outlive its
  // reactor. A watch ends before its descriptor is closed.
  class Registration {
   public:
    Registration() = default;
    Registration(Registration&& other) noexcept { *this = std::move(other); }
    Registration& operator=(Registration&& other) noexcept;
    ~Registration() { reset(); }
    void reset();
    explicit operator bool() const { return reactor_ != nullptr; }

   private:
    friend class Reactor;
    Registration(Reactor& reactor, std::uint64_t key) : reactor_(&reactor), key_(key) {}
    Reactor* reactor_ = nullptr;
    std::uint64_t key_ = 0;
  };

  // `patience`: how long run_once() spins before it sleeps; zero sleeps at once.
  static Expected<std::unique_ptr<Reactor>> create(Duration patience = 50us);
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;
  ~Reactor();

  // Level-triggered: calls back as long as `fd` is ready for `events`.
  [[nodiscard]] Expected<Registration> watch(int fd, std::uint32_t events, ReadyCallback callback);
  Expected<void> change_events(const Registration& watch, std::uint32_t events);

  // Called in every turn, before descriptors: a source that is cheaper to look at than to ask epoll
  // about. It needs a watched descriptor (or wake()) beside it that ends the sleep.
  [[nodiscard]] Registration poll_with(Poll poll);

  [[nodiscard]] TimerWheel& timers() { return timers_; }

  // Ends the current or the next run_once() early. From any thread and from signal handlers.
  void wake();

  // One turn that finds work, or waits for work until `timeout` has passed (negative: for ever) or
  // wake() is called. Returns the number of callbacks that ran (pollers count when they found
  // work).
  Expected<std::size_t> run_once(Duration timeout);

 private:
  struct Entry {
    int fd = -1;
    ReadyCallback ready;
    Poll poll;
    bool ended = false;
  };

  Reactor(UniqueFd epoll, UniqueFd event, Duration patience);
  std::uint64_t add(Entry entry);
  void end(std::uint64_t key);
  std::size_t run_pollers(Time now);
  Expected<std::size_t> run_ready(const timespec& wait);
  Expected<std::size_t> sleep(Time now, Time until);

  UniqueFd epoll_;
  UniqueFd event_;
  SpinWait spin_;
  TimerWheel timers_;
  std::uint64_t last_key_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Entry>> entries_;
  std::vector<Entry*> pollers_;
  std::vector<std::unique_ptr<Entry>> ended_;  // kept until no callback can be running in them
  bool in_turn_ = false;
  // wake() writes to the event descriptor only for a sleeper. Each side stores its own flag before
  // it reads the other's, so that one of them always sees the other.
  std::atomic<bool> woken_{false};
  std::atomic<bool> sleeping_{false};
};

}  // namespace weft::io
