// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"

namespace weft::io {

// An IP address and port of either family. IPv4 is held as ::ffff:a.b.c.d, as in a GID table; the
// unspecified address is :: for both families.
struct SocketAddress {
  Gid address;
  std::uint16_t port = 0;      // host order
  std::uint32_t scope_id = 0;  // interface index of a link-local IPv6 address, else 0

  // "192.0.2.1:4791", "[2001:db8::1]:4791", "[fe80::1%eth0]:4791"; the port may be left out, with
  // the brackets too ("2001:db8::1"). Never resolves names.
  static Expected<SocketAddress> parse(std::string_view text);

  // Any other family than AF_INET and AF_INET6 gives [::]:0.
  static SocketAddress from_sockaddr(const sockaddr_storage& raw);

  // Fills `raw` for a socket of `family` (AF_INET or AF_INET6) and returns the length in bytes; 0
  // when the family cannot express the address (IPv6 on an AF_INET socket).
  socklen_t to_sockaddr(int family, sockaddr_storage& raw) const;

  [[nodiscard]] bool is_ipv4() const { return address.is_ipv4_mapped(); }
  [[nodiscard]] int family() const { return is_ipv4() ? AF_INET : AF_INET6; }
  [[nodiscard]] std::string to_string() const;  // in the form that parse() takes
  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
};

// "192.0.2.1", "::ffff:192.0.2.1" (the same) or "2001:db8::1".
Expected<Gid> parse_address(std::string_view text);

// IPv4-mapped addresses print as a.b.c.d, others as IPv6.
std::string format_address(const Gid& address);

}  // namespace weft::io
