// SPDX-License-Identifier: Apache-2.0
#include "host/queue_pair.h"

#include <algorithm>
#include <cassert>
#include <thread>

#include "hca/connected_queue_pair.h"
#include "hca/raw_queue_pair.h"
#include "hca/ud_queue_pair.h"
#include "host/context.h"
#include "host/guarded_copy.h"
#include "io/clock.h"

namespace weft::host {
namespace {

// Bursts are large and live for one call: each thread has one.
hca::Burst& scratch_burst() {
  [[gnu::tls_model("initial-exec")]] thread_local std::unique_ptr<hca::Burst> burst;
  if (!burst) burst = std::make_unique<hca::Burst>();
  return *burst;
}

// What is common to the configurations of all cores.
template <class Config>
Config basic_config(Context& context, const QueuePairConfig& config, Qpn qpn) {
  Config core;
  core.qpn = qpn;
  core.pd = config.pd;
  core.max_sends = config.max_sends;
  core.max_receives = config.max_receives;
  core.max_send_pieces = config.max_send_pieces;
  core.max_receive_pieces = config.max_receive_pieces;
  core.max_inline = config.max_inline;
  core.signal_all = config.signal_all;
  core.pkeys = &context.pkeys(1);
  core.copy = guarded_copy;
  return core;
}

// An XRC target completes into the queues of the SRQs that its packets name; what it would report
// by itself has no reader.
class NoCompletions final : public hca::CompletionSink {
 public:
  void complete(const hca::Completion&) override {}
  static NoCompletions& instance() {
    static NoCompletions none;
    return none;
  }
};

hca::CompletionSink& sink(const std::shared_ptr<CompletionQueue>& queue) {
  if (queue) return *queue;
  return NoCompletions::instance();
}

std::unique_ptr<hca::QueuePair> make_core(Context& context, const QueuePairConfig& config,
                                          const port::Endpoint& endpoint) {
  const port::PortAttributes port = context.port_attributes(1);
  const std::uint32_t capacity = endpoint.inlet()->capacity();
  hca::CompletionSink& sends = sink(config.send_queue);
  hca::CompletionSink& receives = sink(config.receive_queue);
  if (config.type == hca::QpType::kUd) {
    auto core = basic_config<hca::UdConfig>(context, config, endpoint.qpn());
    core.framing = context.framing();
    core.mtu = port.max_message;
    core.credits = core.framing == hca::UdFraming::kBth && context.weft_peers_only();
    core.socket_bytes = capacity;
    return std::make_unique<hca::UdQueuePair>(core, context.memory(), sends, receives,
                                              config.srq.get());
  }
  if (config.type == hca::QpType::kRaw) {
    return std::make_unique<hca::RawQueuePair>(
        basic_config<hca::RawConfig>(context, config, endpoint.qpn()), context.memory(), sends,
        receives, config.srq.get());
  }
  auto core = basic_config<hca::ConnectedConfig>(context, config, endpoint.qpn());
  core.type = config.type;
  core.max_mtu = port.max_mtu;
  core.receive_budget = hca::grant_budget(capacity);
  core.extensions = context.weft_peers_only();
  core.lossless = context.lossless();
  core.ecn = port.link_layer == port::LinkLayer::kEthernet;  // there is an IP header to mark
  core.keep_alive = context.keep_alive();
  core.guard = guarded;
  return std::make_unique<hca::ConnectedQueuePair>(
      core, context.memory(), sends, receives, config.srq.get(),
      config.xrc_domain != 0 ? context.xrc_queues(config.xrc_domain) : nullptr);
}

}  // namespace

QueuePair::QueuePair(std::shared_ptr<Context> context, const QueuePairConfig& config,
                     std::unique_ptr<port::Endpoint> endpoint, std::shared_ptr<Receiver> receiver)
    : config_(config),
      context_(std::move(context)),
      endpoint_(std::move(endpoint)),
      receiver_(std::move(receiver)),
      qpn_(endpoint_->qpn()),
      core_(make_core(*context_, config_, *endpoint_)) {
  if (hca::is_reliable(type())) context_->send_turns().join(turns_);
}

QueuePair::~QueuePair() {
  context_->send_turns().leave(turns_);
}

std::vector<CompletionQueue*> QueuePair::completion_queues() const {
  std::vector<CompletionQueue*> queues;
  if (config_.send_queue) queues.push_back(config_.send_queue.get());
  if (config_.receive_queue && config_.receive_queue != config_.send_queue) {
    queues.push_back(config_.receive_queue.get());
  }
  return queues;
}

Expected<void> QueuePair::modify(const hca::QpAttributes& attributes, std::uint32_t mask) {
  if ((mask & hca::kAttrState) != 0 &&
      (attributes.state == hca::QpState::kReset || attributes.state == hca::QpState::kErr)) {
    take_what_has_arrived();
    send_owed();
  }
  if ((mask & hca::kAttrPort) != 0) {
    if (auto moved = move_to(attributes.port); !moved) return moved;
  }
  After after;
  bool flush_now = false;
  // What was agreed on before the program heard of its peer holds from the first packet.
  if ((mask & hca::kAttrPeer) != 0) context_->take_agreements();
  {
    const std::lock_guard guard(lock_);
    if (auto changed = core_->modify(attributes, mask); !changed) return changed;
    if (core_->state() == hca::QpState::kReset) {
      for (CompletionQueue* queue : completion_queues())
        queue->forget(qpn());
      agreement_.reset();
    }
    if (agreement_) core_->agree(*agreement_);
    flush_now = core_->has_work();
    if (!flush_now) after = settle(io::now(), Blocked::kNo);
  }
  follow_up(after);
  if (flush_now) flush(io::now());
  return {};
}

void QueuePair::fail() {
  After after;
  {
    const std::lock_guard guard(lock_);
    if (destroyed_ || core_->state() == hca::QpState::kReset) return;
    const hca::QpAttributes failed{.state = hca::QpState::kErr};
    [[maybe_unused]] const auto moved = core_->modify(failed, hca::kAttrState);
    assert(moved);
    after = settle(io::now(), Blocked::kNo);
  }
  follow_up(after);
}

void QueuePair::agree(const hca::Agreement& agreement) {
  const std::lock_guard guard(lock_);
  agreement_ = agreement;
  core_->agree(agreement);
}

hca::QpAttributes QueuePair::query() const {
  const std::lock_guard guard(lock_);
  return core_->query();
}

Expected<void> QueuePair::attach(const Gid& group) {
  const Gid address = context_->group_address(group);
  const std::lock_guard guard(control_mutex_);
  if (auto joined = endpoint_->attach(address); !joined) return joined;
  {
    const std::lock_guard core_guard(lock_);
    if (auto attached = core_->attach(address); !attached) return attached;
  }
  return context_->refresh(*receiver_);
}

Expected<void> QueuePair::detach(const Gid& group) {
  const Gid address = context_->group_address(group);
  const std::lock_guard guard(control_mutex_);
  {
    const std::lock_guard core_guard(lock_);
    if (auto detached = core_->detach(address); !detached) return detached;
  }
  return endpoint_->detach(address);
}

void QueuePair::destroy() {
  if (hca::is_reliable(type())) take_what_has_arrived();
  send_owed();
  {
    const std::lock_guard guard(lock_);
    destroyed_ = true;
    context_->send_turns().leave(turns_);
    set_deferred(Deferred::kNothing, {});
    deadline_.store(Time::max());
  }
  for (CompletionQueue* queue : completion_queues())
    queue->detach(this);
  receiver_->remove(*this);
  for (CompletionQueue* queue : completion_queues())
    queue->forget(qpn());
  context_->async_events().forget(this);
  async_events_.wait_for_none();
  context_->remove(*this);
}

std::size_t QueuePair::queued_datagrams() const {
  const std::lock_guard guard(lock_);
  return hca::is_connected(config_.type) ? 0 : core_->queued_packets();
}

bool QueuePair::next_burst(hca::Burst& burst, Time now) {
  After after;
  bool filled = false;
  bool first_to_wait = false;
  {
    const std::lock_guard guard(lock_);
    if (destroyed_) return false;
    // A program may answer a message before the run that the message was part of has ended.
    core_->set_acks_first(waits_for_events());
    first_to_wait = ask_for_turn(now);
    core_->expect_more(std::exchange(posts_on_, false) && turn_ == Turn::kNone);
    filled = fill(burst, now);
    if (!filled) after = settle(now, Blocked::kNo);
  }
  if (first_to_wait) context_->arm_turns(now + SendTurns::kLongest);
  if (!filled) follow_up(after);
  return filled;
}

bool QueuePair::sent(hca::Burst& burst, hca::SendResult result, Time now) {
  After after;
  {
    const std::lock_guard guard(lock_);
    core_->sent(burst, result, now);
    polls_at_send_ = polls();
    sent_at_ = now;
    if (destroyed_) return false;
    const bool blocked = result.outcome == hca::SendOutcome::kWouldBlock;
    if (!blocked && fill(burst, now)) return true;
    after = settle(now, blocked ? Blocked::kYes : Blocked::kNo);
  }
  follow_up(after);
  return false;
}

void QueuePair::follow_up(const After& after) {
  if (after.flush_at) await_poll(*after.flush_at);
  if (after.deadline < watched_until_.load()) {
    context_->arm_deadline(*this, after.deadline);
  }
  if (after.events != 0) raise(after.events);
}

void QueuePair::raise(std::uint32_t events) {
  constexpr std::pair<hca::QpEvent, AsyncEventType> kTypes[]{
      {hca::kEventSqDrained, AsyncEventType::kSqDrained},
      {hca::kEventCommunicationEstablished, AsyncEventType::kCommunicationEstablished},
      {hca::kEventPathMigrated, AsyncEventType::kPathMigrated},
      {hca::kEventPathMigrationFailed, AsyncEventType::kPathMigrationFailed},
      {hca::kEventFatal, AsyncEventType::kQpFatal},
      {hca::kEventInvalidRequest, AsyncEventType::kInvalidRequest},
      {hca::kEventAccessError, AsyncEventType::kAccessError},
      {hca::kEventLastWqe, AsyncEventType::kLastWqe},
  };
  for (const auto& [event, type] : kTypes) {
    if ((events & event) != 0) context_->async_events().post({.type = type, .queue_pair = this});
  }
}

// A program that sleeps until there is an event talks to one that does so, too, most likely. Those
// are used to adapters, from which the completion of a send comes before what answers it.
bool QueuePair::waits_for_events() const {
  return config_.receive_queue && config_.receive_queue->has_events();
}

void QueuePair::note_look() {
  if (config_.send_queue) config_.send_queue->note_look();
  if (config_.receive_queue) config_.receive_queue->note_look();
}

bool QueuePair::put_off_end(Time now) {
  CompletionQueue* const sends = config_.send_queue.get();
  const CompletionQueue* const receives = config_.receive_queue.get();
  if (destroyed_ || sends == nullptr || receives == nullptr || turn_ != Turn::kNone) return false;
  if (has_deferred_sends() || waits_for_events() || sends->has_events()) return false;
  if (!receives->has_completions() || !core_->end_run_later(now)) return false;
  end_put_off_ = sends->note_run_put_off();
  return end_put_off_;
}

void QueuePair::drop_put_off_end() {
  const std::lock_guard guard(lock_);
  if (std::exchange(end_put_off_, false)) config_.send_queue->note_run_ended();
}

// Everything that arrived has been handed in: acknowledgements that were put off are due, and
// credits or acknowledgements may have freed what waits to be sent. While acknowledgements wait,
// the deadline stays what it was: whoever sends them looks at it, and that is soon.
bool QueuePair::end_run(Time now, Receiver::Acks acks, std::optional<std::uint32_t> receive_share) {
  After after;
  bool work = false;
  {
    const std::lock_guard guard(lock_);
    if (receive_share) core_->set_receive_budget(*receive_share);
    if (std::exchange(end_put_off_, false)) config_.send_queue->note_run_ended();
    core_->end_run(now);
    if (destroyed_) return false;
    end_turn_if_done();
    work = core_->has_work();
    const bool may_wait = acks == Receiver::Acks::kMayWait && config_.send_queue &&
                          core_->only_acks_due() && !waits_for_events();
    if (may_wait) {
      work = false;
      after.events = core_->take_events();
      after.flush_at = now + kGatherTime;
      set_deferred(Deferred::kAcks, now);
    } else if (!work) {
      after = settle(now, Blocked::kNo);
    }
  }
  if (!work) follow_up(after);
  return work;
}

bool QueuePair::ask_to_send() {
  if (sending_.exchange(true)) {
    flush_asked_.store(true);
    if (sending_.exchange(true)) return false;
  }
  if (flush_asked_.load()) flush_asked_.store(false);
  return true;
}

void QueuePair::send_on(hca::Burst& burst, Time& now) {
  hca::SendResult result;
  do {
    result = endpoint_->send(burst);
    // A run takes the kernel as long as a program takes to post many more.
    if (burst.size() > 1) now = io::now();
  } while (sent(burst, result, now));
}

// Whoever holds the token looks at flush_asked_ after giving it back, so a request made while it
// was held is never lost (both are sequentially consistent).
void QueuePair::stop_sending(Time now) {
  sending_.store(false);
  if (flush_asked_.load()) flush(now);
}

bool QueuePair::flush(Time now) {
  do {
    if (!ask_to_send()) return false;
    hca::Burst& burst = scratch_burst();
    if (next_burst(burst, now)) send_on(burst, now);
    sending_.store(false);
  } while (flush_asked_.load());
  // Another thread may have taken the request up, and be at it.
  return !sending_.load();
}

// What is still queued waits for a poll; the timer sees to it if none comes. An XRC target has no
// queue that could be polled.
QueuePair::After QueuePair::settle(Time now, Blocked blocked) {
  After after;
  end_turn_if_done();
  after.events = core_->take_events();
  const bool ask_waits = core_->ask_waits();
  const bool waiting = ask_waits || core_->has_work();
  const bool newly = set_deferred(waiting ? Deferred::kSends : Deferred::kNothing, now);
  if (newly && ask_waits) after.flush_at = now + kGatherTime;
  const std::optional<Time> deadline = core_->deadline();
  after.deadline = deadline.value_or(Time::max());
  if (waiting && blocked == Blocked::kYes) {
    const Time retry = now + kRetryTime;
    if (config_.send_queue) after.flush_at = retry;
    if (!config_.send_queue) after.deadline = std::min(after.deadline, retry);
  }
  deadline_.store(after.deadline);
  return after;
}

bool QueuePair::set_deferred(Deferred deferred, Time now) {
  const Deferred before = deferred_.load(std::memory_order_relaxed);
  if (before == deferred || (deferred != Deferred::kNothing && destroyed_)) return false;
  deferred_.store(deferred, std::memory_order_relaxed);
  for (CompletionQueue* queue : {config_.send_queue.get(), config_.receive_queue.get()}) {
    if (queue == nullptr) continue;
    queue->note_deferred(*this, before, deferred);
    if (config_.send_queue == config_.receive_queue) break;
  }
  if (deferred == Deferred::kNothing || before != Deferred::kNothing) return false;
  deferred_since_.store(now, std::memory_order_relaxed);
  return true;
}

bool QueuePair::defer_work() {
  return !has_deferred_sends() && !end_put_off_ && core_->has_work() &&
         set_deferred(Deferred::kSends, io::now());
}

Duration QueuePair::deferred_for(Time now) const {
  if (!has_deferred_sends()) return Duration::zero();
  return now - deferred_since_.load(std::memory_order_relaxed);
}

QueuePair::Report QueuePair::report() const {
  const std::lock_guard guard(lock_);
  const auto number = [](const auto& queue) { return queue ? queue->id() : 0; };
  std::optional<Qpn> peer;
  if (hca::is_connected(config_.type)) peer = core_->query().peer;
  return {.qpn = qpn_,
          .type = config_.type,
          .pd = config_.pd,
          .send_cq = number(config_.send_queue),
          .receive_cq = number(config_.receive_queue),
          .srq = number(config_.srq),
          .state = core_->state(),
          .peer = peer,
          .queued_sends = core_->queued_packets(),
          .counters = core_->counter_values()};
}

}  // namespace weft::host
