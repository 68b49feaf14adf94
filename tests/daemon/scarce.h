// SPDX-License-Identifier: Apache-2.0
// A process that is short of something, and a reactor that should rest all the same.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "io/reactor.h"
#include "io/unique_fd.h"

namespace weft::daemon {

// As long as it lives, no more than so many further descriptors can be opened.
class NoDescriptors {
 public:
  explicit NoDescriptors(rlim_t but) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const io::UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit tight{static_cast<rlim_t>(next.get()) + but, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

// False: a descriptor is always ready, so that nobody would ever sleep.
[[nodiscard]] inline bool comes_to_rest(io::Reactor& reactor) {
  for (int turn = 0; turn < 1000; ++turn) {
    if (reactor.run_once(0us).value() == 0) return true;
  }
  return false;
}

}  // namespace weft::daemon
