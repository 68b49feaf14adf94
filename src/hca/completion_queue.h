// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/error.h"
#include "hca/types.h"

namespace weft::hca {

// A ring of completions with the notification rule of IBA 11.4.2.2. Not thread-safe: the owner
// locks it.
class CompletionQueue {
 public:
  // `capacity` completions, at least 1 (the verbs layer has checked the device's limit).
  explicit CompletionQueue(std::size_t capacity);

  struct Pushed {
    bool stored = false;  // false: the queue was full; it is now overrun and stores nothing more
    bool notify = false;  // the armed consumer is to be told, once
  };
  Pushed push(const Completion& completion);

  // Takes up to out.size() completions, oldest first; returns how many.
  std::size_t poll(std::span<Completion> out);

  enum class Arm { kNext, kSolicited };
  // Asks for one notification. A request for any completion is not weakened by a later one for
  // solicited completions only.
  void arm(Arm arm);

  // IBA 11.2.8.5. Fails with EINVAL when more completions are outstanding than `capacity`; `coming`
  // more count as if they were there.
  Expected<void> resize(std::size_t capacity, std::size_t coming = 0);

  // Drops what belongs to a queue pair that is being destroyed or reset.
  void forget(Qpn qpn);

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool overrun() const { return overrun_; }

 private:
  void grow();

  std::vector<Completion> ring_;  // grows by doubling up to capacity_: an idle queue is small
  std::size_t capacity_;
  std::size_t head_ = 0;  // oldest
  std::size_t count_ = 0;
  bool overrun_ = false;
  bool armed_next_ = false;
  bool armed_solicited_ = false;
};

}  // namespace weft::hca
