// SPDX-License-Identifier: Apache-2.0
#include "io/reactor.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <span>
#include <utility>

#include "io/clock.h"

namespace weft::io {
namespace {

constexpr std::uint64_t kEventKey = 0;  // the reactor's own descriptor; registrations start at 1
constexpr timespec kNoWait{};

timespec to_timespec(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((duration - seconds).count())};
}

// Linux before 5.11 counts in milliseconds: rather too long than a busy loop.
int wait_for_events(int fd, std::span<epoll_event> events, const timespec& wait) {
  const int room = static_cast<int>(events.size());
  const int count = epoll_pwait2(fd, events.data(), room, &wait, nullptr);
  if (count >= 0 || errno != ENOSYS) return count;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::seconds{wait.tv_sec} + Duration{wait.tv_nsec});
  const auto longest = std::min<std::int64_t>(milliseconds.count(), INT_MAX);
  return epoll_wait(fd, events.data(), room, static_cast<int>(longest));
}

}  // namespace

Reactor::Registration& Reactor::Registration::operator=(Registration&& other) noexcept {
  if (this != &other) {
    reset();
    reactor_ = std::exchange(other.reactor_, nullptr);
    key_ = other.key_;
  }
  return *this;
}

void Reactor::Registration::reset() {
  if (reactor_ != nullptr) std::exchange(reactor_, nullptr)->end(key_);
}

Expected<std::unique_ptr<Reactor>> Reactor::create(Duration patience) {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno(errno, "epoll_create1");
  UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail_errno(errno, "eventfd");
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.u64 = kEventKey;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &wanted) != 0) {
    return fail_errno(errno, "epoll_ctl for the wake-up descriptor");
  }
  return std::unique_ptr<Reactor>(new Reactor(std::move(epoll), std::move(event), patience));
}

Reactor::Reactor(UniqueFd epoll, UniqueFd event, Duration patience)
    : epoll_(std::move(epoll)), event_(std::move(event)), spin_(patience), timers_(now()) {
}

Reactor::~Reactor() = default;

std::uint64_t Reactor::add(Entry entry) {
  const std::uint64_t key = ++last_key_;
  entries_.emplace(key, std::make_unique<Entry>(std::move(entry)));
  return key;
}

Expected<Reactor::Registration> Reactor::watch(int fd, std::uint32_t events,
                                               ReadyCallback callback) {
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.u64 = last_key_ + 1;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) != 0) {
    return fail_errno(errno, "epoll_ctl: watch descriptor " + std::to_string(fd));
  }
  return Registration(*this, add({fd, std::move(callback), {}}));
}

Expected<void> Reactor::change_events(const Registration& watch, std::uint32_t events) {
  const auto found = entries_.find(watch.key_);
  if (watch.reactor_ != this || found == entries_.end() || found->second->fd < 0) {
    return fail(std::errc::invalid_argument, "change_events: not a watch of this reactor");
  }
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.u64 = watch.key_;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second->fd, &wanted) != 0) {
    return fail_errno(errno, "epoll_ctl: change descriptor " + std::to_string(found->second->fd));
  }
  return {};
}

Reactor::Registration Reactor::poll_with(Poll poll) {
  const std::uint64_t key = add({-1, {}, std::move(poll)});
  pollers_.push_back(entries_.at(key).get());
  return Registration(*this, key);
}

void Reactor::end(std::uint64_t key) {
  auto node = entries_.extract(key);
  if (node.empty()) return;
  Entry& entry = *node.mapped();
  entry.ended = true;
  if (entry.fd >= 0) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry.fd, nullptr);
  } else if (!in_turn_) {
    std::erase(pollers_, &entry);
  }
  if (in_turn_) ended_.push_back(std::move(node.mapped()));
}

void Reactor::wake() {
  woken_.store(true, std::memory_order_seq_cst);
  if (!sleeping_.load(std::memory_order_seq_cst)) return;
  const std::uint64_t one = 1;
  // It can fail only when the counter is full, and then the sleeper is awake anyway.
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

std::size_t Reactor::run_pollers(Time now) {
  std::size_t found = 0;
  // By index: a poller may register another one.
  for (std::size_t i = 0; i < pollers_.size(); ++i) {
    Entry& entry = *pollers_[i];
    if (!entry.ended && entry.poll(now)) ++found;
  }
  return found;
}

Expected<std::size_t> Reactor::run_ready(const timespec& wait) {
  std::array<epoll_event, 64> events;
  const int count = wait_for_events(epoll_.get(), events, wait);
  sleeping_.store(false, std::memory_order_relaxed);
  if (count < 0) {
    if (errno == EINTR) return 0;
    return fail_errno(errno, "epoll_wait");
  }
  std::size_t ran = 0;
  for (int i = 0; i < count; ++i) {
    // The kernel's structure is packed: its members cannot be referred to.
    const std::uint64_t key = events[static_cast<std::size_t>(i)].data.u64;
    const std::uint32_t ready = events[static_cast<std::size_t>(i)].events;
    if (key == kEventKey) {
      std::uint64_t drained = 0;
      [[maybe_unused]] const ssize_t got = read(event_.get(), &drained, sizeof drained);
      continue;
    }
    // A callback before this one may have ended the registration.
    const auto found = entries_.find(key);
    if (found == entries_.end()) continue;
    found->second->ready(ready);
    ++ran;
  }
  return ran;
}

Expected<std::size_t> Reactor::sleep(Time now, Time until) {
  if (const auto wakeup = timers_.next_wakeup()) until = std::min(until, *wakeup);
  if (until <= now) return run_ready(kNoWait);
  sleeping_.store(true, std::memory_order_seq_cst);
  const bool woken = woken_.load(std::memory_order_seq_cst);
  return run_ready(woken ? kNoWait : to_timespec(until - now));
}

Expected<std::size_t> Reactor::run_once(Duration timeout) {
  const Time begin = now();
  const bool for_ever = timeout < Duration::zero() || timeout > Time::max() - begin;
  const Time until = for_ever ? Time::max() : begin + timeout;
  spin_.reset();
  in_turn_ = true;
  Expected<std::size_t> ran = 0;
  bool awake = true;
  for (Time time = begin;; time = now()) {
    const std::size_t found = timers_.advance(time) + run_pollers(time);
    ran = awake || found > 0 ? run_ready(kNoWait) : sleep(time, until);
    if (!ran) break;
    *ran += found;
    const bool woken = woken_.exchange(false, std::memory_order_acq_rel);
    if (*ran > 0 || woken || time >= until) break;
    awake = spin_.look_again(time);
  }
  in_turn_ = false;
  std::erase_if(pollers_, [](const Entry* entry) { return entry->ended; });
  ended_.clear();
  return ran;
}

}  // namespace weft::io
