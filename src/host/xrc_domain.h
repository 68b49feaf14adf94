// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/spin_lock.h"
#include "hca/connection.h"
#include "host/shared_receive_queue.h"

namespace weft::host {

// An XRC domain (IBA annex A14): the shared receive queues that the packets of its queue pairs may
// name.
class XrcDomain final : public hca::XrcQueues {
 public:
  void add(SharedReceiveQueue& queue) {
    const std::lock_guard guard(lock_);
    queues_[queue.number().value()] = &queue;
  }
  void remove(SharedReceiveQueue& queue) {
    const std::lock_guard guard(lock_);
    queues_.erase(queue.number().value());
  }
  [[nodiscard]] bool empty() const {
    const std::lock_guard guard(lock_);
    return queues_.empty();
  }
  [[nodiscard]] Found find(Qpn srq_number) override;

 private:
  mutable SpinLock lock_;  // taken inside a queue pair's lock
  std::map<std::uint32_t, SharedReceiveQueue*> queues_;
};

}  // namespace weft::host
