// SPDX-License-Identifier: Apache-2.0
#include "host/progress.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <span>

#include "host/patience.h"
#include "host/queue_pair.h"
#include "io/clock.h"

namespace weft::host {
namespace {

constexpr std::uint64_t kTimerTag = ~std::uint64_t{0};
constexpr std::uint64_t kWakeTag = kTimerTag - 1;
constexpr std::uint64_t kNewsTag = kTimerTag - 2;
constexpr std::size_t kEvents = 64;
// Datagrams read from one receiver before it answers and the next has its turn: about one run, so
// that acknowledgements come while the sender still has window.
constexpr std::size_t kThreadBudget = 16;
// Where a process carries them: an acknowledgement costs it as much as a packet.
constexpr std::size_t kCarriedBudget = 64;
// Where many share a socket that is a datagram of each: one answer for several of them costs the
// sender fewer calls, too.
constexpr std::size_t kSharedBudget = 128;
// So often all hot receivers are read before others are looked at.
constexpr unsigned kRoundsInRow = 16;

std::size_t budget_of(const Receiver& receiver, Progress::Carrier carrier) {
  if (receiver.queue_pairs() > 1) return kSharedBudget;
  return carrier == Progress::Carrier::kProcess ? kCarriedBudget : kThreadBudget;
}

constexpr std::uint32_t kOneShot = EPOLLIN | EPOLLONESHOT;

Expected<void> epoll_register(int epoll, int operation, int fd, std::uint32_t events,
                              std::uint64_t tag) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  if (epoll_ctl(epoll, operation, fd, &event) == 0) return {};
  // What is there already may be disarmed, as a one-shot descriptor that has fired is: arm it.
  if (operation == EPOLL_CTL_ADD && errno == EEXIST &&
      epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0) {
    return {};
  }
  return fail_errno(errno, "epoll_ctl");
}

// epoll_wait with the precision of epoll_pwait2 (Linux 5.11), where there is that.
int wait_for(int epoll, std::span<epoll_event> events, Duration timeout) {
  const int most = static_cast<int>(events.size());
  if (timeout == Duration::zero()) return epoll_wait(epoll, events.data(), most, 0);
  if (timeout == Duration::max()) return epoll_wait(epoll, events.data(), most, -1);
  const timespec spec{timeout.count() / 1'000'000'000, timeout.count() % 1'000'000'000};
  const int count = epoll_pwait2(epoll, events.data(), most, &spec, nullptr);
  if (count >= 0 || errno != ENOSYS) return count;
  return epoll_wait(epoll, events.data(), most, static_cast<int>(timeout / 1ms) + 1);
}

void drain(int fd) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(fd, &count, sizeof count);
}

}  // namespace

