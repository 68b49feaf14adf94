// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include "base/crowding.h"
#include "base/looks.h"
#include "base/time.h"
#include "io/clock.h"

namespace weft::io {

// How a thread waits before it sleeps. Waking a sleeper on another CPU can cost tens of
// microseconds at both ends, so a waiter that has a CPU for itself looks again for a while; where
// others want the CPU it lets them run between two looks, and they use up its patience.
class SpinWait {
 public:
  explicit SpinWait(Duration patience = 50us) : patience_(patience) {}

  // There was work: the next wait starts anew.
  void reset() { turns_ = 0; }

  // After a look that found nothing: true to look again, false to sleep now.
  [[nodiscard]] bool look_again(Time now) {
    if (turns_++ == 0) began_ = now;
    if (now - began_ >= patience_) return false;
    if (turns_ <= looks_.before_yield()) {
      pause();
      return true;
    }
    if (crowding_.crowded(now)) return false;
    const Time before = io::now();
    sched_yield();
    const Time after = io::now();
    looks_.yielded(after - before);
    if (after - before >= Looks::kTimeSlice) crowding_.suspected(after);
    return true;
  }

 private:
  static constexpr unsigned kPauses = 16;

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  Duration patience_;
  Time began_{};
  unsigned turns_ = 0;
  Crowding crowding_;
  Looks looks_{kPauses, kPauses};
};

}  // namespace weft::io
