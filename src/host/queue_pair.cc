// SPDX-License-Identifier: Apache-2.0
#include "host/queue_pair.h"

#include "host/context.h"
#include "io/clock.h"

namespace weft::host {
namespace {

// Bursts are large and live for one call: each thread has one.
hca::Burst& scratch_burst() {
  thread_local std::unique_ptr<hca::Burst> burst;
  if (!burst) burst = std::make_unique<hca::Burst>();
  return *burst;
}

hca::UdConfig core_config(const Context& context, const QueuePairConfig& config,
                          const port::Endpoint& endpoint, const port::PortAttributes& port) {
  hca::UdConfig core;
  core.qpn = endpoint.qpn();
  core.pd = config.pd;
  core.framing = context.framing();
  core.mtu = port.max_message;
  core.max_sends = config.max_sends;
  core.max_receives = config.max_receives;
  core.max_send_pieces = config.max_send_pieces;
  core.max_receive_pieces = config.max_receive_pieces;
  core.max_inline = config.max_inline;
  core.signal_all = config.signal_all;
  core.credits = core.framing == hca::UdFraming::kBth;
  core.socket_bytes = endpoint.receive_capacity();
  return core;
}

}  // namespace

// Hands arrived datagrams to the core, a lock section for every few, so that a posting thread never
// waits long. Reads the clock with the first: most looks find nothing.
class QueuePair::Receiver final : public port::DatagramSink {
 public:
  explicit Receiver(QueuePair& queue_pair)
      : queue_pair_(queue_pair), guard_(queue_pair.lock_, std::defer_lock) {}
  void deliver(const hca::InDatagram& datagram) override {
    if (now_ == Time{}) now_ = io::now();
    if (!guard_.owns_lock()) guard_.lock();
    if (!queue_pair_.destroyed_) queue_pair_.core_.receive(datagram, now_);
    if (++in_section_ % kPerSection == 0) guard_.unlock();
  }
  void end_run() override {
    if (now_ == Time{}) return;
    if (!guard_.owns_lock()) guard_.lock();
    has_work_ = queue_pair_.core_.has_work();
    guard_.unlock();
  }
  // Credits to give, or sends that a credit freed.
  [[nodiscard]] bool has_work() const { return has_work_; }
  [[nodiscard]] Time now() const { return now_; }

 private:
  static constexpr unsigned kPerSection = 8;

