// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/spin_lock.h"
#include "hca/memory_table.h"
#include "hca/queue_pair.h"
#include "host/alarm_pace.h"
#include "host/completion_queue.h"
#include "host/receiver.h"
#include "host/send_turns.h"
#include "host/shared_receive_queue.h"
#include "host/unacknowledged.h"
#include "port/port.h"

namespace weft::host {

struct QueuePairConfig {
  hca::QpType type = hca::QpType::kUd;
  hca::PdHandle pd = 0;
  std::shared_ptr<CompletionQueue> send_queue;     // none: XRC target
  std::shared_ptr<CompletionQueue> receive_queue;  // none: XRC, either end
  std::shared_ptr<SharedReceiveQueue> srq;  // receives come from it; none: a queue of its own
  std::uint32_t xrc_domain = 0;             // XRC target: where its packets find queues
  std::uint32_t max_sends = 0;
  std::uint32_t max_receives = 0;
  std::uint32_t max_send_pieces = 1;
  std::uint32_t max_receive_pieces = 1;
  std::uint32_t max_inline = 0;
  bool signal_all = false;
  void* user = nullptr;
};

// A queue pair as threads share it: the core behind a lock, its endpoint, and the token that says
// who is sending for it. Its packets come from a receiver, which it may share.
class QueuePair final : public std::enable_shared_from_this<QueuePair> {
 public:
  QueuePair(std::shared_ptr<Context> context, const QueuePairConfig& config,
            std::unique_ptr<port::Endpoint> endpoint, std::shared_ptr<Receiver> receiver);
  ~QueuePair();

  [[nodiscard]] Qpn qpn() const { return qpn_; }
  [[nodiscard]] hca::QpType type() const { return config_.type; }
  [[nodiscard]] void* user() const { return config_.user; }
  [[nodiscard]] const QueuePairConfig& config() const { return config_; }
  [[nodiscard]] Receiver& receiver() const { return *receiver_; }
  // The one for sends and the one for receives, once if they are the same; none for XRC targets.
  [[nodiscard]] std::vector<CompletionQueue*> completion_queues() const;

  Expected<void> modify(const hca::QpAttributes& attributes, std::uint32_t mask);
  // Whether it comes before the queue pair is connected so or after: until the next reset.
  void agree(const hca::Agreement& agreement);
  [[nodiscard]] hca::QpAttributes query() const;
  // Of the adapter: the one that it was last told to be on, 1 at first.
  [[nodiscard]] std::uint8_t port() const { return port_.load(std::memory_order_relaxed); }

  // `more`: further requests of the same list follow at once, so nothing is sent yet.
  std::errc post_send(const hca::SendRequest& request, bool more);
  // All of them or, when the queue has not room for all (ENOMEM), none. Another refusal leaves
  // those before it posted.
  std::errc post_send_list(std::span<const hca::SendRequest> requests);
  std::errc post_receive(const hca::ReceiveRequest& request);
  // By the queue that it shares: a post for which its core was waiting.
  void receives_posted();

  Expected<void> attach(const Gid& group);
  Expected<void> detach(const Gid& group);
  // Of a raw one: which packets come to it, as port::Endpoint has it. invalid_argument: it is not
  // ready for that before INIT.
  Expected<void> divert(const hca::RawRule& rule);
  Expected<void> restore(const hca::RawRule& rule);

  // Takes it out of every list; no completion and no memory access follows. Waits until delivered
  // asynchronous events are acknowledged.
  void destroy();

  // An asynchronous event about this queue pair was handed to, or acknowledged by, the application.
  void event_delivered() { async_events_.delivered(); }
  void event_acknowledged() { async_events_.acknowledge(); }

  // Before the queue pair stops answering: what has arrived is acknowledged, and what waits for
  // company goes. An adapter acknowledges a message before its program can see the completion, so a
  // program may leave the moment that it does. Gives up when the kernel takes nothing, or another
  // thread is not done, for a while (Patience), and no later than a peer would that hears nothing.
  void send_owed();

