// SPDX-License-Identifier: Apache-2.0
// What instances of services in other threads tell one: records, in order, and no more than so
// many.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "service/service.h"

namespace weft::daemon {

class RecordQueue {
 public:
  static constexpr std::size_t kMost = 4096;

  struct Record {
    std::size_t service = 0;  // as of service::RuntimeUser::publish()
    std::size_t size = 0;
    std::array<std::byte, service::Host::kMostRecord> bytes;
    [[nodiscard]] Bytes view() const { return Bytes(bytes).first(size); }
  };

  // Any thread. False: there is no room for it, or it is too long, and it is counted.
  bool push(std::size_t service, Bytes record) {
    const std::lock_guard guard(mutex_);
    if (record.size() > service::Host::kMostRecord || records_.size() == kMost) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    Record& added = records_.emplace_back();
    added.service = service;
    added.size = record.size();
    std::ranges::copy(record, added.bytes.begin());
    some_.store(true, std::memory_order_release);
    return true;
  }
  // By its own thread: all of them. What has come before anything that this thread has read from
  // others is among them.
  template <class Each>
  void take(Each&& each) {
    if (!some_.load(std::memory_order_acquire)) return;
    {
      const std::lock_guard guard(mutex_);
      taken_.swap(records_);
      some_.store(false, std::memory_order_relaxed);
    }
    for (const Record& record : taken_)
      each(record);
    taken_.clear();
  }
  // Any thread.
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::vector<Record> records_;
  std::vector<Record> taken_;  // its memory is kept
  std::atomic<bool> some_{false};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace weft::daemon
