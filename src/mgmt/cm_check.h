// SPDX-License-Identifier: Apache-2.0
// What the calls of the connection manager check about their arguments. Internal to mgmt/.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "mgmt/cm_events.h"
#include "wire/cm_field.h"

namespace weft::mgmt {

struct CmRange {
  std::string_view name;
  unsigned value;
  unsigned highest;
};

// invalid_argument with the name of the first value that is too high.
inline Expected<void> check_ranges(std::initializer_list<CmRange> ranges) {
  for (const CmRange& range : ranges) {
    if (range.value > range.highest) {
      return fail(std::errc::invalid_argument,
                  fmt::format("{} {}: 0 to {}", range.name, range.value, range.highest));
    }
  }
  return {};
}

// A field of a message with `bytes` at its beginning and zeros after them.
template <std::size_t kSize>
Expected<wire::CmArea<kSize>> area_of(std::string_view name, Bytes bytes) {
  if (bytes.size() > kSize) {
    return fail(std::errc::invalid_argument,
                fmt::format("{} of {} bytes: at most {}", name, bytes.size(), kSize));
  }
  wire::CmArea<kSize> area{};
  std::copy(bytes.begin(), bytes.end(), area.begin());
  return area;
}

// Additional information whose length a peer says; it may lie.
template <std::size_t kSize>
PrivateData information(const wire::CmArea<kSize>& area, std::uint8_t length) {
  return PrivateData(Bytes(area).first(std::min<std::size_t>(length, kSize)));
}

// A queue pair that a connection can have (IBA 9.2.6, 10.2.4: 0 and 1 are management, all ones is
// multicast).
constexpr bool can_connect(Qpn qpn) {
  return qpn > kQp1 && qpn != kMulticastQpn;
}

// 4.096 us * 2^exponent.
constexpr Duration cm_interval(unsigned exponent) {
  return Duration{std::int64_t{4096} << std::min(exponent, 31u)};
}

}  // namespace weft::mgmt