Expected<std::unique_ptr<Progress>> Progress::start(int news, std::function<void()> on_news,
                                                    Carrier carrier) {
  io::UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  io::UniqueFd ready(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll || !ready) return fail_errno(errno, "epoll_create1");
  io::UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) return fail_errno(errno, "timerfd_create");
  io::UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno(errno, "eventfd");
  for (const auto& [fd, tag] :
       {std::pair{timer.get(), kTimerTag}, {wake.get(), kWakeTag}, {news, kNewsTag}}) {
    // News are taken until there are none; whose sender is gone would be readable for ever.
    const std::uint32_t events = tag == kNewsTag ? EPOLLIN | EPOLLET : EPOLLIN;
    if (auto added = epoll_register(epoll.get(), EPOLL_CTL_ADD, fd, events, tag); !added) {
      return tl::unexpected(added.error());
    }
  }
  std::unique_ptr<Progress> progress(new Progress(std::move(epoll), std::move(ready),
                                                  std::move(timer), std::move(wake),
                                                  std::move(on_news), carrier));
  // The application's signals are not for this thread: it inherits a mask. Faults are its own, and
  // a guarded copy lives by their handler: the kernel ends a process that blocks them.
  sigset_t others;
  sigset_t before;
  sigfillset(&others);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    sigdelset(&others, fault);
  pthread_sigmask(SIG_SETMASK, &others, &before);
  progress->thread_ = std::thread([raw = progress.get()] { raw->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(progress->thread_.native_handle(), "weft-progress");
  return progress;
}

// A forked child may hold the descriptor open after it was closed here: without edges it would be
// readable for ever, and nobody would read it.
Expected<void> Progress::watch_news(int news) {
  return epoll_register(epoll_.get(), EPOLL_CTL_ADD, news, EPOLLIN | EPOLLET, kNewsTag);
}

Progress::Progress(io::UniqueFd epoll, io::UniqueFd ready, io::UniqueFd timer, io::UniqueFd wake,
                   std::function<void()> on_news, Carrier carrier)
    : epoll_(std::move(epoll)),
      ready_(std::move(ready)),
      timer_(std::move(timer)),
      wake_(std::move(wake)),
      on_news_(std::move(on_news)),
      carrier_(carrier),
      owner_pid_(getpid()) {
}

Progress::~Progress() {
  stop();
}

void Progress::stop() {
  if (!thread_.joinable()) return;
  if (owner_pid_ != getpid()) {
    thread_.detach();  // a forked child: the thread exists in the parent only
    return;
  }
  stop_.store(true);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_.get(), &one, sizeof one);
  thread_.join();
}

Expected<void> Progress::register_descriptors(Receiver& receiver, int epoll, std::uint32_t events) {
  for (const int fd : receiver.descriptors()) {
    auto added = epoll_register(epoll, EPOLL_CTL_ADD, fd, events, receiver.tag());
    if (!added) return added;
  }
  return {};
}

Expected<void> Progress::add(const std::shared_ptr<Receiver>& receiver) {
  {
    const std::lock_guard guard(mutex_);
    receivers_[receiver->tag()] = receiver;
    if (!many_ && receivers_.size() > kFewReceivers) {
      many_ = true;
      for (const auto& [number, weak] : receivers_) {
        const auto each = weak.lock();
        if (!each || each == receiver) continue;
        if (auto added = register_descriptors(*each, ready_.get(), EPOLLIN); !added) return added;
      }
    }
  }
  return refresh(*receiver);
}

Expected<void> Progress::refresh(Receiver& receiver) {
  {
    const std::lock_guard guard(mutex_);
    if (many_) {
      auto added = register_descriptors(receiver, ready_.get(), EPOLLIN);
      if (!added) return added;
    }
  }
  auto added = register_descriptors(receiver, epoll_.get(), kOneShot);
  receiver.wait();
  return added;
}

void Progress::remove(Receiver& receiver) {
  {
    const std::lock_guard guard(mutex_);
    receivers_.erase(receiver.tag());
  }
  for (const int fd : receiver.descriptors()) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    epoll_ctl(ready_.get(), EPOLL_CTL_DEL, fd, nullptr);
  }
}

std::shared_ptr<Receiver> Progress::find(std::uint64_t tag) {
  const std::lock_guard guard(mutex_);
  const auto found = receivers_.find(tag);
  return found == receivers_.end() ? nullptr : found->second.lock();
}

void Progress::watch(Receiver& receiver) {
  if (receiver.left_to_program_.exchange(false)) rearm(receiver, EPOLL_CTL_ADD);
}

void Progress::rearm(Receiver& receiver, int operation) {
  for (const int fd : receiver.descriptors()) {
    // Fails only for a receiver that is being destroyed.
    [[maybe_unused]] const auto done =
        epoll_register(epoll_.get(), operation, fd, kOneShot, receiver.tag());
  }
  if (operation != EPOLL_CTL_DEL) receiver.wait();
}

