// SPDX-License-Identifier: Apache-2.0
#include "io/socket_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/gid_text.h"

namespace weft::io {
namespace {

std::optional<std::uint32_t> address_number(std::string_view text, std::uint32_t largest) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value > largest) {
    return std::nullopt;
  }
  return value;
}

Expected<std::uint32_t> parse_scope(std::string_view text) {
  if (const auto number = address_number(text, UINT32_MAX)) return *number;
  const unsigned index = if_nametoindex(std::string(text).c_str());
  if (index == 0) {
    return fail(std::errc::no_such_device, fmt::format("scope '{}': no such interface", text));
  }
  return index;
}

}  // namespace

Expected<Gid> parse_address(std::string_view text) {
  const std::string terminated(text);
  in_addr v4{};
  if (inet_pton(AF_INET, terminated.c_str(), &v4) == 1) return Gid::from_ipv4(ntohl(v4.s_addr));
  if (const auto gid = parse_gid(text)) return *gid;
  return fail(std::errc::invalid_argument,
              fmt::format("address '{}': want a.b.c.d or an IPv6 address", text));
}

std::string format_address(const Gid& address) {
  if (!address.is_ipv4_mapped()) return address.to_string();
  const std::uint32_t v4 = address.ipv4();
  return fmt::format("{}.{}.{}.{}", v4 >> 24, v4 >> 16 & 255, v4 >> 8 & 255, v4 & 255);
}

Expected<SocketAddress> SocketAddress::parse(std::string_view text) {
  std::string_view host = text;
  std::string_view port_text;
  bool has_port = false;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    const auto rest = close == text.npos ? "?" : text.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') {
      return fail(std::errc::invalid_argument, fmt::format("'{}': want [address]:port", text));
    }
    host = text.substr(1, close - 1);
    has_port = !rest.empty();
    if (has_port) port_text = rest.substr(1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    port_text = text.substr(colon + 1);
    has_port = true;
  }

  SocketAddress result;
  if (has_port) {
    const auto port = address_number(port_text, UINT16_MAX);
    if (!port) {
      return fail(std::errc::invalid_argument,
                  fmt::format("port '{}' in '{}': want 0 to 65535", port_text, text));
    }
    result.port = static_cast<std::uint16_t>(*port);
  }
  if (const auto percent = host.find('%'); percent != host.npos) {
    const auto scope = parse_scope(host.substr(percent + 1));
    if (!scope) return tl::unexpected(scope.error());
    result.scope_id = *scope;
    host = host.substr(0, percent);
  }
  const auto address = parse_address(host);
  if (!address) return tl::unexpected(address.error());
  result.address = *address;
  return result;
}

SocketAddress SocketAddress::from_sockaddr(const sockaddr_storage& raw) {
  SocketAddress result;
  if (raw.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &raw, sizeof v4);
    result.port = ntohs(v4.sin_port);
    const std::uint32_t host_order = ntohl(v4.sin_addr.s_addr);
    if (host_order != INADDR_ANY) result.address = Gid::from_ipv4(host_order);
  } else if (raw.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &raw, sizeof v6);
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    result.address = Gid{bytes};
    result.port = ntohs(v6.sin6_port);
    result.scope_id = v6.sin6_scope_id;
  }
  return result;
}

socklen_t SocketAddress::to_sockaddr(int family, sockaddr_storage& raw) const {
  if (family == AF_INET6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_scope_id = scope_id;
    std::memcpy(&v6.sin6_addr, address.bytes().data(), address.bytes().size());
    std::memcpy(&raw, &v6, sizeof v6);
    return sizeof v6;
  }
  if (!is_ipv4() && !address.is_zero()) return 0;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = address.is_zero() ? INADDR_ANY : htonl(address.ipv4());
  std::memcpy(&raw, &v4, sizeof v4);
  return sizeof v4;
}

std::string SocketAddress::to_string() const {
  if (is_ipv4()) return fmt::format("{}:{}", format_address(address), port);
  if (scope_id == 0) return fmt::format("[{}]:{}", address.to_string(), port);
  char name[IF_NAMESIZE];
  const std::string scope =
      if_indextoname(scope_id, name) != nullptr ? std::string(name) : std::to_string(scope_id);
  return fmt::format("[{}%{}]:{}", address.to_string(), scope, port);
}

}  // namespace weft::io
