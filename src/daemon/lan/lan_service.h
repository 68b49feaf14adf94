// SPDX-License-Identifier: Apache-2.0
// By what LAN ports know each other as such.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "wire/cm_values.h"

namespace weft::daemon {

// IBA A3.2.3.2: 0x10 is for services of organizations, and three bytes follow that tell which. As
// in the addresses of LAN ports these are locally administered, so that they are nobody else's.
inline constexpr wire::ServiceId kLanService{0x1002'574C'0000'0001};
inline constexpr std::string_view kLanServiceName = "weft-lan";

// What stands at the beginning of the private data of a REQ, REP, SIDR_REQ and SIDR_REP of LAN
// ports, and of nobody else's: 0x574C, the version in the upper half of a byte, as in the header of
// their messages, and a byte of zero.
inline constexpr std::array<std::byte, 4> kLanGreeting{std::byte{0x57}, std::byte{0x4C},
                                                       std::byte{0x10}, std::byte{0}};

// Of packets that need a GRH: to a port behind a data service, as the subnet administrator has it.
inline constexpr std::uint8_t kLanHops = 0xFF;

[[nodiscard]] inline bool is_lan_greeting(Bytes private_data) {
  return private_data.size() >= kLanGreeting.size() &&
         std::equal(kLanGreeting.begin(), kLanGreeting.end(), private_data.begin());
}

}  // namespace weft::daemon
