// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/spin_lock.h"
#include "hca/connection.h"
#include "hca/shared_receive_queue.h"
#include "host/unacknowledged.h"

namespace weft::host {

class CompletionQueue;
class Context;
class QueuePair;

struct SharedReceiveQueueConfig {
  hca::PdHandle pd = 0;
  std::uint32_t max_receives = 0;
  std::uint32_t max_pieces = 1;
  std::uint32_t limit = 0;       // 0: no event
  std::uint32_t xrc_domain = 0;  // 0: for queue pairs that name it, not for XRC
  std::shared_ptr<CompletionQueue> completion_queue;  // XRC only
  void* user = nullptr;
};

// A shared receive queue (IBA 10.2.9) as threads share it: queue pairs take from it, each under its
// own lock, while programs post.
class SharedReceiveQueue final : public hca::ReceiveSource {
 public:
  SharedReceiveQueue(std::shared_ptr<Context> context, std::uint32_t id,
                     const SharedReceiveQueueConfig& config);

  [[nodiscard]] std::uint32_t id() const { return id_; }
  // The number that XRC packets carry.
  [[nodiscard]] Qpn number() const { return Qpn{id_}; }
  [[nodiscard]] void* user() const { return config_.user; }
  [[nodiscard]] const SharedReceiveQueueConfig& config() const { return config_; }

  // Zero; EINVAL: too many pieces; ENOMEM: full.
  std::errc post(const hca::ReceiveRequest& request);
  // IBA 11.2.4.3: another depth, not less than what waits; or a limit at which one event comes.
  Expected<void> resize(std::uint32_t max_receives);
  Expected<void> set_limit(std::uint32_t limit);
  struct State {
    std::uint32_t max_receives, max_pieces, limit;
  };
  [[nodiscard]] State query() const;

  // EBUSY while queue pairs use it. Waits until delivered events are acknowledged.
  Expected<void> destroy();
  void event_delivered() { async_events_.delivered(); }
  void event_acknowledged() { async_events_.acknowledge(); }

  void use(QueuePair& queue_pair);
  void unuse(QueuePair& queue_pair);

  // By queue pairs.
  hca::Take take_for(std::uint64_t length, hca::TakenReceive& out) override;
  [[nodiscard]] std::size_t size() const override;
  [[nodiscard]] bool shared() const override { return true; }
  void await_post() override { post_awaited_.store(true); }

 private:
  void tell_posted();

  std::shared_ptr<Context> context_;
  const std::uint32_t id_;
  const SharedReceiveQueueConfig config_;
  mutable SpinLock lock_;  // guards queue_; taken inside a queue pair's lock
  hca::SharedReceiveQueue queue_;
  mutable std::mutex users_mutex_;  // guards users_; taken outside a queue pair's lock
  std::vector<QueuePair*> users_;
  std::atomic<bool> post_awaited_{false};  // by some of them
  Unacknowledged async_events_;
};

}  // namespace weft::host
