// SPDX-License-Identifier: Apache-2.0
#include "host/event_descriptor.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>

namespace weft::host {

Expected<EventDescriptor> EventDescriptor::create() {
  io::UniqueFd fd(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC));
  if (!fd) return fail_errno(errno, "eventfd");
  return EventDescriptor(std::move(fd));
}

void EventDescriptor::signal() {
  const std::uint64_t one = 1;
  // Cannot fail: the count would have to reach 2^64 - 1.
  [[maybe_unused]] const auto written = write(fd_.get(), &one, sizeof one);
}

Expected<void> EventDescriptor::take() {
  std::uint64_t count = 0;
  if (read(fd_.get(), &count, sizeof count) == sizeof count) return {};
  return tl::unexpected(Error{static_cast<std::errc>(errno), "read of an event"});
}

bool EventDescriptor::try_take() {
  pollfd ready{fd_.get(), POLLIN, 0};
  return poll(&ready, 1, 0) == 1 && take().has_value();
}

}  // namespace weft::host