  QueuePair& queue_pair_;
  std::unique_lock<SpinLock> guard_;
  Time now_{};
  unsigned in_section_ = 0;
  bool has_work_ = false;
};

QueuePair::QueuePair(std::shared_ptr<Context> context, const QueuePairConfig& config,
                     std::unique_ptr<port::Endpoint> endpoint)
    : context_(std::move(context)),
      send_queue_(config.send_queue),
      receive_queue_(config.receive_queue),
      endpoint_(std::move(endpoint)),
      user_(config.user),
      core_(core_config(*context_, config, *endpoint_, context_->port_attributes()),
            context_->memory(), *send_queue_, *receive_queue_) {
}

QueuePair::~QueuePair() = default;

Expected<void> QueuePair::modify(const hca::QpAttributes& attributes, std::uint32_t mask) {
  bool flush_now = false;
  {
    const std::lock_guard guard(lock_);
    if (auto changed = core_.modify(attributes, mask); !changed) return changed;
    if (core_.state() == hca::QpState::kReset) {
      send_queue_->forget(qpn());
      receive_queue_->forget(qpn());
    }
    flush_now = core_.has_work() || core_.state() == hca::QpState::kSqd;
  }
  if (flush_now) flush(io::now());
  return {};
}

hca::QpAttributes QueuePair::query() const {
  const std::lock_guard guard(lock_);
  return core_.query();
}

std::uint64_t QueuePair::polls() const {
  return send_queue_->polls() + receive_queue_->polls();
}

std::errc QueuePair::post_send(const hca::SendRequest& request, bool more) {
  const Time now = io::now();
  bool at_once = false;
  bool newly_deferred = false;
  {
    const std::lock_guard guard(lock_);
    if (const std::errc error = core_.post_send(request); error != std::errc{}) return error;
    if (more) return {};
    const bool run_is_full =
        core_.queued_packets() >= kRunPackets || core_.queued_bytes() >= kRunBytes;
    const bool first_since_poll = polls_at_send_ != polls() || now - sent_at_ >= kGatherTime;
    const bool waited_enough = deferred_for(now) >= kGatherTime;
    at_once = run_is_full || waited_enough || (first_since_poll && !has_deferred_sends());
    if (!at_once) newly_deferred = set_deferred(true, now);
  }
  if (at_once) {
    flush(now);
  } else if (newly_deferred) {
    context_->arm_flush(*this, now + kGatherTime);
  }
  return {};
}

std::errc QueuePair::post_receive(const hca::ReceiveRequest& request) {
  bool newly_deferred = false;
  {
    const std::lock_guard guard(lock_);
    const std::errc error = core_.post_receive(request);
    if (error != std::errc{}) return error;
    // A peer may be waiting for the credit of this very receive.
    newly_deferred = core_.has_work() && set_deferred(true, io::now());
  }
  if (newly_deferred) {
    context_->arm_flush(*this, io::now() + kGatherTime);
  }
  return {};
}

Expected<void> QueuePair::attach(const Gid& group) {
  const Gid address = context_->group_address(group);
  const std::lock_guard guard(control_mutex_);
  if (auto joined = endpoint_->attach(address); !joined) return joined;
  {
    const std::lock_guard core_guard(lock_);
    if (auto attached = core_.attach(address); !attached) return attached;
  }
  return context_->refresh(*this);
}

Expected<void> QueuePair::detach(const Gid& group) {
  const Gid address = context_->group_address(group);
  const std::lock_guard guard(control_mutex_);
  {
    const std::lock_guard core_guard(lock_);
    if (auto detached = core_.detach(address); !detached) return detached;
  }
  return endpoint_->detach(address);
}

void QueuePair::destroy() {
  {
    const std::lock_guard guard(lock_);
    destroyed_ = true;
    set_deferred(false, {});
  }
  send_queue_->detach(this);
  receive_queue_->detach(this);
  send_queue_->forget(qpn());
  receive_queue_->forget(qpn());
  context_->async_events().forget(this);
  async_events_.wait_for_none();
  context_->remove(*this);
}

void QueuePair::send_waiting(Time now) {
  hca::Burst& burst = scratch_burst();
  After after;
  bool more = false;
  {
    const std::lock_guard guard(lock_);
    if (destroyed_) return;
    more = core_.next_burst(burst, now);
    if (!more) after = settle(now, Blocked::kNo);
  }
  while (more) {
    const hca::SendResult result = endpoint_->send(burst);
    // A run takes the kernel as long as a program takes to post many more.
    if (burst.size() > 1) now = io::now();
    const std::lock_guard guard(lock_);
    core_.sent(burst, result, now);
    polls_at_send_ = polls();
    sent_at_ = now;
    if (destroyed_) return;
    const bool blocked = result.outcome == hca::SendOutcome::kWouldBlock;
    more = !blocked && core_.next_burst(burst, now);
    if (!more) after = settle(now, blocked ? Blocked::kYes : Blocked::kNo);
  }
  if (after.flush_at) context_->arm_flush(*this, *after.flush_at);
  if (after.drained) {
    context_->async_events().post({AsyncEventType::kSqDrained, nullptr, this});
  }
}

bool QueuePair::flush(Time now) {
  flush_asked_.store(true);
  // Whoever holds the token looks at flush_asked_ after giving it back, so a request made while it
  // was held is never lost (both are sequentially consistent).
  while (flush_asked_.load()) {
    if (sending_.exchange(true)) return false;
    flush_asked_.store(false);
    send_waiting(now);
    sending_.store(false);
  }
  return true;
}

// What is still queued waits for a poll; the timer sees to it if none comes.
QueuePair::After QueuePair::settle(Time now, Blocked blocked) {
  After after;
  after.drained = core_.take_drained_event();
  const bool waiting = core_.has_work();
  set_deferred(waiting, now);
  if (waiting) after.flush_at = blocked == Blocked::kYes ? now + kRetryTime : core_.deadline();
  return after;
}

bool QueuePair::set_deferred(bool deferred, Time now) {
  if (deferred_.exchange(deferred, std::memory_order_relaxed) == deferred) return false;
  const int change = deferred ? 1 : -1;
  send_queue_->note_deferred(change);
  if (receive_queue_ != send_queue_) receive_queue_->note_deferred(change);
  if (deferred) {
    deferred_since_.store(now, std::memory_order_relaxed);
    deferrals_.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

Duration QueuePair::deferred_for(Time now) const {
  if (!has_deferred_sends()) return Duration::zero();
  return now - deferred_since_.load(std::memory_order_relaxed);
}

bool QueuePair::receive(std::size_t budget) {
  if (receiving_.exchange(true, std::memory_order_acquire)) return false;
  Receiver receiver(*this);
  endpoint_->receive(receiver, budget);
  receiving_.store(false, std::memory_order_release);
  if (receiver.has_work()) flush(receiver.now());
  return true;
}

QueuePair::Report QueuePair::report() const {
  const std::lock_guard guard(lock_);
  return {core_.state(), core_.queued_packets(), core_.counters().snapshot()};
}

}  // namespace weft::host
