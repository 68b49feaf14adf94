// SPDX-License-Identifier: Apache-2.0
#include "io/await.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "io/clock.h"

namespace weft::io {

Expected<void> await(int fd, short events, Duration patience) {
  const Time give_up = now() + patience;
  for (;;) {
    const Duration left = std::max(give_up - now(), Duration::zero());
    pollfd ready{fd, events, 0};
    const int result = ::poll(&ready, 1, static_cast<int>(left / 1ms) + 1);
    if (result > 0) return {};
    if (result == 0) return fail(std::errc::timed_out, "no answer");
    if (errno != EINTR) return fail_errno(errno, "poll");
  }
}

}  // namespace weft::io
