// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::io {

// News of the kernel about network interfaces and their addresses (rtnetlink), for whoever would
// otherwise ask again and again.
class LinkMonitor {
 public:
  static Expected<LinkMonitor> open();

  [[nodiscard]] int fd() const { return fd_.get(); }  // readable when there is news
  // Takes all news; true when some was, or may have been, about the interface.
  bool drain(std::uint32_t ifindex) const;

 private:
  explicit LinkMonitor(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace weft::io
