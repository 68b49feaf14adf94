// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "hca/ud_queue_pair.h"
#include "host/completion_queue.h"
#include "host/spin_lock.h"
#include "host/unacknowledged.h"
#include "port/port.h"

namespace weft::host {

struct QueuePairConfig {
  hca::QpType type = hca::QpType::kUd;
  hca::PdHandle pd = 0;
  std::shared_ptr<CompletionQueue> send_queue;
  std::shared_ptr<CompletionQueue> receive_queue;
  std::uint32_t max_sends = 0;
  std::uint32_t max_receives = 0;
  std::uint32_t max_send_pieces = 1;
  std::uint32_t max_receive_pieces = 1;
  std::uint32_t max_inline = 0;
  bool signal_all = false;
  void* user = nullptr;
};

// A queue pair as threads share it: the core behind a lock, its endpoint, and the two tokens that
// say who is sending and who is receiving for it.
class QueuePair final : public std::enable_shared_from_this<QueuePair> {
 public:
  QueuePair(std::shared_ptr<Context> context, const QueuePairConfig& config,
            std::unique_ptr<port::Endpoint> endpoint);
  ~QueuePair();

  [[nodiscard]] Qpn qpn() const { return core_.config().qpn; }
  [[nodiscard]] void* user() const { return user_; }
  [[nodiscard]] const hca::UdConfig& config() const { return core_.config(); }
  [[nodiscard]] std::uint32_t send_queue_id() const { return send_queue_->id(); }
  [[nodiscard]] std::uint32_t receive_queue_id() const { return receive_queue_->id(); }

  Expected<void> modify(const hca::QpAttributes& attributes, std::uint32_t mask);
  [[nodiscard]] hca::QpAttributes query() const;

  // `more`: further requests of the same list follow at once, so nothing is sent yet.
  std::errc post_send(const hca::SendRequest& request, bool more);
  std::errc post_receive(const hca::ReceiveRequest& request);

  Expected<void> attach(const Gid& group);
  Expected<void> detach(const Gid& group);

  // Takes it out of every list; no completion and no memory access follows. Waits until delivered
  // asynchronous events are acknowledged.
  void destroy();

  // An asynchronous event about this queue pair was handed to, or acknowledged by, the application.
  void event_delivered() { async_events_.delivered(); }
  void event_acknowledged() { async_events_.acknowledge(); }

  // Progress, by whoever polls and by the context's thread.
  // Sends what waits; false when another thread is doing so.
  bool flush(Time now);
  // Reads the endpoint; false when another thread is doing so.
  bool receive(std::size_t budget);
  [[nodiscard]] bool has_deferred_sends() const {
    return deferred_.load(std::memory_order_relaxed);
  }

  struct Report {
    hca::QpState state;
    std::size_t queued_sends;
    std::vector<CounterValue> counters;
  };
  [[nodiscard]] Report report() const;

 private:
  friend class Progress;
  class Receiver;
  // Beyond this much waiting a send does not wait for the next poll: a full run is ready.
  static constexpr std::size_t kRunBytes = 56 * 1024;
  static constexpr std::size_t kRunPackets = hca::Burst::kMaxPackets;
  // A send that is not the first since the last poll waits this long at most.
  static constexpr Duration kGatherTime = 20us;
  static constexpr Duration kRetryTime = 200us;  // after the kernel's send buffer was full

  [[nodiscard]] std::uint64_t polls() const;
  struct After {  // what is left to do once lock_ is free: some of it is system calls
    bool drained = false;
    std::optional<Time> flush_at;
  };
  enum class Blocked : std::uint8_t { kNo, kYes };  // by the kernel's full send buffer
  void send_waiting(Time now);                      // with the sending token
  After settle(Time now, Blocked blocked);          // with lock_ held
  bool set_deferred(bool deferred, Time now);       // with lock_ held; returns whether it changed
  [[nodiscard]] Duration deferred_for(Time now) const;

  std::shared_ptr<Context> context_;
  std::shared_ptr<CompletionQueue> send_queue_;
  std::shared_ptr<CompletionQueue> receive_queue_;
  std::unique_ptr<port::Endpoint> endpoint_;
  void* user_;

  std::mutex control_mutex_;  // attach and detach; taken before lock_
  mutable SpinLock lock_;     // guards core_; the completion queues' locks are taken inside it
  hca::UdQueuePair core_;
  bool destroyed_ = false;

  std::atomic<bool> sending_{false};      // token: one thread hands bursts to the endpoint
  std::atomic<bool> receiving_{false};    // token: one thread reads the endpoint
  std::atomic<bool> flush_asked_{false};  // somebody found the sending token taken
  std::atomic<bool> deferred_{false};     // sends wait for a poll or the timer
  std::atomic<Time> deferred_since_{Time{}};
  std::atomic<std::uint64_t> deferrals_{0};
  std::uint64_t deferrals_seen_ = 0;  // by the context's thread only
  std::atomic<bool> listed_{false};   // the context's list of deferred queue pairs has it
  std::uint64_t polls_at_send_ = ~std::uint64_t{0};  // guarded by lock_: polls() when it last sent
  Time sent_at_{};                                   // guarded by lock_

  // Who reads the endpoint: the context's thread waits on it, or leaves it to a program that polls.
  std::uint64_t polls_seen_ = 0;  // by the context's thread only
  std::atomic<bool> left_to_program_{false};

  Unacknowledged async_events_;
};

}  // namespace weft::host
