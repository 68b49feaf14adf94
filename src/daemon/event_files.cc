// SPDX-License-Identifier: Apache-2.0
#include "daemon/event_files.h"

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace weft::daemon {

Expected<io::UniqueFd> EventFiles::make() const {
  io::UniqueFd file(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
  if (!file) return fail_errno(errno, "eventfd");
  return file;
}

int EventFiles::add(rdmacm::ChannelId channel, io::UniqueFd file) {
  return (files_[channel] = std::move(file)).get();
}

void EventFiles::raised(rdmacm::ChannelId channel) {
  const std::uint64_t one = 1;
  const auto found = files_.find(channel);
  // It cannot be full: that would take 2^64 events.
  if (found != files_.end()) static_cast<void>(::write(found->second.get(), &one, sizeof one) < 0);
}

// A program may be faster and have taken what stood for these events. It then finds none and waits
// again; and so it does where the kernel cannot read without waiting.
void EventFiles::withdrawn(rdmacm::ChannelId channel, std::size_t count) {
  const auto found = files_.find(channel);
  if (found == files_.end()) return;
  std::uint64_t value = 0;
  const iovec piece{&value, sizeof value};
  while (count-- > 0) {
    if (preadv2(found->second.get(), &piece, 1, -1, RWF_NOWAIT) < 0) return;
  }
}

}  // namespace weft::daemon