  // Datagrams that are posted and not sent: nothing but a moment keeps them from completing.
  [[nodiscard]] std::size_t queued_datagrams() const;
  [[nodiscard]] const CompletionQueue* send_queue() const { return config_.send_queue.get(); }

  // Progress, by whoever polls and by the context's thread.
  // Sends what waits; false when another thread is doing so.
  bool flush(Time now);
  [[nodiscard]] bool has_deferred_sends() const {
    return deferred_.load(std::memory_order_relaxed) != Deferred::kNothing;
  }
  // Only acknowledgements are deferred, and so lately that the program may yet post what they can
  // go with: programs look at one completion queue or another before they do.
  [[nodiscard]] bool awaits_company(Time now) const {
    return only_acks_wait() && deferred_for(now) < kCompanyTime;
  }

  struct Report {
    Qpn qpn;
    hca::QpType type;
    hca::PdHandle pd;
    std::uint32_t send_cq, receive_cq, srq;  // 0: none
    hca::QpState state;
    std::optional<Qpn> peer;  // of a connection
    std::size_t queued_sends;
    std::vector<CounterValue> counters;
  };
  [[nodiscard]] Report report() const;
  // The device is gone: what is posted is flushed, now and from now on.
  void fail();
  // Returns once nobody is at work in the core who was so before.
  void wait_for_lock() const { const std::lock_guard guard(lock_); }

 private:
  friend class CompletionQueue;
  friend class Departures;
  friend class Progress;
  friend class Receiver;
  Expected<void> move_to(std::uint8_t port);
  // Before the program gives the connection up.
  void take_what_has_arrived();
  // By the context's thread, at its deadline: what it waits for may have come, and not be read yet.
  void meet_deadline(Time now, Receiver::Acks acks);
  // After which a peer that hears nothing gives up, if its connection is set up as this one.
  [[nodiscard]] Duration retry_time() const;
  // Beyond this much waiting a send does not wait for the next poll: a full run is ready.
  static constexpr std::size_t kRunBytes = 56 * 1024;
  static constexpr std::size_t kRunPackets = hca::Burst::kMaxPackets;
  // A send that is not the first since the last poll waits this long at most.
  static constexpr Duration kGatherTime = AlarmPace::kFirst;
  static constexpr Duration kCompanyTime = 3us;
  static constexpr std::size_t kPostsPerLook = 8;  // packets, at the clock
  static constexpr Duration kRetryTime = 200us;    // after the kernel's send buffer was full
  // Of take_what_has_arrived(): system calls in a read, and reads.
  static constexpr std::size_t kReadBudget = 16;
  static constexpr unsigned kMostReads = 64;

