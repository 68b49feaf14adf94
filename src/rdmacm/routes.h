// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <system_error>

#include "base/ids.h"
#include "base/time.h"

namespace weft::rdmacm {

struct RouteQuestion {
  Gid sgid{};  // of this host, on port `port`
  Gid dgid{};
  std::uint8_t port = 1;
  std::uint8_t traffic_class = 0;
  Duration patience{};  // how long the program would wait
};

// Finds paths on a fabric, by asking its subnet administrator (IBA 15.2.5.16).
class Routes {
 public:
  virtual ~Routes() = default;
  // The answer is CommandCore::route_found() or route_failed() for the same identifier, not from
  // within. network_unreachable: no subnet manager has been at the port.
  virtual std::errc ask(std::uint32_t identifier, const RouteQuestion& question) = 0;
  // Nobody waits for the answer any more.
  virtual void forget(std::uint32_t identifier) = 0;
};

}  // namespace weft::rdmacm