// A socket that is in no epoll costs a sender less: there is nobody to wake.
void Progress::leave_to_program(Receiver& receiver, std::uint64_t activity) {
  receiver.activity_seen_ = activity;
  // Whose program was just mistaken for one that had stopped polling may look so again.
  receiver.review_after_ = receiver.kept_in_vain() ? kLastReview : kFirstReview;
  receiver.review_at_ = io::now() + receiver.review_after_;
  if (receiver.left_to_program_.load()) return;
  // Out of the epoll before it is called left: a program that asks for an event in between finds
  // nothing to watch again, and review() takes the socket over.
  rearm(receiver, EPOLL_CTL_DEL);
  receiver.left_to_program_.store(true);
  left_.push_back(receiver.weak_from_this());
}

// With a processor to itself the thread answers at once. Else the program is about to run, and what
// it posts can take the acknowledgement along.
Receiver::Acks Progress::acks() const {
  return crowding_.crowded(io::now()) ? Receiver::Acks::kMayWait : Receiver::Acks::kAtOnce;
}

// False when the program is reading right now. A receiver that had something is hot; one that had
// not is waited on again.
bool Progress::take_over(Receiver& receiver) {
  const auto count = receiver.receive(budget_of(receiver, carrier_), acks());
  if (!count) return false;
  const bool was_left = receiver.left_to_program_.exchange(false);
  if (was_left && *count > 0) receiver.kept_for_ = kKeptFor;
  receiver.note_read(*count);
  if (*count > 0 && !was_left && !crowding_.crowded(io::now())) {
    hot_.push_back(receiver.shared_from_this());
  } else {
    // What was left to the program comes back; else the one-shot descriptor is armed again.
    rearm(receiver, was_left ? EPOLL_CTL_ADD : EPOLL_CTL_MOD);
  }
  return true;
}

void Progress::serve(std::uint64_t tag, std::uint32_t events) {
  const auto receiver = find(tag);
  if (!receiver) return;
  if ((events & EPOLLERR) != 0) receiver->expect_errors();
  const std::uint64_t activity = receiver->activity();
  const bool keep = receiver->kept_for_ > 0;
  if (keep) --receiver->kept_for_;
  const bool drive =
      keep || receiver->armed() || (activity == receiver->activity_seen_ && !receiver->driven());
  if (drive && take_over(*receiver)) return;
  leave_to_program(*receiver, activity);
}