  [[nodiscard]] std::uint64_t polls() const;
  using Deferred = CompletionQueue::Deferred;
  struct After {  // what is left to do once lock_ is free: some of it is system calls
    std::uint32_t events = 0;
    std::optional<Time> flush_at;
    Time deadline = Time::max();
  };
  enum class Blocked : std::uint8_t { kNo, kYes };  // by the kernel's full send buffer
  // Takes the sending token; false when another thread has it, which then sends for this one, too.
  [[nodiscard]] bool ask_to_send();
  // With the token. The next burst, and what became of it, after which there may be another in its
  // place: false when there is none, and all that follows from that is done.
  [[nodiscard]] bool next_burst(hca::Burst& burst, Time now);
  [[nodiscard]] bool sent(hca::Burst& burst, hca::SendResult result, Time now);
  // Where there are many connections, requests go in turns (SendTurns); with lock_ held. Whether it
  // is the first of those who wait.
  [[nodiscard]] bool ask_for_turn(Time now);
  [[nodiscard]] bool fill(hca::Burst& burst, Time now);
  void end_pass();
  void end_turn_if_done();
  [[nodiscard]] bool requests_held() const {
    return turn_ == Turn::kSpent || turn_ == Turn::kWaits;
  }
  // Sends that burst and all others.
  void send_on(hca::Burst& burst, Time& now);
  // Gives the token back.
  void stop_sending(Time now);
  // With lock_ held.
  After settle(Time now, Blocked blocked);
  void follow_up(const After& after);
  enum class Next : std::uint8_t { kFlush, kArm, kNothing };
  void note_posts(std::size_t requests);
  Next after_post();  // with lock_ held
  void act(Next next);
  // Has the context's thread send what waits if no poll has done so by then.
  void await_poll(Time until);
  void raise(std::uint32_t events);
  // With lock_ held; returns whether nothing waited before, and something does now.
  bool set_deferred(Deferred deferred, Time now);
  // The same, if there is work.
  bool defer_work();
  [[nodiscard]] bool only_acks_wait() const {
    return deferred_.load(std::memory_order_relaxed) == Deferred::kAcks;
  }
  [[nodiscard]] bool waits_for_events() const;
  [[nodiscard]] Duration deferred_for(Time now) const;
  // By the receiver: one datagram, with lock_ held; then, once there are no more, the answers.
  void take_in(const hca::InDatagram& datagram, Time now) {
    if (!destroyed_) core_->receive(datagram, now);
  }
  // The same with a report of the network; whether it concerns this queue pair.
  bool take_undelivered(const hca::Undelivered& packet, Time now) {
    return !destroyed_ && core_->undelivered(packet, now);
  }
  void note_look();
  // With lock_ held: whether end_run() may wait until the program has seen what has just come, and
  // has posted its answer or looks again. It is then sure to come.
  [[nodiscard]] bool put_off_end(Time now);
  // It will not come, for this queue pair goes.
  void drop_put_off_end();
  // Returns whether there is something to send at once.
  [[nodiscard]] bool end_run(Time now, Receiver::Acks acks,
                             std::optional<std::uint32_t> receive_share);
  // Whether the list of a completion queue of its has it; guarded by that list's lock.
  [[nodiscard]] bool& listed_by(const CompletionQueue& queue) {
    return &queue == config_.send_queue.get() ? listed_by_sends_ : listed_by_receives_;
  }

  const QueuePairConfig config_;
  std::shared_ptr<Context> context_;
  std::unique_ptr<port::Endpoint> endpoint_;
  std::shared_ptr<Receiver> receiver_;
  const Qpn qpn_;

  std::atomic<std::uint8_t> port_{1};
  std::mutex control_mutex_;  // attach, detach and move_to; taken before lock_
  mutable SpinLock lock_;     // guards *core_; the completion queues' locks are taken inside it
  std::unique_ptr<hca::QueuePair> core_;
  bool destroyed_ = false;
  // The receiver's, with its token.
  bool touched_ = false;
  hca::ReceiveShares::Member receive_share_;

  std::atomic<bool> sending_{false};      // token: one thread hands bursts to the endpoint
  std::atomic<bool> flush_asked_{false};  // somebody found the sending token taken
  std::atomic<Deferred> deferred_{Deferred::kNothing};  // what waits for a poll or the timer
  std::atomic<Time> deferred_since_{Time{}};
  bool listed_by_sends_ = false;  // see listed_by()
  bool listed_by_receives_ = false;
  std::uint64_t polls_at_send_ = ~std::uint64_t{0};  // guarded by lock_: polls() when it last sent
  Time sent_at_{};                                   // guarded by lock_
  // Guarded by lock_. Requests go while it is none or kHas, and after a pass if nobody waited.
  enum class Turn : std::uint8_t { kNone, kHas, kPassed, kSpent, kWaits };
  Turn turn_ = Turn::kNone;
  bool end_put_off_ = false;  // guarded by lock_; see put_off_end()
  bool posts_on_ = false;  // guarded by lock_: what goes next, goes in the midst of a run of posts
  SendTurns::Member turns_{*this};
  std::optional<hca::Agreement> agreement_;  // guarded by lock_

  // When the core wants to be called though nothing happens, and when the context's thread is going
  // to look at that; max: never.
  std::atomic<Time> deadline_{Time::max()};
  std::atomic<Time> watched_until_{Time::max()};

  Unacknowledged async_events_;
};

}  // namespace weft::host
