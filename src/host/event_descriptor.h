// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::host {

// An eventfd that counts: readable while its count is above zero, one read takes one. What the
// descriptors of completion channels and asynchronous events are. Blocking unless the application
// sets O_NONBLOCK, as with the kernel's own.
class EventDescriptor {
 public:
  static Expected<EventDescriptor> create();

  [[nodiscard]] int fd() const { return fd_.get(); }
  void signal();
  // Takes one. EAGAIN: non-blocking and none is there; EINTR: a signal handler ran.
  Expected<void> take();
  // Takes one if there is one, without waiting whatever the descriptor's mode.
  bool try_take();

 private:
  explicit EventDescriptor(io::UniqueFd fd) : fd_(std::move(fd)) {}
  io::UniqueFd fd_;
};

}  // namespace weft::host
