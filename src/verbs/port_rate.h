// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::verbs {

// A link's rate in the words of IBA 14.2.5.6: LinkWidthActive and LinkSpeedActive.
struct LinkRate {
  std::uint64_t mbps = 2500;  // width times speed
  std::uint8_t width = 1;     // 1: 1X, 2: 4X, 4: 8X, 8: 12X
  std::uint8_t speed = 1;     // 1: SDR, 2: DDR, 4: QDR, 16: FDR, 32: EDR, 64: HDR, 128: NDR
  std::string_view name = "1X SDR";
};

// The greatest that does not exceed `rate_mbps`, so that nothing claims more than the interface
// can do; for what is slower than the slowest, and for 0 (unknown), the slowest.
LinkRate link_rate(std::uint64_t rate_mbps);

// As sysfs words it: "2.5 Gb/sec (1X SDR)".
std::string to_string(const LinkRate& rate);

}  // namespace weft::verbs
