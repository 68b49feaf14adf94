// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

namespace weft::verbs {

// Leaves errno as it was, through a verb that posts or polls. Those of an adapter make no system
// call, and programs rely on that: rsockets sets errno to EWOULDBLOCK, gives credit back by a post,
// and returns -1. Here a post or a poll asks the kernel, which may say no on the way to success.
class ErrnoKeeper {
 public:
  ErrnoKeeper() = default;
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;
  ~ErrnoKeeper() { errno = kept_; }

 private:
  const int kept_ = errno;
};

}  // namespace weft::verbs
