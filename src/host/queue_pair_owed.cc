// SPDX-License-Identifier: Apache-2.0
// What a queue pair does before it stops answering, or asks again for what was not answered.
#include <mutex>
#include <thread>

#include "host/patience.h"
#include "host/queue_pair.h"
#include "io/clock.h"

namespace weft::host {

// An adapter takes packets as they come. Here some may still lie in the socket when the program,
// which has heard by another way that its peer is leaving, gives the connection up: the
// acknowledgement of its last send for one. What others of the inlet get meanwhile is not waited
// for.
void QueuePair::take_what_has_arrived() {
  Patience patience(io::now(), retry_time());
  for (unsigned reads = 0; reads < kMostReads && patience.left(io::now());) {
    const auto count = receiver_->receive(kReadBudget, Receiver::Acks::kAtOnce);
    if (!count) {  // another thread is reading
      std::this_thread::yield();
    } else if (*count == 0) {
      return;
    } else {
      ++reads;
    }
  }
}

// Where processors are short, the program has not looked for so long that the deadline has come
// before it did. To send a read again whose answer is here would cost its peer all of that once
// more.
void QueuePair::meet_deadline(Time now, Receiver::Acks acks) {
  const bool awaits = [this] {
    const std::lock_guard guard(lock_);
    return !destroyed_ && core_->awaits_answers();
  }();
  for (unsigned reads = 0; awaits && reads < kMostReads; ++reads) {
    if (receiver_->receive(kReadBudget, acks).value_or(0) == 0) break;
  }
  flush(now);
}

// The reader of a run completes requests before it answers, and whoever holds the sending token
// answers for others: both may be other threads, which have yet to come to it.
void QueuePair::send_owed() {
  Patience patience(io::now(), retry_time());
  receiver_->finish_run(patience);
  while (!flush(io::now()) || has_deferred_sends()) {
    if (!patience.left(io::now())) return;
    std::this_thread::yield();
  }
}

// IBA 9.7.6.1.3. A timeout of 0 is none.
Duration QueuePair::retry_time() const {
  constexpr Duration kUnit{4096};
  const hca::QpAttributes attributes = query();
  if (attributes.ack_timeout == 0) return Duration::max();
  return kUnit * (std::int64_t{1} << (attributes.ack_timeout & 31)) * (attributes.retry_count + 1);
}

}  // namespace weft::host
