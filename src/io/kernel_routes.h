// SPDX-License-Identifier: Apache-2.0
// The kernel's IPv6 routes, as rtnetlink(7) tells them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/gid_prefix.h"
#include "base/ids.h"
#include "io/unique_fd.h"

namespace weft::io {

// A unicast route by a gateway. Of several, the one of the least metric counts.
struct KernelRoute {
  GidPrefix prefix;
  Gid gateway{};  // where there are several ways, the first of them
  std::uint32_t metric = 0;
  friend bool operator==(const KernelRoute&, const KernelRoute&) = default;
};

// Of one message, whatever is in it. Nothing: it is no such route of the table, or one that is dead
// or of certain sources alone.
[[nodiscard]] std::optional<KernelRoute> parse_kernel_route(Bytes message, std::uint32_t table);

struct KernelRoutes {
  std::vector<KernelRoute> routes;
  std::size_t left_out = 0;  // so many more there are
};

// All that a table of this network namespace has, but no more than `most`.
[[nodiscard]] Expected<KernelRoutes> list_kernel_routes(std::uint32_t table, std::size_t most);

// Says that some route may have changed.
class RouteMonitor {
 public:
  static Expected<RouteMonitor> open();
  [[nodiscard]] int fd() const { return fd_.get(); }  // readable when there is news
  void drain() const;                                 // takes all of it

 private:
  explicit RouteMonitor(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace weft::io
