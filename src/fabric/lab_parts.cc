// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_parts.h"

#include <fmt/format.h>

#include <charconv>

#include "base/gid_text.h"
#include "fabric/lab_addresses.h"

namespace weft::fabric {
namespace {

// An IPv6 address stands in brackets, so that its colons are not taken for the port's.
std::optional<Gid> parse_host(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) {
    return parse_gid(text.substr(1, text.size() - 2));
  }
  const auto address = parse_ipv4(text);
  return address ? std::optional(Gid::from_ipv4(address->value())) : std::nullopt;
}

bool is_unspecified(const Gid& host) {
  return host.is_zero() || (host.is_ipv4_mapped() && host.ipv4() == 0);
}

}  // namespace

std::optional<PartAddress> parse_part_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto host = parse_host(text.substr(0, colon));
  PartAddress out{.host = host.value_or(Gid{})};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, out.port);
  const bool whole = error == std::errc{} && stop == end && out.port != 0;
  // A link-local address means nothing without the interface, which each machine calls otherwise.
  const bool usable =
      host && !is_unspecified(*host) && !host->is_multicast() && !host->is_link_local();
  return whole && usable ? std::optional(out) : std::nullopt;
}

std::string to_string(const PartAddress& address) {
  return address.host.is_ipv4_mapped()
             ? fmt::format("{}:{}", to_string(Ipv4{address.host.ipv4()}), address.port)
             : fmt::format("[{}]:{}", address.host.to_string(), address.port);
}

std::optional<PartCarrier> carrier_between(const LabPart& a, const LabPart& b) {
  if (a.address.has_value() != b.address.has_value()) return std::nullopt;
  const bool one_machine = !a.address || a.address->host == b.address->host;
  return one_machine ? PartCarrier::kRings : PartCarrier::kDatagrams;
}

}  // namespace weft::fabric
