// SPDX-License-Identifier: Apache-2.0
// No C++ exception may reach a C caller, and no cancellation of the calling thread may unwind what
// is behind these calls: it comes to effect in umad_recv and umad_poll alone, where threads wait.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "io/log.h"

namespace weft::umad {

class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

// What `function` returns; `failed` and errno when it throws.
template <class Function, class Result>
Result guarded(Result failed, Function&& function) noexcept {
  const NoCancellation whole;
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
    io::report(ENOMEM);
  } catch (const std::exception& error) {
    io::report(Error{std::errc::io_error, error.what()});
  }
  return failed;
}

// The same for calls that return a negative errno.
template <class Function>
int guarded_errno(Function&& function) noexcept {
  constexpr int kThrew = std::numeric_limits<int>::min();
  const int result = guarded(kThrew, std::forward<Function>(function));
  return result == kThrew ? -errno : result;
}

}  // namespace weft::umad
