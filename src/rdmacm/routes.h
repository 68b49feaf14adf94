// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <system_error>

#include "base/ids.h"
#include "base/time.h"
#include "rdmacm/groups.h"
#include "wire/cm_values.h"

namespace weft::rdmacm {

struct RouteQuestion {
  Gid sgid{};  // of this host, on port `port`
  Gid dgid{};
  std::uint8_t port = 1;
  wire::ServiceId service{};  // that a connection is wanted to
  std::uint8_t traffic_class = 0;
  Duration patience{};  // how long the program would wait
};

struct HostQuestion {
  Gid address{};          // ::ffff:a.b.c.d
  std::uint8_t port = 1;  // of this host, by which it will be reached
  Duration patience{};    // how long the program would wait
};

// What a fabric's subnet administrator is asked for: paths (IBA 15.2.5.16), multicast groups
// (15.2.5.17), and whose an IP address is.
class Routes {
 public:
  virtual ~Routes() = default;
  // The answer is CommandCore::route_found() or route_failed() for the same identifier, not from
  // within. network_unreachable: no subnet manager has been at the port.
  virtual std::errc ask(std::uint32_t identifier, const RouteQuestion& question) = 0;
  // The same for whoever has an IP address, with host_found() and host_failed().
  virtual std::errc find_host(std::uint32_t identifier, const HostQuestion& question) = 0;
  // The same for a membership, with group_joined() and group_failed().
  virtual std::errc join(std::uint32_t membership, const GroupQuestion& question) = 0;
  // The port is no member any more. Nobody waits for the answer.
  virtual void leave(const GroupQuestion& question) = 0;
  // Nobody waits for the answer to an identifier's or membership's question any more.
  virtual void forget(std::uint32_t handle) = 0;
};

}  // namespace weft::rdmacm