// Nobody waits on hot receivers: they are asked again and again, until nothing has come for a while
// or somebody else wants the processor.
void Progress::spin() {
  Time last = io::now();
  unsigned slow_yields = 0;
  std::size_t read = 0;  // since others had their turn
  for (unsigned round = 1; !hot_.empty() && !stop_.load(std::memory_order_relaxed); ++round) {
    bool found = false;
    bool more = false;
    for (std::size_t i = 0; i < hot_.size();) {
      Receiver& receiver = *hot_[i];
      const std::size_t budget = budget_of(receiver, carrier_);
      const auto count = receiver.receive(budget, Receiver::Acks::kAtOnce);
      found |= count.value_or(0) > 0;
      more |= count.value_or(0) >= budget;
      read += count.value_or(0);
      const bool polled = receiver.note_read(count.value_or(0));
      if (count && (receiver.kept_for_ > 0 || !polled)) {
        ++i;
        continue;
      }
      // The program polls again: leave it to that.
      leave_to_program(receiver, receiver.activity_seen_);
      hot_.erase(hot_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    // A round of many busy receivers takes long, and the next one begins with those that became so.
    if (round % kRoundsInRow == 0 || read >= kSharedBudget) {
      handle_events(Duration::zero());
      read = 0;
    }
    const Time now = io::now();
    if (found) last = now;
    if (now - last > kSpin) break;
    // Whoever carries packets and has our processor could only bring more of them, a few at a time.
    // And while there are more, to yield costs up to a tenth of what it costs to read a run. But
    // nobody must take us for somebody who computes.
    const bool go_on = more || (found && carrier_ == Carrier::kProcess);
    if (go_on && round % kRoundsInRow != 0) continue;
    std::this_thread::yield();
    const Duration yielded = io::now() - now;
    // A process that carries packets is not in the way: it is whom we wait for.
    const bool slow = yielded > kSlowYield && carrier_ == Carrier::kKernel;
    slow_yields = slow ? slow_yields + 1 : 0;
    if (yielded > kTimeSlice && carrier_ == Carrier::kProcess) {
      crowding_.suspected(now + yielded);
      break;
    }
    if (slow_yields == kSlowYields || yielded > kTimeSlice) {
      crowding_.certain(now);
      break;
    }
  }
  for (const auto& receiver : hot_)
    rearm(*receiver, EPOLL_CTL_MOD);
  hot_.clear();
}

void Progress::review(Time now) {
  std::vector<std::weak_ptr<Receiver>> left;
  left.swap(left_);
  for (auto& weak : left) {
    const auto receiver = weak.lock();
    if (!receiver || !receiver->left_to_program_.load()) continue;
    if (receiver->review_at_ <= now) {
      const std::uint64_t activity = receiver->activity();
      const bool idle = activity == receiver->activity_seen_ && !receiver->driven();
      if (idle && take_over(*receiver)) continue;
      receiver->activity_seen_ = activity;
      receiver->review_after_ = std::min(receiver->review_after_ * 2, kLastReview);
      receiver->review_at_ = next_multiple(now, receiver->review_after_);
    }
    left_.push_back(std::move(weak));
  }
}

Duration Progress::until_review(Time now) const {
  Time next = Time::max();
  for (const auto& weak : left_) {
    if (const auto receiver = weak.lock()) next = std::min(next, receiver->review_at_);
  }
  return next == Time::max() ? Duration::max() : std::max(next - now, Duration::zero());
}

void Progress::send_owed() noexcept {
  if (owner_pid_ != getpid() || stop_.load()) return;
  const std::uint32_t ticket = asked_.fetch_add(1) + 1;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_.get(), &one, sizeof one);
  Patience patience(io::now());
  while (static_cast<std::int32_t>(answered_.load() - ticket) < 0 && patience.left(io::now())) {
    constexpr timespec kMoment{0, 20'000};
    nanosleep(&kMoment, nullptr);
  }
}

void Progress::answer_request() {
  const std::uint32_t asked = asked_.load();
  if (answered_.load() == asked) return;
  std::vector<std::shared_ptr<Receiver>> receivers;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [tag, weak] : receivers_) {
      if (auto receiver = weak.lock()) receivers.push_back(std::move(receiver));
    }
  }
  Patience patience(io::now());
  for (const auto& receiver : receivers)
    receiver->finish_run(patience);
  for (const auto& receiver : receivers)
    receiver->send_owed();
  answered_.store(asked);
}

std::size_t Progress::receive_ready() {
  std::array<epoll_event, kEvents> events;
  std::size_t read = 0;
  const int count = epoll_wait(ready_.get(), events.data(), kEvents, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (const auto receiver = find(event.data.u64)) {
      if ((event.events & EPOLLERR) != 0) receiver->expect_errors();
      constexpr auto kReader = Receiver::Reader::kPollIfReady;
      read += receiver->receive(1, Receiver::Acks::kMayWait, kReader).value_or(0);
    }
  }
  return read;
}

void Progress::handle_events(Duration timeout) {
  std::array<epoll_event, kEvents> events;
  const int count = wait_for(epoll_.get(), events, timeout);
  const Time now = io::now();
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
    if (tag == kTimerTag) {
      drain(timer_.get());
      flush_deferred(now);
      meet_deadlines(now);
      serve_turns(now);
    } else if (tag == kWakeTag) {
      drain(wake_.get());
      answer_request();
    } else if (tag == kNewsTag) {
      on_news_();
    } else {
      serve(tag, events[static_cast<std::size_t>(i)].events);
    }
  }
  if (!left_.empty()) review(now);
}

void Progress::run() {
  while (!stop_.load(std::memory_order_relaxed)) {
    handle_events(left_.empty() ? Duration::max() : until_review(io::now()));
    if (!hot_.empty()) spin();
  }
}

}  // namespace weft::host
